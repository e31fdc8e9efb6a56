"""The base of all packages: the root of all errors, deadlines, bounded readers of untrusted text."""
