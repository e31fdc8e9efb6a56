"""The explain page: shows each step of a search, beside the rescorer service."""
