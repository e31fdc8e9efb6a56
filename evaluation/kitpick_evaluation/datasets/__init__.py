"""Readers of judged datasets: published ones, and files of your own."""
