"""Language models as rankers: prompts, reading of answers, and limits of cost."""
