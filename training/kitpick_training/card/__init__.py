"""Training on a lent graphics card: what goes there and comes back in pieces, and what runs there."""
