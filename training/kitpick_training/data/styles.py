"""Synthetic requests: clauses as somebody would ask them, from a keyword query to a long narrative."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_OPENINGS = (
    "I'm planning {plan}.",
    "I'm currently working on {plan}.",
    "My team is busy with {plan}.",
    "I am organizing {plan} and I want everything to be ready.",
    "We are preparing {plan} for next month.",
    "My friend asked me to help with {plan}.",
    "I'm responsible for {plan} at our company.",
    "I've just started with {plan} and I'm a bit lost.",
    "Our customers keep asking about {plan}.",
    "For {plan} I have to collect some things.",
    "As part of {plan}, I need your help.",
    "I'm curious, and it may be useful for {plan}.",
)
_PLANS = (
    "a weekend trip with my family",
    "a birthday party for my sister",
    "the launch of a new product",
    "a research project for university",
    "a dashboard for our support team",
    "a mobile app for students",
    "a blog about personal finance",
    "an office move to another city",
    "a charity run in our town",
    "a fantasy football league",
    "a film night with friends",
    "the yearly report to investors",
    "a marketing campaign on social media",
    "an online shop for handmade goods",
    "a podcast about technology",
    "a data migration",
    "the security review of our website",
    "a recipe collection",
    "a wedding abroad",
    "a newsletter for collectors",
    "a training plan for a marathon",
    "a school presentation about the climate",
    "a chatbot for our intranet",
    "the inventory of our warehouse",
    "an article about the stock market",
    "a music festival",
    "a reading list for the holidays",
    "the payroll of a small company",
    "a travel guide",
    "a game for my nephews",
)
_ASKS = (
    "Can you {0}?",
    "Could you please {0}?",
    "Please {0}.",
    "I need you to {0}.",
    "I want to {0}.",
    "I'd like to {0}.",
    "Help me {0}.",
    "Would it be possible to {0}?",
    "{0}.",
)
_FURTHER = (
    "Also, {0}.",
    "Additionally, {0}.",
    "Can you also {0}?",
    "I would also like to {0}.",
    "Furthermore, please {0}.",
    "After that, {0}.",
    "Moreover, could you {0}?",
    "Finally, {0}.",
    "Then {0}.",
)
_CLOSINGS = (
    "This will help me decide what to do next.",
    "I want to be well prepared.",
    "It would make my work much easier.",
    "I'd like to keep everything in one place.",
    "Thank you for your help!",
    "Any details are welcome.",
    "I'm eager to learn more about it.",
    "It is important that the information is up to date.",
)
_THINGS = (
    "Can you provide me with {0}?",
    "Could you give me {0}?",
    "I need {0}.",
    "I'm looking for {0}.",
    "Please show me {0}.",
    "I would like to see {0}.",
    "I'm interested in {0}.",
)
_SHORT = (
    "{0}",
    "{0}.",
    "I need to {0}",
    "I need to {0}.",
    "how do I {0}?",
    "How can I {0}?",
    "Can you {0}?",
    "please {0}",
    "I want to {0}.",
    "is there a way to {0}?",
    "Tool to {0}",
)
_JOINS = ("{0} and {1}", "{0}, then {1}", "{0} and also {1}", "{0}. {1}", "first {0}, and after that {1}")
_IN_TOOL = ("{0} using {1}", "{0} with {1}", "{0} in {1}", "{0} on {1}", "{0} via the {1}", "{0} from {1}")
_VALUES = (
    "12345",
    "example",
    "london",
    "2023-05-14",
    "abc-789",
    "john.doe",
    "1f7c",
    "tesla",
    "50",
    "en",
    "us",
)


def short_request(clauses: Sequence[str], rng: random.Random) -> str:
    """One sentence: "I need to list users and delete a group."."""
    joined = clauses[0]
    for further in clauses[1:]:
        joined = rng.choice(_JOINS).format(joined, further)
    return _capital(rng.choice(_SHORT).format(joined), rng)


def narrative_request(clauses: Sequence[str], rng: random.Random) -> str:
    """A story around the asks, as people tell assistants: who I am, what I need, what for."""
    sentences = [_filled(rng.choice(_ASKS), clauses[0])]
    sentences += [_filled(rng.choice(_FURTHER), further) for further in clauses[1:]]
    if rng.random() < 0.85:
        sentences.insert(0, rng.choice(_OPENINGS).format(plan=rng.choice(_PLANS)))
    if rng.random() < 0.5:
        sentences.append(rng.choice(_CLOSINGS))
    return " ".join(sentences)


def enumerating_request(clauses: Sequence[str], rng: random.Random) -> str:
    """A story with one sentence for everything: "Can you provide me with the clips and the details?"."""
    things = [thing_asked(clause) for clause in clauses]
    listed = ", ".join(things[:-1]) + (" and " if len(things) > 1 else "") + things[-1]
    sentences = [rng.choice(_OPENINGS).format(plan=rng.choice(_PLANS)), rng.choice(_THINGS).format(listed)]
    if rng.random() < 0.5:
        sentences.append(rng.choice(_CLOSINGS))
    return " ".join(sentences)


def thing_asked(clause: str) -> str:
    """What a clause is about: "get a user" → "a user", "list groups" → "the groups", else "a way to …"."""
    verb, _, rest = clause.partition(" ")
    if verb not in {"get", "list", "show", "find", "fetch", "search", "display", "query", "read", "return"}:
        return f"a way to {clause}"
    return rest if rest.split(" ")[0] in {"a", "an", "the", "all", "one", "some", "for"} else f"the {rest}"


def in_tool(clause: str, tool: str, rng: random.Random) -> str:
    """Names the tool in the clause: "list users in Acme"."""
    return rng.choice(_IN_TOOL).format(
        clause, re.sub(r"\s*\b(?:rest\s+)?api\b.*$", "", tool, flags=re.I) or tool
    )


def with_value(clause: str, parameter: str, rng: random.Random) -> str:
    """Adds a value for a parameter: "get a user for the user id '12345'"."""
    link = rng.choice(("for the", "with the", "where the", "with"))
    verb = " is" if link == "where the" else ""
    return f"{clause} {link} {parameter.lower()}{verb} '{rng.choice(_VALUES)}'"


def drop_words(text: str, share: float, rng: random.Random) -> str:
    """Leaves out words at random, never all."""
    words = text.split()
    kept = [word for word in words if rng.random() >= share]
    return " ".join(kept or words)


def with_typos(text: str, count: int, rng: random.Random) -> str:
    """Swaps or drops `count` letters inside words."""
    letters = list(text)
    for _ in range(count):
        inside = [i for i in range(1, len(letters) - 1) if letters[i].isalpha() and letters[i + 1].isalpha()]
        if not inside:
            break
        place = rng.choice(inside)
        if rng.random() < 0.5:
            letters[place], letters[place + 1] = letters[place + 1], letters[place]
        else:
            del letters[place]
    return "".join(letters)


def roughened(text: str, rng: random.Random) -> str:
    """What hurried typing does to one request in three: lower case, typos."""
    roll = rng.random()
    if roll < 0.15:
        return text.lower().rstrip(".?")
    return with_typos(text, 1 + len(text) // 60, rng) if roll < 0.30 else text


def _filled(template: str, clause: str) -> str:
    text = template.format(clause)
    return text[0].upper() + text[1:]


def _capital(text: str, rng: random.Random) -> str:
    return text[0].upper() + text[1:] if rng.random() < 0.7 else text
