"""Training of models: needs the extra `train`, and nothing that runs a model imports it."""
