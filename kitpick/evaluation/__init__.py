"""Evaluation of catalogs: profiles are asked judged requests, measured by them and compared."""
