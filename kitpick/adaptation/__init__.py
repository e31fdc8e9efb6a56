"""What `kitpick adapt` fits to a catalog: vectors of requests, and the threshold of abstention."""
