"""DemoRank (Liu et al., 2024): few-shot relevance by demonstrations chosen in view of each other."""
