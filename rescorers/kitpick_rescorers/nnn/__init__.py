"""Non-negative elastic net (NNN) decoding: the set of documents that together reconstruct the query.

Modules: `problem` states the problem and certifies solutions, `corpus` holds the document vectors, and adds
words to them. `active_set` is the exact solver, `gram` and `kernels` are its inner loops. See docs/nnn.md.
"""

from kitpick_rescorers.nnn.active_set import solve_active_set
from kitpick_rescorers.nnn.corpus import Corpus, Hybrid, InvalidProblem, Lexicon
from kitpick_rescorers.nnn.problem import Account, Certificate, NnnProblem, Solution, account, ranking

__all__ = [
    "Account",
    "Certificate",
    "Corpus",
    "Hybrid",
    "InvalidProblem",
    "Lexicon",
    "NnnProblem",
    "Solution",
    "account",
    "ranking",
    "solve_active_set",
]
