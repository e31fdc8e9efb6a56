"""Non-negative elastic net (NNN) decoding: the set of documents that together reconstruct the query.

Modules: `problem` states the problem and certifies solutions, `corpus` holds the document vectors, `hybrid`
adds words to them. There are two exact solvers: `active_set` for one problem, `path` for all penalties at
once. `gram` and `kernels` are their inner loops. See docs/nnn.md.
"""

from kitpick_rescorers.nnn.active_set import solve_active_set
from kitpick_rescorers.nnn.corpus import Corpus, InvalidProblem
from kitpick_rescorers.nnn.hybrid import Hybrid, Lexicon
from kitpick_rescorers.nnn.path import Breakpoint, Path, solve_path
from kitpick_rescorers.nnn.problem import Account, Certificate, NnnProblem, Solution, account, ranking

__all__ = [
    "Account",
    "Breakpoint",
    "Certificate",
    "Corpus",
    "Hybrid",
    "InvalidProblem",
    "Lexicon",
    "NnnProblem",
    "Path",
    "Solution",
    "account",
    "ranking",
    "solve_active_set",
    "solve_path",
]
