"""Graded lists: requests with candidates, and how far each candidate helps, judged by somebody who read both.

`requests` chooses what is worth grading, `making` finds what a request might mean, `batch` writes both for a
reader, `readings` takes the grades in, and `lists` keeps them and says how far readers agree.
"""
