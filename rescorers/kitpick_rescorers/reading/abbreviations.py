"""Abbreviations in a request, and what they stand for in this catalog.

A catalog explains some itself: "pull request (PR)". For others there is a written list. A long form counts
only if something that the caller may see has all of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kitpick_rescorers.reading.verbs import stems_of

MAX_ABBREVIATIONS = 4
"""Abbreviations of a request that are written out."""
_MAX_READ = 2_000
_MAX_TEXT = 1_000

_WRITTEN = """
2fa: two factor authentication | multi factor authentication | mfa
acl: access control list
asr: speech recognition | transcribe
bq: bigquery
cc: credit card
cdn: content delivery network
cms: content management
cr: change request | code review
crm: customer relationship management
db: database
dbs: databases
dm: direct message
dms: direct messages
dns: domain name | dns record
dob: date of birth
doc: document
docs: documents
ec2: elastic compute cloud | instance
eta: estimated time of arrival | arrival time | delivery time
fx: exchange rate | currency
gh: github
gpu: graphics
iam: identity and access management
img: image
imgs: images
k8s: kubernetes
kb: knowledge base
kms: key management
kpi: metric | key performance indicator
lb: load balancer
lbs: load balancers
llm: language model
mfa: multi factor authentication
ml: machine learning
mr: merge request
mrs: merge requests
msg: message
msgs: messages
nlp: natural language
ocr: optical character recognition | recognise text | text in an image
ooo: out of office | vacation | leave
org: organization | organisation
otp: one time password
pfp: profile picture | avatar
pii: personal data | personally identifiable information
po: purchase order
pos: purchase orders | point of sale
pr: pull request
prs: pull requests
pto: paid time off | time off | vacation | paid leave
pvc: persistent volume claim
pwd: password
rbac: role based access | role
repo: repository
repos: repositories
sg: security group
sgs: security groups
sku: stock keeping unit | product
sla: service level agreement
sms: text message
sso: single sign on
stt: speech to text | transcribe
tts: text to speech | speech
tx: transaction
txn: transaction
txns: transactions
vm: virtual machine | instance
vms: virtual machines | instances
vpc: virtual private cloud
wfh: work from home | remote work
yt: youtube
"""
WRITTEN = {
    short: tuple(form.strip() for form in forms.split("|"))
    for short, _, forms in (line.partition(":") for line in _WRITTEN.strip().splitlines())
}
"""Abbreviation in lower case → long forms, the likeliest first."""

_TOKEN = re.compile(r"(?<![\w@./-])([A-Za-z0-9]{2,5})(?=[\s.,;:!?)]|['’]s\b|$)")
_DEFINED = re.compile(r"((?:[A-Za-z][\w'’]*[ -]+){1,6}[A-Za-z][\w'’]*)\s*\(\s*([A-Z][A-Za-z0-9]{1,5})s?\s*\)")


class Abbreviation(NamedTuple):
    """An abbreviation in a request, and the long forms that it may have."""

    short: str
    start: int
    end: int
    forms: tuple[str, ...]


def abbreviations(text: str, texts: Iterable[str] = ()) -> list[Abbreviation]:
    """The abbreviations of a request for which a long form is known, in their order.

    The texts of candidates may explain those in capitals or with a digit.
    """
    found = []
    tokens = list(_TOKEN.finditer(text[:_MAX_READ]))
    shouts = {token[1] for token in tokens if token[1].isupper() and not token[1].isdecimal()}
    defined = _defined(texts, shouts) if shouts else {}
    for token in tokens:
        forms = (*defined.get(token[1], ()), *WRITTEN.get(token[1].lower(), ()))
        if forms:
            found.append(Abbreviation(token[1], token.start(1), token.end(1), forms))
    return found[:MAX_ABBREVIATIONS]


def written_out(text: str, found: Iterable[Abbreviation], texts: Iterable[str]) -> tuple[str, list[str]]:
    """The text with each abbreviation behind its long form, and what was read: `PR → pull request`.

    A long form counts if one of the texts, of what the caller may see, has all of its words.
    """
    held = [frozenset(stems_of(each[:_MAX_TEXT])) for each in texts]
    parts, notes, last = [], [], 0
    for each in found:
        meant = (form for form in each.forms if any(known.issuperset(stems_of(form)) for known in held))
        form = next(meant, None)
        if form is not None and not set(stems_of(form)) <= set(stems_of(text)):
            parts += [text[last : each.start], f"{form} ({each.short})"]
            notes.append(f"{each.short} → {form}")
            last = each.end
    return "".join((*parts, text[last:])), notes


def _defined(texts: Iterable[str], wanted: set[str]) -> dict[str, tuple[str, ...]]:
    """Long forms that texts give for abbreviations, each once, in the order of the texts."""
    found: dict[str, dict[str, None]] = {}
    # Few texts have one of them in brackets, and the words before every bracket are dear to read.
    bracketed = re.compile(rf"\(\s*(?:{'|'.join(map(re.escape, sorted(wanted)))})s?\s*\)")
    for read in (text[:_MAX_TEXT] for text in texts):
        if bracketed.search(read) is None:
            continue
        for words, short in _DEFINED.findall(read):
            if short in wanted and (form := _form(words, short)):
                found.setdefault(short, {})[form.lower()] = None
    return {short: tuple(forms)[:3] for short, forms in found.items()}


def _form(words: str, short: str) -> str:
    """The last words whose initials are the abbreviation; a digit repeats a letter (`EC2`); else nothing."""
    said = re.split(r"[ -]+", words)
    letters = "".join(letter for letter in short.lower() if letter.isalpha())
    for count in range(len(letters) + 1, 1, -1):
        tail = said[-count:]
        initials = "".join(word[0].lower() for word in tail)
        if initials == letters or (any(c.isdigit() for c in short) and _spelt(short.lower(), initials)):
            return " ".join(tail)
    return ""


def _spelt(short: str, initials: str) -> bool:
    """Whether digits repeat the letter before them: `ec2` for "elastic compute cloud"."""
    full = "".join(
        short[n - 1] * (int(c) - 1) if c.isdigit() and n and "2" <= c <= "4" else c
        for n, c in enumerate(short)
    )
    return full == initials
