"""Admission of whole searches: who gets scores, who goes without, who is refused, and in what order."""

from __future__ import annotations

import threading

import pytest

from kitpick_service.admission import SHARES, Admission, AdmittedSearch, Extent, SearchCosts
from kitpick_service.errors import Cancelled, Overloaded
from kitpick_service.ticket import Ticket

PAIRS = 10
BASE, PAIR = 0.04, 0.01
FULL = BASE + PAIRS * PAIR
DEADLINE = 1.0


class Clock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def admission(clock: Clock) -> Admission:
    return Admission(1, SearchCosts(BASE, PAIR), clock)


def begun(admission: Admission, key: str, left: float = DEADLINE, pairs: int = PAIRS) -> AdmittedSearch:
    """The first call of a search, which asks for what the index holds."""
    with admission.call(key, True, pairs, left) as search:
        return search


def tried(admission: Admission, key: str) -> Extent | None:
    """The extent of a new search; None where it is refused."""
    try:
        return begun(admission, key).extent
    except Overloaded:
        return None


def answered(admission: Admission, key: str) -> None:
    with admission.call(key, False, PAIRS, DEADLINE) as search:
        search.answered(0, 0.0)


class TestWhatIsPromised:
    def test_full_searches_are_admitted_as_far_as_they_fit_their_share(self, admission: Admission) -> None:
        most = int(SHARES[Extent.FULL] * DEADLINE / FULL + 1e-9)
        extents = [begun(admission, f"{n}").extent for n in range(most + 1)]
        assert extents == [Extent.FULL] * most + [Extent.BARE]

    def test_searches_whose_texts_have_not_come_count_with_all_they_cost(self, admission: Admission) -> None:
        begun(admission, "a")
        begun(admission, "b")
        assert admission.ahead(Extent.FULL) == pytest.approx(2 * FULL)

    def test_what_fits_neither_way_is_refused_before_anything_is_done(self, admission: Admission) -> None:
        bare = SHARES[Extent.BARE] * DEADLINE / BASE
        full = SHARES[Extent.FULL] * DEADLINE / FULL
        for n in range(int(bare) + int(full)):
            begun(admission, f"{n}")
        with pytest.raises(Overloaded, match="searches under way") as refusal:
            begun(admission, "one more")
        assert refusal.value.retry_after is not None
        assert refusal.value.retry_after >= 1

    def test_small_searches_take_no_place_of_full_ones(self, admission: Admission) -> None:
        """After each answer another one comes at once: as many are in full as were before."""
        known: dict[str, Extent | None] = {}
        for n in range(200):
            known[f"{n}"] = tried(admission, f"{n}")
            if known[f"{n}"] is None:
                oldest = next(name for name, extent in known.items() if extent is not None)
                answered(admission, oldest)
                del known[oldest]
        full = [each for each in known.values() if each is Extent.FULL]
        assert len(full) >= int(SHARES[Extent.FULL] * DEADLINE / FULL) - 1

    def test_an_only_search_is_admitted_whatever_it_costs(self, admission: Admission) -> None:
        assert begun(admission, "a", left=0.01).extent is Extent.FULL

    def test_more_time_admits_more(self, admission: Admission) -> None:
        assert [begun(admission, f"{n}", left=60).extent for n in range(50)] == [Extent.FULL] * 50

    def test_several_at_a_time_wait_for_less(self, clock: Clock) -> None:
        wide = Admission(4, SearchCosts(BASE, PAIR), clock)
        extents = [begun(wide, f"{n}").extent for n in range(15)]
        assert extents == [Extent.FULL] * 15

    def test_a_profile_that_reads_no_pairs_is_never_bare(self, admission: Admission) -> None:
        found = [begun(admission, f"{n}", pairs=0).extent for n in range(5)]
        assert found == [Extent.FULL] * 5


class TestSearchesOfAnotherKeyThatAreAway:
    """They may never go on, and cost their owner next to nothing."""

    @pytest.fixture(autouse=True)
    def flood(self, admission: Admission) -> None:
        for number in range(200):
            with admission.call(f"flood {number}", True, PAIRS, 60.0, "flood"):
                pass

    def of_another(self, admission: Admission, key: str) -> Extent:
        with admission.call(key, True, PAIRS, DEADLINE, "another") as search:
            return search.extent

    def test_leave_others_half_of_the_time(self, admission: Admission) -> None:
        admission.turn_away(DEADLINE, PAIRS, "another")
        half = int(SHARES[Extent.FULL] * DEADLINE / 2 / FULL + 1e-9)
        extents = [self.of_another(admission, f"{n}") for n in range(half + 1)]
        assert extents == [Extent.FULL] * half + [Extent.BARE]

    def test_count_whole_for_their_own_key(self, admission: Admission) -> None:
        with admission.call("flood", True, PAIRS, DEADLINE, "flood") as search:
            assert search.extent is Extent.BARE

    def test_count_whole_while_a_call_of_theirs_is_served(self, admission: Admission) -> None:
        before = admission._ahead(Extent.FULL, "another", DEADLINE)
        with admission.call("flood 0", False, PAIRS, DEADLINE, "flood"):
            assert admission._ahead(Extent.FULL, "another", DEADLINE) == pytest.approx(before + FULL)

    def test_are_told_to_metrics_as_they_are(self, admission: Admission) -> None:
        assert admission.ahead(Extent.FULL) > DEADLINE


