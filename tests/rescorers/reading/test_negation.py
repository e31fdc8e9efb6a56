"""What a request rules out, and what is left to search with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.reading.negation import MAX_READ, split_ruled_out


@pytest.mark.parametrize(
    ("request_", "wanted", "out"),
    [
        ("stop the servers but do not terminate them", "stop the servers", "but do not terminate them"),
        ("halt instances without terminating them", "halt instances", "without terminating them"),
        ("enable mfa, don't disable it", "enable mfa", "don't disable it"),
        ("send a message but not as a batch", "send a message", "but not as a batch"),
        ("delete one message, no batch", "delete one message", "no batch"),
        ("archive the channel rather than deleting it", "archive the channel", "rather than deleting it"),
        ("save it as a draft, never send it", "save it as a draft", "never send it"),
        ("archive the file, no need to delete it", "archive the file", "no need to delete it"),
        ("archive the file, you needn't delete it", "archive the file", "you needn't delete it"),
        ("archive the log, you don't have to delete it", "archive the log", "you don't have to delete it"),
        ("archive the file, don't you dare delete it", "archive the file", "don't you dare delete it"),
        ("archive the file without having to delete it", "archive the file", "without having to delete it"),
        ("archive the file, deleting it is forbidden", "archive the file", "deleting it is forbidden"),
        ("let the alarm ring, don't silence it", "let the alarm ring", "don't silence it"),
        ("tag the queue, do not untag it", "tag the queue", "do not untag it"),
        ("which checks do we have? delete none", "which checks do we have?", "delete none"),
        ("apply the change now, not just list it", "apply the change now", "not just list it"),
        ("what did the alarm do, never mind setting it", "what did the alarm do", "never mind setting it"),
        ("preview the change (do not apply it)", "preview the change", "do not apply it"),
        ("archive it w/o deleting it", "archive it", "w/o deleting it"),
        ("freeze the VMs, ending them is not wanted", "freeze the VMs", "ending them is not wanted"),
        ("copy the file, donot move it", "copy the file", "donot move it"),
        ("send it to sleep, it must not be ended", "send it to sleep", "it must not be ended"),
        ("empty it. The queue is not to be deleted", "empty it.", "The queue is not to be deleted"),
        ("ship it, and I certainly don't want to cancel", "ship it", "and I certainly don't want to cancel"),
    ],
)
def test_a_deed_or_an_alternative_is_ruled_out(request_: str, wanted: str, out: str) -> None:
    assert split_ruled_out(request_) == (wanted, (out,))


@pytest.mark.parametrize(
    ("request_", "wanted", "out"),
    [
        ("empty the queue but keep it", "empty the queue", "delete it"),
        ("delete the files, keep the bucket", "delete the files", "delete the bucket"),
        ("archive the project, leaving its files untouched", "archive the project", "delete its files"),
        ("clear the table but leave it in place", "clear the table", "delete it"),
    ],
)
def test_what_is_to_stay_is_not_to_be_deleted(request_: str, wanted: str, out: str) -> None:
    assert split_ruled_out(request_) == (wanted, (out,))


@pytest.mark.parametrize(
    "request_",
    ["don't delete the channel, archive it", "instead of deleting the channel, archive it",
     "can you please not delete the channel but archive it", "refrain from deleting the channel, archive it",
     "under no circumstances delete the channel, archive it", "no need to delete the channel, archive it",
     "I do not want to delete the channel, just archive it"],
)  # fmt: skip
def test_a_thing_that_only_the_ruled_out_part_names_stays(request_: str) -> None:
    wanted, out = split_ruled_out(request_)
    assert "archive it" in wanted
    assert "channel" in wanted
    assert "delet" not in wanted
    assert len(out) == 1


@pytest.mark.parametrize(
    "request_",
    [
        "list servers that are not running",
        "keep the old key, make a new one",
        "turn on the heater and keep it at 20 degrees",
        "mute the channel and keep the members informed",
        "stop the alarm and leave the channel",
        "find users without a role",
        "I don't know how to send a mail",
        "why is my build not working?",
        "it does not open and I can't log in",
        "not only list but also delete the files",
        "you don't have to worry, send the mail",
        "there is no need to hurry",
        "no batch",
        "do not delete",
        "never mind, cancel it",
        "send the mail, don't forget the attachment",
        "don't we have a report about sales?",
        "not just the orders, but the invoices as well",
        "do not only list the users but also export them",
        "do not just list the buckets, show their sizes too",
        "",
    ],
)
def test_what_describes_a_thing_or_is_all_there_is_stays(request_: str) -> None:
    assert split_ruled_out(request_) == (request_, ())


@given(st.text(max_size=2 * MAX_READ))
def test_no_text_is_lost_whole(text: str) -> None:
    wanted, out = split_ruled_out(text)
    assert bool(wanted.strip()) == bool(text.strip())
    assert out or wanted == text


@given(
    st.sampled_from(["delete", "send", "terminate", "apply", "cancel"]),
    st.sampled_from(["but do not", "; don't", ", never"]),
)
def test_the_verb_that_is_ruled_out_is_not_searched(verb: str, cue: str) -> None:
    wanted, out = split_ruled_out(f"show me the order{cue if cue[0] in ',;' else ' ' + cue} {verb} it")
    assert wanted == "show me the order"
    assert verb in out[0]


def test_what_is_done_to_it_is_done_to_the_thing_that_the_ruled_out_beginning_names() -> None:
    wanted, out = split_ruled_out("don't cancel order 12, just send it to my office")
    assert wanted == "just send it to my office order 12"
    assert out == ("don't cancel order 12",)


def test_a_later_pronoun_takes_nothing_from_the_ruled_out_beginning() -> None:
    wanted, _ = split_ruled_out("don't create a release, the old one is there; give it a cycle")
    assert "release" not in wanted


def test_what_may_stand_in_place_of_a_thing_is_asked_with_the_thing() -> None:
    request = "what can I use instead of butter"
    assert split_ruled_out(request) == (request, ())
    assert split_ruled_out("which files were archived instead of deleted").out == ("instead of deleted",)


def test_a_line_ends_what_is_ruled_out() -> None:
    reading = split_ruled_out("switch it off, don't terminate it\nDescribe Instances")
    assert reading.out == ("don't terminate it",)
    assert "Instances" in reading.wanted
    assert split_ruled_out("stop it, but do not\nterminate it").out == ("but do not\nterminate it",)
