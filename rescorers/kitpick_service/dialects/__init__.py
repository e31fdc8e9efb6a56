"""The dialects of existing clients, one family a module, each with its own format of errors."""
