"""Readers of licensed data that turn it into labelled lists of texts for the training recipes.

Texts are written by `kitpick_engines.text`, so that what a model is trained on is what it sees at run time.
"""
