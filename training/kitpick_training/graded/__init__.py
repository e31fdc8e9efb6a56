"""Graded lists: requests with candidates, and how far each candidate helps, judged by somebody who read both.

`requests` chooses what is worth grading, `candidates` finds what a request might mean, `batch` writes both
for a reader, `readings` takes the grades in, `lists` keeps them, and `agreement` says how far readers agree.
"""
