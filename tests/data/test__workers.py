"""Workers: what happens to them is told, and a fault of ours stays one."""

import os
import signal

import pytest

from medldr.data._workers import ahead
from medldr.errors import InputError


def test_a_worker_that_is_killed_is_told_with_what_to_do():
    def die(number):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(InputError, match=r"a worker process was killed.*machine\.workers"):
        list(ahead(die, [0, 1], 1))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("fault", [ZeroDivisionError, RuntimeError])
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
