"""From logged tool calls to judged requests: read, mask, resolve against the catalog, merge."""
