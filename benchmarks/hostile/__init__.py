"""What is sent to break the service and its readers, and what others feel of it."""
