"""Parts of `scripts/bench service`: the processes it asks, the load it makes, and who else serves."""
