"""Sample requests attached to APIs, and the ranking that the nearest of them vote for."""
