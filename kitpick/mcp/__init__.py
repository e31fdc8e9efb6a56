"""The MCP server for agents: it searches a catalog, and calls what it finds."""
