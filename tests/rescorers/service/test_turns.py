"""Who computes for long waits for its turn; who does not never waits. Clocks here are moved by hand."""

from __future__ import annotations

import threading
import time

import pytest
from waiting import eventually

from kitpick_service.errors import DeadlinePassed
from kitpick_service.ticket import Ticket
from kitpick_service.turns import Turn, Turns

LONG = 10.0


class Worker:
    """A request in a thread of its own, which has computed for `spent` seconds, and asks for a turn."""

    def __init__(self, turns: Turns, spent: float) -> None:
        self.clock = 0.0
        self.turn = Turn(turns, lambda: self.clock)
        self.clock = spent
        self.wanted = True
        self._thread = threading.Thread(target=self.turn.take, args=(lambda: self.wanted,), daemon=True)

    def ask(self) -> None:
        self._thread.start()

    @property
    def waits(self) -> bool:
        return self._thread.is_alive()

    def goes_on(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def holding(turns: Turns) -> Turn:
    """A turn that somebody has."""
    holder = Worker(turns, LONG)
    holder.turn.take(lambda: True)
    return holder.turn


def test_who_has_computed_for_a_moment_only_never_waits() -> None:
    turns = Turns(1)
    holding(turns)
    Worker(turns, 0.01).turn.take(lambda: pytest.fail("asked while it waited"))


def test_who_has_computed_for_long_waits_for_a_turn() -> None:
    turns = Turns(1)
    first, second = holding(turns), Worker(turns, LONG)
    second.ask()
    eventually(lambda: turns.waiting == 1)
    assert second.waits
    first.release()
    second.goes_on()


def test_the_next_turn_is_for_who_has_computed_least() -> None:
    turns = Turns(1)
    first = holding(turns)
    more, less = Worker(turns, 2 * LONG), Worker(turns, LONG)
    more.ask()
    eventually(lambda: turns.waiting == 1)
    less.ask()
    eventually(lambda: turns.waiting == 2)
    first.release()
    less.goes_on()
    assert more.waits
    less.turn.release()
    more.goes_on()


def test_a_turn_lasts_for_a_slice_where_others_wait() -> None:
    turns = Turns(1)
    one, other = Worker(turns, LONG), Worker(turns, 1.0)
    one.turn.take(lambda: pytest.fail("nobody else waits"))
    other.ask()
    eventually(lambda: turns.waiting == 1)
    one.clock += 0.01
    one.turn.take(lambda: pytest.fail("its slice is not used up"))
    assert other.waits
    one.clock += 1.0
    one.ask()
    other.goes_on()
    assert one.waits


def test_after_its_slice_a_turn_rests_as_long_as_models_are_busy() -> None:
    looks: list[bool] = [True, True, False]
    turns = Turns(1, lambda: looks.pop(0))
    one = Worker(turns, LONG)
    one.turn.take(lambda: True)
    one.clock += 0.01
    one.turn.take(lambda: True)
    assert len(looks) == 3, "its slice is not used up"
    one.clock += 1.0
    one.turn.take(lambda: True)
    assert len(looks) <= 1, "it looked, waited and looked again"


def test_a_turn_lasts_for_ever_where_nobody_waits() -> None:
    one = Worker(Turns(1), LONG)
    for _ in range(3):
        one.clock += 1.0
        one.turn.take(lambda: pytest.fail("nobody else waits"))


def test_there_are_as_many_turns_as_was_said() -> None:
    turns = Turns(2)
    first, second, third = holding(turns), holding(turns), Worker(turns, LONG)
    third.ask()
    eventually(lambda: turns.waiting == 1)
    assert third.waits
    second.release()
    third.goes_on()
    first.release()


def test_nobody_waits_on_for_an_answer_that_is_not_wanted_any_more() -> None:
    turns = Turns(1)
    holding(turns)
    left = Worker(turns, LONG)
    left.ask()
    eventually(lambda: turns.waiting == 1)
    left.wanted = False
    left.goes_on()
    assert turns.waiting == 0


def busy(seconds: float) -> None:
    """Uses processor time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_request_that_waits_for_its_turn_keeps_its_deadline() -> None:
    turns = Turns(1)
    holding(turns)
    ticket = Ticket("t", 60)
    with ticket.computing(turns):
        busy(0.3)
        ticket.shorten(0)
        with pytest.raises(DeadlinePassed):
            ticket.check()


def test_a_request_that_ends_or_waits_for_a_model_leaves_its_turn() -> None:
    turns = Turns(1)
    ticket, other = Ticket("t", 60), Worker(turns, LONG)
    with ticket.computing(turns):
        busy(0.3)
        ticket.working().check("work")
        other.ask()
        eventually(lambda: turns.waiting == 1)
        assert other.waits
        with ticket.waking(threading.Event()):
            other.goes_on()
        other.turn.release()
        ticket.check()
    last = Worker(turns, LONG)
    last.ask()
    last.goes_on()
