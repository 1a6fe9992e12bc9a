"""A pickle is read as data: whatever would call something is refused, and nothing is called."""

import builtins
import copyreg
import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest

from medldr.datasets._cifar.plain_pickle import read_plain_pickle
from medldr.errors import InputError


class Attack:
    """Asks to call something when it is read."""

    def __init__(self, function, *arguments):
        self.answer = function, arguments

    def __reduce__(self):
        return self.answer


def refusal(content):
    with pytest.raises(InputError) as caught:
        read_plain_pickle(content, "folder/train")
    assert str(caught.value).startswith("folder/train ")
    return str(caught.value)


# ---------------------------------------------------------------- plain values


@pytest.mark.parametrize(
    "value",
    [
        {"labels": list(range(300)), "names": ["a", "b"], "count": 70_000, "none": None},
        {"yes": True, "no": False, "pair": (1, 2), "three": (1, 2, 3), "four": (1, 2, 3, 4)},
        {"empty": [], "nothing": {}, "within": {"a": [1]}, "ends": ()},
        {"accents": "Ω é", "long": "x" * 300, "negative": -5},
    ],
)
def test_plain_values_are_as_pythons_own_reader_has_them(value):
    assert read_plain_pickle(pickle.dumps(value, protocol=2), "train") == value


def test_bytes_are_texts_and_arrays_are_arrays():
    data = np.random.default_rng(0).integers(0, 256, (7, 12), dtype=np.uint8)
    given = {b"labels": [1, 2], b"names": [b"apple"], b"data": data, b"turned": data.T}
    found = read_plain_pickle(pickle.dumps(given, protocol=2), "train")
    assert list(found) == ["labels", "names", "data", "turned"]
    assert found["names"] == ["apple"]
    assert np.array_equal(found["data"], data)
    assert np.array_equal(found["turned"], data.T)
    assert found["data"].dtype == np.uint8


# ---------------------------------------------------------------- attacks


def test_what_pythons_own_reader_would_run_is_not_run(tmp_path):
    made = tmp_path / "made"
    content = pickle.dumps({"data": Attack(os.mkdir, str(made)), "labels": [1]}, protocol=2)
    pickle.loads(content)
    assert made.is_dir()
    made.rmdir()
    assert "mkdir" in refusal(content)
    assert not made.exists()


@pytest.mark.parametrize("place", ["alone", "in a dict", "in a list"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_calls_something_is_refused(place, protocol):
    attacks = [
        Attack(os.system, "true"),
        Attack(eval, "1"),
        Attack(exec, "import os"),
        Attack(getattr, "text", "upper"),
        Attack(builtins.__import__, "os"),
        Attack(copyreg._reconstructor, list, object, None),
        Attack(np.load, "file.npy"),
        Attack(bytearray, 5),
        OrderedDict(a=1),
        {1, 2},
        np.float64(1.5),
        complex(1, 2),
    ]
    for attack in attacks:
        value = {
            "alone": attack,
            "in a dict": {"labels": [1], "data": attack},
            "in a list": {"labels": [1, attack]},
        }[place]
        assert "plain data" in refusal(pickle.dumps(value, protocol))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        (b"\x80\x02cposix\nsystem\nU\x04true\x85R.", "posix.system"),
        (b"\x80\x02c__builtin__\neval\nU\x011\x85R.", "__builtin__.eval"),
        (b"\x80\x02cnumpy\nload\nU\x011\x85R.", "numpy.load"),
        (b"\x80\x02cnumpy.core.multiarray\nfromfile\n.", "numpy.core.multiarray.fromfile"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "os.system"),
        (b"(S'true'\nios\nsystem\n.", "os.system"),
        (b"(cos\nsystem\nS'true'\no.", "os.system"),
        (b"\x80\x02\x82\x01.", "extension code 1"),
        (b"Pidentity\n.", "persistent id"),
    ],
)
def test_what_is_asked_for_is_named(content, named):
    assert named in refusal(content)


def test_names_of_arrays_cannot_be_put_to_other_uses():
    # The few names that are known, called with arguments or states that no array has.
    for content in (
        b"\x80\x02cnumpy\nndarray\nK\x05\x85R.",  # an array type as a function
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\ndtype\nK\x00\x85U\x01b\x87R.",
        b"\x80\x02c_codecs\nencode\nU\x01aU\x04utf8\x86R.",
        b"\x80\x02c_codecs\nencode\n.",
        b"\x80\x02cnumpy\ndtype\n}U\x01aK\x01sb.",  # a state for a name
        b"\x80\x02c_codecs\nencode\n}U\x01aK\x01sb.",
        b"\x80\x02}cnumpy\ndtype\n}U\x01aK\x01sb0.",  # beside which nothing else is wrong
        b"\x80\x02cnumpy\nndarray\n)\x81.",  # an array that nothing fills
        b"\x80\x02]}U\x01aK\x01sb.",  # a state for a list
        b"\x80\x02K\x01K\x02\x85R.",  # a call of a number
    ):
        assert "plain data" in refusal(content)


def test_arrays_of_objects_and_of_other_numbers_are_refused():
    for array in (np.array([{}, 1], dtype=object), np.zeros((2, 2)), np.array(["a"])):
        found = refusal(pickle.dumps({"data": array}, 2))
        assert "plain data" in found
    assert "an array of type 'f8'" in refusal(pickle.dumps({"data": np.zeros((2, 2))}, 2))


# ---------------------------------------------------------------- damage


def test_every_cut_is_refused():
    data = np.arange(24, dtype=np.uint8).reshape(2, 12)
    whole = pickle.dumps({b"labels": [1, 2], b"data": data, b"names": [b"a"]}, 2)
    for end in range(len(whole)):
        refusal(whole[:end])


@pytest.mark.parametrize(
    "content",
    [
        b".", b"0.", b"\x80\x02t.", b"\x80\x02(.", b"h\x05.", b"\x80\x02}K\x01\x87.",
        b"\x80\x02}(K\x01u.", b"\x80\x02K\x05a.", b"\x80\x02T\xff\xff\xff\x7fabc.",
        b"\x80\x02T\xff\xff\xff\xffabc.", b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.",
        b"\x80\x02}]K\x01s.", b"\x80\x02}K\x01K\x01s.", b"not a pickle", b"\x00" * 100,
    ],
)  # fmt: skip
def test_nonsense_is_refused(content):
    refusal(content)


def test_values_that_hold_themselves_are_refused():
    endless = {}
    endless["self"] = endless
    assert "plain data" in refusal(pickle.dumps(endless, 2))


def test_an_array_whose_values_do_not_fill_it_is_refused():
    content = pickle.dumps({"data": np.zeros((2, 5), np.uint8)}, 2)
    assert b"K\x02K\x05\x86" in content
    for shape in (b"K\x02K\x06\x86", b"K\x09K\x09\x86"):
        refusal(content.replace(b"K\x02K\x05\x86", shape))
