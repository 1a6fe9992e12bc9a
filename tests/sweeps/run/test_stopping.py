"""Signals that ask a sweep to stop."""

import signal
import threading
import time

from medldr.sweeps.run.stopping import StopWatch, SweepStopped


def test_the_first_signal_counts_and_more_are_counted():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with StopWatch().watching() as watch:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert (watch.received, watch.count) == (signal.SIGINT, 2)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_waiting_ends_with_a_signal():
    watch = StopWatch()
    began = time.monotonic()
    watch.wait(0.15)
    assert time.monotonic() - began >= 0.15
    watch.note(signal.SIGINT)
    began = time.monotonic()
    watch.wait(60)
    assert time.monotonic() - began < 30


def test_another_thread_can_run_a_sweep_but_not_take_signals():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with StopWatch().watching() as watch:
            seen.append((signal.getsignal(signal.SIGINT) is before, watch.received))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(True, 0)]


def test_the_exit_code_is_that_of_the_signal():
    stopped = SweepStopped(signal.SIGTERM, 3, 2)
    assert str(stopped) == "stopped: 3 done, 2 interrupted. Run the same command to resume"
    assert stopped.signum == signal.SIGTERM
