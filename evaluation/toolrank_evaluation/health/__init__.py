"""What in a catalog keeps requests from finding the right API."""
