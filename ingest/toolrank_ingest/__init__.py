"""From a source of API descriptions to documents, texts and vectors inside an engine."""
