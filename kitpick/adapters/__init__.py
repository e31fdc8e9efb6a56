"""Search and ranking for frameworks that people already use: one thin module and one extra for each."""
