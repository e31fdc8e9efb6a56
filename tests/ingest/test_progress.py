"""What a person is told while something takes long."""

from __future__ import annotations

import io

import pytest

from kitpick_ingest.progress import LineProgress, NullProgress, PhaseMeter, ProgressRecorder, duration


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_phase_of_known_length_has_rate_and_remaining_time() -> None:
    clock = Clock()
    meter = PhaseMeter("embed", 19_000, clock)
    meter.advance(1_200)
    clock.now += 6

    assert meter.rate == 200
    assert meter.eta == 89
    assert meter.line() == "embed: 1,200 of 19,000 (6 %), 200/s, 1 min 29 s left"


def test_a_phase_of_unknown_length_has_a_rate() -> None:
    clock = Clock()
    meter = PhaseMeter("read", None, clock)
    meter.advance(10)
    clock.now += 2

    assert meter.eta is None
    assert meter.line() == "read: 10, 5.0/s"


def test_nothing_is_said_about_the_rest_before_anything_is_done() -> None:
    meter = PhaseMeter("embed", 10, Clock())

    assert (meter.rate, meter.eta) == (0, None)
    assert meter.line() == "embed: 0 of 10 (0 %), 0.0/s"


def test_more_than_was_announced_does_not_go_back_in_time() -> None:
    clock = Clock()
    meter = PhaseMeter("embed", 10, clock)
    meter.advance(12)
    clock.now += 1

    assert meter.eta == 0


def test_a_line_every_few_seconds_and_one_at_the_end() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = LineProgress(stream, interval=5, clock=clock)

    with progress.phase("embed", 4) as advance:
        for _ in range(4):
            clock.now += 3
            advance(1)
    progress.note("done without a cache")

    assert stream.getvalue().splitlines() == [
        "embed: 2 of 4 (50 %), 0.3/s, 6.0 s left",
        "embed: 4 of 4 (100 %), 0.3/s, 0.0 s left",
        "embed: 4 in 12 s, 0.3/s",
        "note: done without a cache",
    ]


def test_a_note_forges_no_line_and_commands_no_terminal() -> None:
    stream = io.StringIO()

    LineProgress(stream).note("1 entry was left out at #/paths/\x1b[2J\nnote: all is well \u202e")

    assert stream.getvalue() == "note: 1 entry was left out at #/paths/\\x1b[2J\\nnote: all is well \\u202e\n"


def test_a_phase_that_fails_does_not_claim_to_have_ended() -> None:
    stream = io.StringIO()

    with pytest.raises(KeyboardInterrupt), LineProgress(stream).phase("embed", 4):
        raise KeyboardInterrupt

    assert stream.getvalue() == ""


def test_a_recorder_remembers_seconds_and_notes_and_passes_them_on() -> None:
    stream = io.StringIO()
    recorder = ProgressRecorder(LineProgress(stream))

    for _ in range(2):
        with recorder.phase("embed", 1) as advance:
            advance(1)
    recorder.note("waited")

    assert list(recorder.seconds) == ["embed"]
    assert recorder.notes == ["waited"]
    assert len(stream.getvalue().splitlines()) == 3


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    progress = NullProgress()
    with progress.phase("embed", 1) as advance:
        advance(1)
    progress.note("anything")

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (12.3, "12 s"),
        (59.6, "1 min 00 s"),
        (85, "1 min 25 s"),
        (7380, "2 h 03 min"),
    ],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
