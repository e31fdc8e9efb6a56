"""Datasets with known answers, and the measures taken on them."""
