"""Makes judged requests from logged tool calls: read, mask, resolve against the catalog, merge."""
