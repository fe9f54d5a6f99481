"""The commands as tools for programs that speak MCP, the model context protocol."""
