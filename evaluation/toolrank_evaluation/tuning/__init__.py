"""Choosing a profile's settings by evidence, and reporting on requests that did not choose them."""
