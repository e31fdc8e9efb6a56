"""Non-negative elastic net (NNN) decoding: the set of documents that together reconstruct the query.

`problem` states it, `certificate` says what proves an answer, and each solver has a file: `active_set`
(exact), `path` (exact, for all penalties at once), `columns`
(exact, over an index that can only be searched) and `fista` (the paper's, for comparison). See docs/nnn.md.
"""

from toolrank_rescorers.nnn.account import Account, account
from toolrank_rescorers.nnn.active_set import solve_active_set
from toolrank_rescorers.nnn.batch import solve_batch
from toolrank_rescorers.nnn.certificate import Certificate
from toolrank_rescorers.nnn.choosing import LearnedPenalty, shift_of_residual_drop, shift_of_support
from toolrank_rescorers.nnn.columns import Generated, Searching, solve_by_columns
from toolrank_rescorers.nnn.corpus import Corpus
from toolrank_rescorers.nnn.errors import InvalidProblem
from toolrank_rescorers.nnn.fista import solve_fista, solve_fista_batch
from toolrank_rescorers.nnn.hybrid import Hybrid, Lexicon
from toolrank_rescorers.nnn.hybrid_columns import Document, Gathered, Mixture, solve_hybrid_by_columns
from toolrank_rescorers.nnn.path import Breakpoint, Path, solve_path
from toolrank_rescorers.nnn.problem import Problem, Solution, ranking
from toolrank_rescorers.nnn.scans import NumpyScans, Scans
from toolrank_rescorers.nnn.torch_scans import TorchScans

__all__ = [
    "Account",
    "Breakpoint",
    "Certificate",
    "Corpus",
    "Document",
    "Gathered",
    "Generated",
    "Hybrid",
    "InvalidProblem",
    "LearnedPenalty",
    "Lexicon",
    "Mixture",
    "NumpyScans",
    "Path",
    "Problem",
    "Scans",
    "Searching",
    "Solution",
    "TorchScans",
    "account",
    "ranking",
    "shift_of_residual_drop",
    "shift_of_support",
    "solve_active_set",
    "solve_batch",
    "solve_by_columns",
    "solve_fista",
    "solve_fista_batch",
    "solve_hybrid_by_columns",
    "solve_path",
]
