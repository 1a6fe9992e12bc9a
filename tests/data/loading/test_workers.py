"""Workers: what happens to them is reported, and a fault of ours stays one."""

import multiprocessing
import os
import signal
import time

import pytest
import torch

from medldr.data.loading.workers import ahead
from medldr.errors import InputError


@pytest.mark.slow  # kills
@pytest.mark.parametrize("make", [int, torch.tensor], ids=["plain", "shared memory"])
def test_a_worker_that_is_killed_is_told_where_its_batch_is_waited_for(make):
    made = ahead(make, range(50), 1)
    assert next(made) == 0
    (worker,) = multiprocessing.active_children()
    time.sleep(0.5)  # killed while it waits for work: within a lock of torch's it would keep that
    os.kill(worker.pid, signal.SIGKILL)
    worker.join(10)
    sum(range(100_000))  # what is computed meanwhile is not disturbed
    with pytest.raises(InputError, match=r"a worker process was killed.*machine\.workers"):
        list(made)
    assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL


@pytest.mark.parametrize(("fault", "workers"), [(ZeroDivisionError, 0), (OSError, 0), (OSError, 1)])
def test_a_fault_of_ours_in_a_worker_is_no_input_error(workers, fault):
    def fail(number):
        raise fault("one of ours")

    with pytest.raises(fault, match="one of ours"):
        list(ahead(fail, [0], workers))


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_the_user_keeps_its_words_and_results_their_order(workers):
    def work(number):
        if number == 3:
            raise InputError("picture 3 cannot be used")
        return number * number

    made = ahead(work, range(5), workers)
    assert [next(made) for _ in range(3)] == [0, 1, 4]
    with pytest.raises(InputError, match=r"^picture 3 cannot be used$"):
        next(made)
