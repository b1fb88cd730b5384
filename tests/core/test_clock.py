"""The clock of fits and solvers."""

import pytest

from gramian.core.clock import Clock, Pace, TimeLimitReached
from small_training import FakeTime


def test_a_clock_without_limit_never_passes():
    clock = Clock()
    clock.check()
    clock.check(share=0.0)
    assert clock.left is None
    assert not clock.passed
    assert clock.seconds >= 0


def test_a_limit_of_infinity_is_none():
    clock = Clock(float("inf"))
    clock.check()
    assert clock.allows(1e9)
    assert clock.left is None
    assert clock.shared(3).left is None


def test_a_limit_of_zero_has_passed_at_once():
    clock = Clock(0.0)
    assert clock.passed
    assert clock.left == 0
    with pytest.raises(TimeLimitReached):
        clock.check()


def test_a_share_of_the_limit_is_used_up_first():
    clock = Clock(1000.0)
    clock.check()
    with pytest.raises(TimeLimitReached):
        clock.check(share=0.0)
    assert not clock.passed
    assert 0 < clock.left <= 1000


def test_the_reason_names_the_limit_or_the_interrupt():
    assert Clock(2.5).reason(TimeLimitReached()) == "the time limit of 2.5 s was too short"
    assert Clock().reason(KeyboardInterrupt()) == "interrupted"


class TestForecasts:
    """A fake time passes only where a test says so."""

    def clock(self, limit=10.0):
        time = FakeTime()
        return time, Clock(limit, time)

    def test_work_is_allowed_up_to_the_share_that_is_left(self):
        time, clock = self.clock()
        assert clock.allows(9.9)
        assert not clock.allows(10.0)
        time.now = 4.0
        assert clock.allows(0.9, share=0.5)
        assert not clock.allows(1.1, share=0.5)
        assert Clock().allows(1e300)

    def test_equal_parts_of_the_time_left(self):
        time, clock = self.clock()
        time.now = 4.0
        part = clock.shared(3)
        assert part.left == 2.0
        time.now = 6.0
        assert part.passed
        assert not clock.passed
        assert clock.left == 4.0
        assert part.seconds == clock.seconds == 6.0
        time.now = 20.0
        assert clock.shared(2).left == 0.0
        assert Clock().shared(2).left is None

    def test_a_share_ends_earlier_and_names_the_same_limit(self):
        time, clock = self.clock()
        half = clock.until(0.5)
        assert half.left == 5.0
        time.now = 5.0
        with pytest.raises(TimeLimitReached):
            half.check()
        clock.check()
        assert half.reason(TimeLimitReached()) == clock.reason(TimeLimitReached())
        assert Clock().until(0.1).left is None

    def test_the_pace_is_that_of_the_last_solve_that_took_any_time(self):
        pace = Pace()
        assert not pace.measured
        pace.measure(2.0, 6.0)
        pace.measure(1.0, 1e-6)  # too short to tell anything
        assert pace.seconds(5.0) == 15.0
