"""Evaluation of catalogs: profiles are asked judged requests, measured by them, compared and tuned."""