class TestWhoIsTurnedAway:
    def test_before_anything_is_known_of_it_a_search_is_refused_where_any_would_be(
        self, admission: Admission
    ) -> None:
        admission.turn_away(DEADLINE)
        refusal = filled(admission)
        with pytest.raises(Overloaded, match="searches under way"):
            admission.turn_away(DEADLINE)
        admission.turn_away(60.0)
        assert refusal.retry_after is not None

    @pytest.mark.parametrize("pair", [0.005, 0.01, 0.02, 0.03, 0.05])
    def test_what_is_known_to_be_refused_is_refused_at_once(self, clock: Clock, pair: float) -> None:
        """Its body is not decoded: under overload, most are such."""
        admission = Admission(1, SearchCosts(BASE, pair), clock)
        filled(admission)
        with pytest.raises(Overloaded, match="searches under way"):
            admission.turn_away(DEADLINE, PAIRS)

    def test_what_would_be_admitted_is_not(self, admission: Admission) -> None:
        for number in range(100):
            try:
                admission.turn_away(DEADLINE, PAIRS)
            except Overloaded:
                assert number > SHARES[Extent.FULL] * DEADLINE / FULL - 1
                assert tried(admission, "the same") is None
                return
            assert tried(admission, f"{number}") is not None
        pytest.fail("somebody has to be refused")

    def test_a_place_without_scores_is_a_place(self, admission: Admission) -> None:
        while begun(admission, "a").extent is Extent.FULL:
            pass
        admission.turn_away(DEADLINE)
        assert admission.ahead(Extent.FULL) > 0

    def test_each_is_told_to_come_later_than_the_one_before(self, admission: Admission) -> None:
        told = [refused(admission) for _ in range(200) if filled(admission)]
        assert told == sorted(told)
        assert told[0] <= 3
        assert told[-1] in (10, 11), "ten seconds, in whole ones: nobody stays away for ever"

    def test_time_shortens_it_again(self, admission: Admission, clock: Clock) -> None:
        filled(admission)
        while refused(admission) < 10:
            pass
        clock.now += 8
        filled(admission)
        assert refused(admission) <= 4


def filled(admission: Admission) -> Overloaded:
    """As many searches are begun as are admitted."""
    while tried(admission, "one of many") is not None:
        pass
    with pytest.raises(Overloaded) as refusal:
        begun(admission, "one more")
    return refusal.value


def refused(admission: Admission) -> int:
    """After how many seconds a search that is turned away shall come back."""
    with pytest.raises(Overloaded) as refusal:
        admission.turn_away(DEADLINE)
    assert refusal.value.retry_after is not None
    return refusal.value.retry_after


class TestACallOfASearch:
    def test_later_calls_keep_what_was_promised(self, admission: Admission) -> None:
        first = begun(admission, "a")
        with admission.call("a", False, PAIRS, 0.1) as again:
            assert again is first

    def test_an_unknown_search_is_decided_anew(self, admission: Admission) -> None:
        """Its first call went to another copy of the service."""
        with admission.call("a", False, PAIRS, DEADLINE) as search:
            assert search.extent is Extent.FULL
        assert admission.ahead(Extent.FULL) == pytest.approx(FULL)

    def test_an_answer_gives_its_place_back(self, admission: Admission) -> None:
        begun(admission, "a")
        answered(admission, "a")
        assert admission.ahead(Extent.FULL) == 0

    def test_so_does_a_failure(self, admission: Admission) -> None:
        with pytest.raises(Cancelled), admission.call("a", True, PAIRS, DEADLINE):
            raise Cancelled("the caller went away")
        assert admission.ahead(Extent.FULL) == 0

    def test_who_does_not_come_back_is_forgotten(self, admission: Admission, clock: Clock) -> None:
        begun(admission, "a", left=2.0)
        begun(admission, "b", left=600.0)
        clock.now += 2.5
        assert admission.ahead(Extent.FULL) == pytest.approx(FULL)
        clock.now += 5.0
        assert admission.ahead(Extent.FULL) == 0

    def test_equal_searches_of_two_callers_are_two(self, admission: Admission) -> None:
        begun(admission, "a")
        begun(admission, "a")
        assert admission.ahead(Extent.FULL) == pytest.approx(2 * FULL)
        answered(admission, "a")
        assert admission.ahead(Extent.FULL) == pytest.approx(FULL)


