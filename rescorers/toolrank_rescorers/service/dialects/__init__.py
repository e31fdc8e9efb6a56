"""What existing clients speak, one family a file, each with its own way to word an error."""
