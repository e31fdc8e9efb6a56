"""Words that say nothing about which API is meant."""

from __future__ import annotations

_GRAMMAR = """
a about above after again all also am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further had has have having he her
here hers him his how i if in into is it its itself just me more most my no nor not of off on once only
or other our out over own same she should so some such than that the their them then there these they
this those through to too under until up very was we were what when where which while who whom why will
with would you your
"""
_REQUESTING = """
able additionally d finally furthermore give help interested know lastly let like ll looking m moreover
need needs please provide re s t tell thank thanks ve want wanted wondering
"""
"""How people ask an assistant. Rare in catalogs, so that BM25 would weigh them most."""

STOP_WORDS = frozenset((_GRAMMAR + _REQUESTING).split())
