"""Language models as rankers: what is asked of them, how answers are read, and what they may cost."""
