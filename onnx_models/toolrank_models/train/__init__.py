"""Training recipes, a configuration file and one function each. They need the extra `train`."""
