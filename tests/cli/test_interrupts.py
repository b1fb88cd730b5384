"""Detection of Ctrl-C."""

import signal

import pytest

from gramian.cli.interrupts import noticing_interrupts


@pytest.mark.usefixtures("ctrl_c")
def test_interrupts_are_noticed_and_the_handler_goes_back():
    before = signal.getsignal(signal.SIGINT)
    with noticing_interrupts() as interrupted:
        assert not interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert interrupted()
    assert signal.getsignal(signal.SIGINT) is before