class TestTheOrderOfService:
    def test_the_earliest_goes_first_and_one_at_a_time(self, admission: Admission) -> None:
        served: list[str] = []
        first = begun(admission, "first", left=600)
        later = {name: begun(admission, name, left=600) for name in ("b", "c", "d")}

        def serve(name: str) -> None:
            with admission.serving(later[name], Ticket(name, 600)):
                served.append(name)

        threads = [threading.Thread(target=serve, args=(name,)) for name in ("d", "b", "c")]
        with admission.serving(first, Ticket("first", 600)):
            for thread in threads:
                thread.start()
            waits(admission, 3)
            assert served == []
        for thread in threads:
            thread.join(300)
        assert served == ["b", "c", "d"]

    def test_a_bare_search_does_not_wait_for_full_ones(self, admission: Admission) -> None:
        full = begun(admission, "full")
        bare = AdmittedSearch(9, Extent.BARE, PAIRS, BASE)
        with admission.serving(full, Ticket("a", 60)), admission.serving(bare, Ticket("b", 60)):
            assert admission.ahead(Extent.FULL) == pytest.approx(FULL)

    def test_beside_a_full_one_it_rests_after_its_share(self, admission: Admission, clock: Clock) -> None:
        full = begun(admission, "full")
        with admission.serving(full, Ticket("a", 60)):
            with admission.serving(AdmittedSearch(2, Extent.BARE, 0, BASE), Ticket("b", 60)):
                clock.now += 0.1
            clock.now += 0.1 * (1 / SHARES[Extent.BARE] - 1) - 0.001
            assert not served_now(admission)
            clock.now += 0.002
            assert served_now(admission)
        assert served_now(admission), "nobody is beside it"

    def test_who_is_not_wanted_any_more_leaves_the_line(self, admission: Admission) -> None:
        gone = Ticket("gone", 600)
        gone.cancel()
        with (
            admission.serving(begun(admission, "a"), Ticket("a", 600)),
            pytest.raises(Cancelled),
            admission.serving(begun(admission, "b"), gone),
        ):
            pass
        assert served_now(admission)

    def test_whose_time_is_too_short_for_any_answer_is_refused(self, admission: Admission) -> None:
        with (
            admission.serving(begun(admission, "a"), Ticket("a", 600)),
            pytest.raises(Overloaded, match="longer than expected"),
            admission.serving(begun(admission, "b"), Ticket("b", BASE / 2)),
        ):
            pass

    def test_pairs_are_left_unread_where_there_is_no_time_for_half_of_them(
        self, admission: Admission
    ) -> None:
        search, other = (begun(admission, name, left=600) for name in "ab")
        assert admission.can_read(search, PAIRS, 0.0), "while no other waits, the deadline decides"
        waiting = threading.Thread(target=serve_nothing, args=(admission, other))
        with admission.serving(search, Ticket("a", 600)):
            waiting.start()
            waits(admission, 1)
            assert admission.can_read(search, PAIRS, 0.5 * PAIRS * PAIR)
            assert not admission.can_read(search, PAIRS, 0.49 * PAIRS * PAIR)
            assert not admission.can_read(AdmittedSearch(9, Extent.BARE, PAIRS, BASE), PAIRS, 600)
        waiting.join(300)


class TestWhatSearchesCost:
    def test_it_is_learned_from_those_that_were_answered(self, admission: Admission, clock: Clock) -> None:
        for n in range(100):
            with (
                admission.call(f"{n}", True, PAIRS, 60) as search,
                admission.serving(search, Ticket("t", 60)),
            ):
                clock.now += 0.5
                search.answered(PAIRS, 0.3)
        assert admission.costs.pair == pytest.approx(0.03, rel=0.01)
        assert admission.costs.base == pytest.approx(0.2, rel=0.01)

    def test_the_first_one_counts_whole_where_nothing_was_measured(self) -> None:
        costs = SearchCosts()
        costs.note(0.5, 10, 0.3)
        assert costs.of(10) == pytest.approx(0.5)

    def test_what_was_remembered_says_nothing_of_a_pair(self) -> None:
        costs = SearchCosts(BASE, PAIR)
        costs.note(BASE, 0, 0.0)
        assert costs.pair == PAIR


def serve_nothing(admission: Admission, search: AdmittedSearch) -> None:
    with admission.serving(search, Ticket("other", 600)):
        pass


def waits(admission: Admission, count: int) -> None:
    """Returns once so many full searches wait for their turn."""
    with admission._changed:
        assert admission._changed.wait_for(lambda: len(admission._waiting[Extent.FULL]) == count, 300)


def served_now(admission: Admission) -> bool:
    """Whether a bare search would be served at once."""
    search = AdmittedSearch(99, Extent.BARE, 0, 0.0)
    admission._waiting[Extent.BARE].append(search.number)
    try:
        return admission._is_next(search)
    finally:
        admission._waiting[Extent.BARE].remove(search.number)
