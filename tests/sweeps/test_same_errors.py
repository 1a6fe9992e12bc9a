"""Equal errors of many runs are reported once, with the runs' names."""

from medldr.sweeps.same_errors import error_lines, group_same_errors, some_runs


def test_equal_errors_are_one_group_in_the_order_of_their_first():
    errors = {f"r{n}": ["one", "other", "one", "third"][n % 4] for n in range(8)}
    assert list(group_same_errors(errors).items()) == [
        ("one", ["r0", "r2", "r4", "r6"]),
        ("other", ["r1", "r5"]),
        ("third", ["r3", "r7"]),
    ]


def test_the_first_three_names_are_told():
    assert some_runs(["a"]) == "1 run: a"
    assert some_runs(["a", "b", "c"]) == "3 runs: a, b, c"
    assert some_runs([*"abcdefghijkl"]) == "12 runs: a, b, c and 9 more"


def test_a_run_that_failed_alone_stands_before_its_error():
    assert error_lines({}) == []
    assert error_lines({"a": "x", "b": "y", "c": "y"}) == ["a: x", "y", "  2 runs: b, c"]


def test_many_different_errors_are_cut():
    lines = error_lines({f"r{n}": f"error {n}" for n in range(8)})
    assert lines[:5] == [f"r{n}: error {n}" for n in range(5)]
    assert lines[5:] == ["and 3 more (`medldr sweep status` lists them all)"]
