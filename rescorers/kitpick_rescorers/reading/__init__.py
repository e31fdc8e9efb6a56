"""What a request says: which names it holds, what it rules out, and in which words it asks."""
