"""Ingestion: reads API descriptions from sources, and writes documents, texts and vectors to an engine."""
