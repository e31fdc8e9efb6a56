"""The door for agents: an MCP server that searches a catalog, and calls what it finds."""
