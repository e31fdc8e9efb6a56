"""toolrank finds the right set of tools for a request, in a catalog of thousands."""
