"""The first signal is noted, the second acts as ever, and handlers are given back."""

import signal
import threading

import pytest

from medldr.folders.signals import SIGNALS, handling
from medldr.training.machine.signals import SignalWatch


def test_a_run_ends_on_the_keyboard_a_scheduler_a_closed_terminal_and_sbatch_signal():
    assert {s.name for s in SIGNALS} == {"SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"}


def test_a_hangup_that_nohup_ignores_stays_ignored():
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handling(SIGNALS, lambda number, frame: None):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL
        assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, previous)


@pytest.mark.parametrize("signum", SIGNALS)
def test_the_first_signal_is_only_noted_and_the_second_acts(signum):
    seen = []
    previous = signal.signal(signum, lambda number, frame: seen.append(number))
    try:
        with SignalWatch() as watch:
            signal.raise_signal(signum)
            assert watch.received == signum
            assert seen == []
            signal.raise_signal(signum)
            assert seen == [signum]
    finally:
        signal.signal(signum, previous)


def test_handlers_are_given_back_also_after_an_error():
    before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(ZeroDivisionError), SignalWatch():
        _ = 1 / (signal.getsignal(signal.SIGTERM) in before)
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == before


def test_another_thread_watches_nothing_and_does_not_fail():
    found = []

    def work():
        with SignalWatch() as watch:
            found.append(watch.received)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [0]
