"""Documents, queries and the engines that hold them. Knows nothing of models."""
