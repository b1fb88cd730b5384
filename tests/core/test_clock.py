"""The clock of fits and solvers."""

import pytest

from gramian.core.clock import Clock, TimeLimitReached


def test_a_clock_without_limit_never_passes():
    clock = Clock()
    clock.check()
    clock.check(share=0.0)
    assert clock.left is None
    assert not clock.passed
    assert clock.seconds >= 0


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
