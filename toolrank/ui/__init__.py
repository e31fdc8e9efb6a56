"""The explain page: what a request goes through, beside the rescorer service."""
