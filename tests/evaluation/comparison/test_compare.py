"""Comparison of runs: paired draws, seeds as runs of one method, honest differences."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.stats
from scipy.special import expit

from medldr.errors import InputError
from medldr.evaluation import compare, load_run, predictions_of
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.inference import holm
from medldr.evaluation.intervals.single_run import wilson
from medldr.folders.files import RunFolder
from medldr.folders.owner import owned


def split(skill, seed, name="test", n=120, offset=0):
    """Predictions of a method with a given skill on the same 120 items of 30 patients."""
    label = np.random.default_rng(7).integers(0, 3, n)
    logits = np.random.default_rng(seed).normal(size=(n, 3))
    logits[np.arange(n), label] += skill
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return predictions_of(
        "multi-class",
        label,
        prob,
        split=name,
        ids=[f"i{offset + i}" for i in range(n)],
        group=[f"p{(offset + i) // 4}" for i in range(n)],
        domain=[f"{name}_h{(i // 4) % 2}" for i in range(n)],
    )


@pytest.fixture(scope="module")
def study(kept_run_folder):
    """Two methods, three seeds each, and a third method of one seed."""
    folders = []
    for label, skill, seeds in (("erm", 0.8, 3), ("latentdr", 1.4, 3), ("mixup", 0.8, 1)):
        for seed in range(seeds):
            number = 10 * seed + int(10 * skill)
            seen = split(skill + 1.0, number + 100, "id_test", 80, 500)
            tables = {"id_test": seen, "test": split(skill, number)}
            name = f"{label}-{seed}"
            folders.append(kept_run_folder(name, tables, label=label, identity=label, seed=seed))
    return folders


@pytest.fixture(scope="module")
def compared(study):
    return compare(study)


def pick(found, **wanted):
    (row,) = [r for r in found["rows"] if all(r[k] == v for k, v in wanted.items())]
    return row


def test_mean_and_sd_are_over_seeds(compared, study):
    json.dumps(compared, allow_nan=False)
    row = pick(compared, split="test", domain=None, metric="accuracy", method="latentdr")
    values = []
    for folder in study[3:6]:
        table = load_run(folder).predictions["test"]
        values.append((table.prob.argmax(1) == table.label).mean())
    assert row["values"] == pytest.approx(values, abs=1e-12)
    assert row["mean"] == pytest.approx(np.mean(values), abs=1e-12)
    assert row["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert row["runs"] == 3
    alone = pick(compared, split="test", domain=None, metric="accuracy", method="mixup")
    assert (alone["runs"], alone["sd"]) == (1, None)


def test_the_paired_difference_equals_the_analysis_written_out(compared, study):
    """Loops over draws, the same groups for every run, then the sums of the analysis by hand."""
    runs = {
        m: [load_run(f).predictions["test"] for f in study[a:b]]
        for m, (a, b) in {"erm": (0, 3), "latentdr": (3, 6)}.items()
    }
    patients = np.unique(runs["erm"][0].group)
    hits = {m: np.stack([(t.prob.argmax(1) == t.label) for t in ts]) for m, ts in runs.items()}
    (groups,) = bootstrap.group_weights(30, 200, bootstrap.stream(0, "test"))
    rows_of = [np.flatnonzero(np.char.equal(runs["erm"][0].group, "p" + p[1:])) for p in patients]
    order = np.argsort(np.char.add("g:", patients))
    drawn = {m: np.empty((3, 200)) for m in runs}
    for b in range(200):
        rows = np.concatenate([np.repeat(rows_of[order[g]], int(groups[g, b])) for g in range(30)])
        for m in runs:
            drawn[m][:, b] = hits[m][:, rows].mean(axis=1)
    row = pick(compared, split="test", domain=None, metric="accuracy", method="latentdr")
    factor = 30 / 29

    def seeds(m):
        each = factor * drawn[m].var(axis=1).mean()
        of_mean = factor * drawn[m].mean(axis=0).var()
        return hits[m].mean(axis=1).var(ddof=1) / 3, max(0, (each - of_mean) / 2)

    (s1, c1), (s0, c0) = seeds("latentdr"), seeds("erm")
    paired = drawn["latentdr"].mean(axis=0) - drawn["erm"].mean(axis=0)
    items = factor * paired.var()
    variance = items + max(0, s1 + s0 - c1 - c0)
    df_seeds = 2 * (s1 + s0) / (s1**2 + s0**2) ** 0.5
    df = max(variance**2 / ((s1 + s0) ** 2 / df_seeds + items**2 / 29), df_seeds)
    value = row["difference"]["value"]
    law = scipy.stats.t(df)
    half = law.ppf(0.975) * variance**0.5
    assert row["difference"]["low"] == pytest.approx(value - half, abs=1e-10)
    assert row["difference"]["high"] == pytest.approx(value + half, abs=1e-10)
    p = 2 * law.sf(abs(value) / variance**0.5)
    assert row["difference"]["p"] == pytest.approx(p, abs=1e-10)
    share = max(0, s1 + s0 - c1 - c0) / variance
    assert row["difference"]["share_of_seeds"] == pytest.approx(share, abs=1e-10)


def test_holm_is_within_a_column_and_the_reference_has_no_difference(compared):
    for metric in ("accuracy", "auc"):
        rows = [
            r
            for r in compared["rows"]
            if (r["split"], r["domain"], r["metric"]) == ("test", None, metric)
        ]
        assert [r["method"] for r in rows] == ["erm", "latentdr", "mixup"]
        assert rows[0]["difference"] is None
        p = {r["method"]: r["difference"]["p"] for r in rows[1:]}
        expected = holm(p)
        assert {r["method"]: r["difference"]["p_holm"] for r in rows[1:]} == expected
        known = [r["difference"] for r in rows[1:] if r["difference"]["p"] is not None]
        assert known
        assert all(each["p_holm"] >= each["p"] for each in known)


def test_a_control_has_a_p_but_no_part_in_the_correction(compared, study):
    plain, apart = compared, compare(study, controls=["latentdr"])
    where = {"split": "test", "domain": None, "metric": "accuracy", "method": "latentdr"}
    assert pick(apart, **where)["difference"]["p"] == pick(plain, **where)["difference"]["p"]
    assert pick(apart, **where)["difference"]["p_holm"] is None


def test_a_single_seed_has_no_p_and_an_oracle_has_none(study, run_folder):
    found = compare(study[:3] + study[3:4])
    for row in found["rows"]:
        if row["method"] == "latentdr":
            assert row["difference"]["p"] is row["difference"]["p_holm"] is None
            assert row["difference"]["share_of_seeds"] is None
    tables = {seed: {"test": split(1.0, seed)} for seed in range(4)}
    peeking = {"rule": "oracle_auc", "split": "test", "oracle": True}
    runs = [run_folder(f"a{seed}", tables[seed], seed=seed) for seed in (0, 1)]
    runs += [
        run_folder(
            f"o{seed}", tables[seed + 2], label="o", identity="2", seed=seed, selection=peeking
        )
        for seed in (0, 1)
    ]
    row = pick(compare(runs), split="test", domain=None, metric="auc", method="o (oracle)")
    assert row["difference"]["low"] is not None
    assert row["difference"]["p"] is None


def test_a_better_method_is_found_and_an_equal_one_is_not(compared):
    better = pick(compared, split="test", domain=None, metric="auc", method="latentdr")[
        "difference"
    ]
    equal = pick(compared, split="test", domain=None, metric="auc", method="mixup")["difference"]
    assert better["low"] > 0
    assert better["p_holm"] < 0.05
    assert equal["low"] < 0 < equal["high"]


def test_the_same_predictions_differ_by_exactly_nothing(run_folder):
    tables = {"test": split(1.0, 3)}
    one = run_folder("a", tables, label="a", identity="1")
    other = run_folder("b", tables, label="b", identity="2")
    for row in compare([one, other])["rows"]:
        if row["method"] == "b":
            assert row["difference"]["value"] == 0
            assert (row["difference"]["low"], row["difference"]["high"]) == (None, None)
            assert row["difference"]["reason"].startswith("no interval")


def test_pairing_makes_the_difference_surer_than_two_separate_intervals(run_folder):
    first = split(1.0, 3)
    prob = first.prob.copy()
    prob[:6] = np.eye(3)[first.label[:6]]
    tables = {"a": first, "b": dataclasses.replace(first, prob=prob)}
    folders = [run_folder(k, {"test": t}, label=k, identity=k) for k, t in tables.items()]
    row = pick(compare(folders), split="test", domain=None, metric="accuracy", method="b")
    paired = row["difference"]["high"] - row["difference"]["low"]
    assert paired < 0.7 * (row["high"] - row["low"])


def test_any_method_can_be_the_reference(study):
    found = compare(study, reference="latentdr")
    assert found["reference"] == "latentdr"
    assert (
        pick(found, split="test", domain=None, metric="auc", method="erm")["difference"]["high"] < 0
    )
    for given in ("latendr", "lat"):
        with pytest.raises(InputError, match="Did you mean 'latentdr'"):
            compare(study, reference=given)


def test_contrasts_are_one_minus_the_other_in_the_draws_of_the_differences(compared, study):
    """Against the same pair with its second method as the reference, and Holm by hand."""
    pairs = [("latentdr", "mixup"), ("erm", "mixup"), ("latentdr", "erm")]
    found = compare(study, contrasts=pairs)
    other = compare(study, reference="mixup")
    for metric in ("accuracy", "nll"):
        rows = [
            r
            for r in found["contrasts"]
            if (r["split"], r["domain"], r["metric"]) == ("test", None, metric)
        ]
        assert [(r["method"], r["minus"]) for r in rows] == pairs
        for row in rows[:2]:
            same = pick(other, split="test", domain=None, metric=metric, method=row["method"])
            for key in ("value", "low", "high", "p"):
                assert row[key] == pytest.approx(same["difference"][key], abs=1e-12)
        expected = holm({f"{r['method']} {r['minus']}": r["p"] for r in rows})
        assert [r["p_holm"] for r in rows] == list(expected.values())
    with pytest.raises(InputError, match="Did you mean 'mixup'"):
        compare(study, contrasts=[("erm", "mixupp")])
    assert compared["contrasts"] == []


def test_recall_of_each_class_is_a_mean_over_seeds_with_its_interval(compared, study):
    tables = [load_run(folder).predictions["test"] for folder in study[:3]]
    for number, name in enumerate(tables[0].class_names):
        (row,) = [
            r
            for r in compared["classes"]
            if (r["split"], r["class"], r["method"]) == ("test", name, "erm")
        ]
        there = tables[0].label == number
        recalls = [(t.prob[t.label == number].argmax(1) == number).mean() for t in tables]
        assert row["metric"] == "recall"
        assert row["n"] == there.sum()
        assert row["values"] == pytest.approx(recalls, abs=1e-12)
        assert row["mean"] == pytest.approx(np.mean(recalls), abs=1e-12)
        assert row["sd"] == pytest.approx(np.std(recalls, ddof=1), abs=1e-12)
        assert 0 <= row["low"] < row["mean"] < row["high"] <= 1


def test_recall_of_a_class_that_does_not_occur_is_undefined_with_a_reason(run_folder):
    prob = np.random.default_rng(0).dirichlet(np.ones(3), 30)
    table = predictions_of("multi-class", [0, 1] * 15, prob)
    (row,) = [r for r in compare([run_folder("a", {"test": table})])["classes"] if r["n"] == 0]
    assert (row["mean"], row["reason"]) == (None, "no such class in the labels")


def test_gaps_are_seen_minus_unseen(compared):
    (gap,) = [g for g in compared["gaps"] if g["metric"] == "accuracy" and g["method"] == "erm"]
    inside, outside = (
        pick(compared, split=s, domain=None, metric="accuracy", method="erm")["mean"]
        for s in ("id_test", "test")
    )
    assert gap["value"] == pytest.approx(inside - outside, abs=1e-12)
    assert 0 < gap["low"] < gap["value"] < gap["high"]


def test_seen_items_that_follow_the_seed_are_not_compared_and_the_note_says_so(run_folder):
    def run(seed, offset):
        tables = {"id_val": split(2.0, seed, "id_val", 40, offset), "test": split(0.8, seed)}
        name = f"erm-{seed}-{offset}"
        return run_folder(name, tables, label="erm", identity="erm", seed=seed)

    first = run(0, 500)
    same = compare([first, run(1, 500)])
    assert same["gaps"]
    assert not any("id_val" in note for note in same["notes"])
    other = compare([first, run(1, 504)])
    assert not other["gaps"]
    assert any(
        "id_val: not compared, because its items differ between runs" in note
        for note in other["notes"]
    )


def test_seen_test_items_that_follow_the_seed_do_not_keep_the_unseen_domain_out(run_folder):
    def run(label, seed, offset):
        tables = {"id_test": split(2.0, seed, "id_test", 40, offset), "test": split(0.8, seed)}
        name = f"{label}-{seed}-{offset}"
        return run_folder(name, tables, label=label, identity=label, seed=seed)

    seeds = [run(label, seed, 500 + seed) for label in ("erm", "other") for seed in (0, 1)]
    found = compare(seeds)
    assert set(found["splits"]) == {"test"}
    assert not found["gaps"]
    assert [n for n in found["notes"] if n.startswith("id_test: not compared")]
    fixed = compare([run(label, seed, 600) for label in ("erm", "other") for seed in (0, 1)])
    assert set(fixed["splits"]) == {"test", "id_test"}
    # Methods that differ in it under one seed were not given the same data, which is a mistake.
    with pytest.raises(InputError, match="their id_test items differ"):
        compare([*seeds[:3], run("other", 1, 700)])


def test_domains_have_rows_and_the_worst_has_its_own(compared):
    rows = [
        pick(compared, split="test", domain=d, metric="accuracy", method="erm")
        for d in ("test_h0", "test_h1")
    ]
    assert all(r["low"] <= r["mean"] <= r["high"] for r in rows)
    assert all(r["seen"] is False and r["few_groups"] for r in rows)
    worst = pick(compared, split="test", domain=None, metric="worst_domain", method="erm")
    lowest = np.min([r["values"] for r in rows], axis=0)
    assert worst["values"] == pytest.approx(lowest.tolist(), abs=1e-12)
    assert worst["seen"] is None
    assert compared["splits"]["test"]["domains"]["test_h0"] == {
        "n": 60,
        "n_groups": 15,
        "few_groups": True,
        "unit": "group",
        "class_shares": {"0": 0.3, "1": 0.35, "2": 0.35},
    }


def test_runs_of_one_label_but_two_configurations_are_two_methods(run_folder):
    a = run_folder("a", {"test": split(1.0, 1)}, identity="1111")
    b = run_folder("b", {"test": split(1.0, 2)}, identity="2222")
    assert [m["method"] for m in compare([a, b])["methods"]] == ["erm (1111)", "erm (2222)"]


def test_an_oracle_is_called_one_in_every_row(run_folder):
    a = run_folder("a", {"test": split(1.0, 1)})
    chosen = {"rule": "oracle_auc", "oracle": True}
    b = run_folder("b", {"test": split(1.0, 2)}, label="dr", identity="2", selection=chosen)
    found = compare([a, b])
    assert {r["method"] for r in found["rows"]} == {"erm", "dr (oracle)"}
    assert [m["oracle"] for m in found["methods"]] == [False, True]


def ran(torch="2.14", changed=False, device="cpu", gpus=()):
    provenance = {
        "packages": {"medldr": "0.1.0", "torch": torch},
        "git": {"commit": "a" * 40, "changed": changed},
        "hardware": {"gpus": list(gpus)},
    }
    return {"provenance": provenance, "device": device}


DIRTY = "git aaaaaaaa and aaaaaaaa with uncommitted changes"
WILDS = {"protocol": "camelyon17-wilds"}
PLAIN = {"lr": 0.002, "batch_size": 32, "steps": 168, "sampler": "shuffle"}
BLOCKS = {"lr": 0.001, "batch_size": 30, "steps": 180, "sampler": "domains"}
TRAINED = "Trained differently from the reference (its value in parentheses):"
FACTS = {  # runs of each method, the reference first, and what is said of each method
    "data and precision": (
        {"a": [{}], "b": [{"precision": "bfloat16", "split_hash": "t"}]},
        {"b": ["precision differs: b-0 has bfloat16; a-0 has float32.",
               "split_hash differs: b-0 has t; a-0 has s."]},
    ),
    "splits that follow the seed": (
        {"a": [{"split_hash": "s"}, {"split_hash": "t"}],
         "b": [{"split_hash": "s"}, {"split_hash": "t"}],
         "odd": [{"split_hash": "s"}, {"split_hash": "s"}]},
        {"odd": ["split_hash differs: odd-1 has s; a-1 has t."]},
    ),
    "training": (  # the number of steps is what early stopping decides on, where it does
        {"a": [PLAIN], "half": [PLAIN | {"lr": 0.001}], "cross": [BLOCKS], "silent": [{}],
         "early": [PLAIN | {"steps": 90, "stopped_early": True}]},
        {"half": [f"{TRAINED} learning rate 0.001 (0.002)."],
         "cross": [f"{TRAINED} learning rate 0.001 (0.002), 30 images per step (32), "
                   "180 steps (168), sampler domains (shuffle)."]},
    ),
    "code and device": (
        {
            "a": [ran()], "old": [ran("2.8")], "older": [ran("2.8")], "silent": [{}],
            "mixed": [ran(), ran(changed=True, device="cuda", gpus=["H100"])],
            "outside": [ran() | {"provenance": {"packages": {"torch": "2.14"}, "git": None}}],
        },
        {
            "old": ["torch 2.8 (reference: 2.14)"], "older": ["torch 2.8 (reference: 2.14)"],
            "mixed": [f"{DIRTY} (reference: aaaaaaaa); device CPU and H100 (reference: CPU)"],
            "outside": ["git none (reference: aaaaaaaa)"],
        },
    ),
    "a reference of several states": (
        {"a": [ran(), ran(changed=True)], "b": [ran(), ran(changed=True)],
         "late": [ran(changed=True)]},
        {"a": [f"{DIRTY} (among its own runs)"], "b": [f"{DIRTY} (among its own runs)"],
         "late": ["git aaaaaaaa with uncommitted changes "
                  "(reference: aaaaaaaa and aaaaaaaa with uncommitted changes)"]},
    ),
    "protocol and augmentation": (  # of which a run may not record any
        {"a": [WILDS | {"augmentation": "none"}], "silent": [WILDS],
         "pinned": [{"protocol": "camelyon17-wilds+modified", "augmentation": "none"}],
         "c": [{"protocol": "camelyon17-fish", "augmentation": "targeted"}],
         "e": [WILDS | {"augmentation": "targeted+modified"}]},
        {"pinned": [f"{TRAINED} protocol camelyon17-wilds+modified (camelyon17-wilds)."],
         "c": ["protocol differs: c-0 has camelyon17-fish; a-0 has camelyon17-wilds.",
               "augmentation differs: c-0 has targeted; a-0 has none."],
         "e": ["augmentation differs: e-0 has targeted+modified; a-0 has none."]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_methods_that_differ_although_they_should_not_have_footnotes(run_folder, name):
    runs, said = FACTS[name]
    folders = [
        run_folder(
            f"{m}-{seed}", {"test": split(1.0, seed)}, label=m, identity=m, seed=seed, **fact
        )
        for m, facts in runs.items()
        for seed, fact in enumerate(facts)
    ]
    found = compare(folders)
    texts = {
        m["method"]: [found["footnotes"][n - 1] for n in m["footnotes"]] for m in found["methods"]
    }
    assert texts == {method: said.get(method, []) for method in runs}
    assert len(found["footnotes"]) == len({text for notes in said.values() for text in notes})
    same = [m["same_protocol"] for m in found["methods"]]
    assert all(same) == (name != "protocol and augmentation")


def test_every_row_of_recalibrated_probabilities_is_marked(run_folder):
    folders = []
    for place, (label, temperatures) in enumerate(
        {"a": [2.0, 2.1], "b": [2.2, None], "c": [None]}.items()
    ):
        for seed, value in enumerate(temperatures):
            folder = run_folder(
                f"{label}-{seed}",
                {"test": split(1.0, seed + place)},
                label=label,
                identity=label,
                seed=seed,
            )
            path = RunFolder(folder).evaluation
            made = {
                "method": "temperature",
                "temperature": value,
                "reason": None if value else "why",
            }
            path.write_text(json.dumps(json.loads(path.read_text()) | {"recalibration": made}))
            folders.append(folder)
    found = compare(folders)
    texts = [[found["footnotes"][n - 1] for n in m["footnotes"]] for m in found["methods"]]
    assert [len(notes) for notes in texts] == [1, 1, 0]
    assert texts[0][0].startswith("Probabilities recalibrated, each run")
    assert texts[1][0].startswith("Probabilities recalibrated in 1 of 2 runs")


def test_pairs_are_of_all_methods_that_compete_as_contrasts_of_them_are(
    compared, study, run_folder
):
    tables = {"id_test": split(2.0, 7, "id_test", 80, 500), "test": split(2.0, 8)}
    chosen = {"rule": "oracle_auc", "oracle": True}
    peeking = run_folder("p", tables, label="peeking", identity="p", selection=chosen)
    found = compare([*study, peeking], controls=["mixup"], contrasts=[("erm", "latentdr")])
    assert {(p["method"], p["minus"]) for p in found["pairs"]} == {("erm", "latentdr")}
    asked = {(c["split"], c["metric"]): c for c in found["contrasts"] if c["domain"] is None}
    assert found["pairs"]
    for pair in found["pairs"]:
        other = asked[pair["split"], pair["metric"]]
        assert {**pair, "p_holm": None} == {**other, "p_holm": None}
    assert "ece" not in {pair["metric"] for pair in found["pairs"]}
    assert {(p["method"], p["minus"]) for p in compared["pairs"]} == {
        ("erm", "latentdr"), ("erm", "mixup"), ("latentdr", "mixup"),
    }  # fmt: skip


def test_runs_that_predict_one_class_or_miss_one_are_listed(run_folder):
    good = split(3.0, 1)
    one = dataclasses.replace(good, prob=np.tile([0.2, 0.5, 0.3], (len(good), 1)))
    never = np.where(np.arange(3) == 2, 0.0, good.prob + 0.01)
    lost = dataclasses.replace(good, prob=never / never.sum(axis=1, keepdims=True))
    folders = [
        run_folder(f"r{seed}", {"test": table}, seed=seed)
        for seed, table in enumerate([good, one, lost])
    ]
    counts = np.bincount(good.label, minlength=3).tolist()
    assert compare(folders)["degenerate"] == [
        {"split": "test", "method": "erm", "seed": 1, "only": "1",
         "lost": (("0", counts[0]), ("2", counts[2]))},
        {"split": "test", "method": "erm", "seed": 2, "only": "", "lost": (("2", counts[2]),)},
    ]  # fmt: skip


def test_runs_without_a_result_are_listed_with_the_reason(run_folder):
    good = run_folder("good", {"test": split(1.0, 1)})
    failed = run_folder("failed", {}, status="failed", error="ValueError: no")
    running = run_folder("running", {}, status="running")
    killed = run_folder("killed", {}, status="running")
    gone = run_folder("gone", {"test": split(1.0, 2)}, seed=1)
    (gone / "predictions.csv").unlink()
    with owned(RunFolder(running)):
        found = compare([good, failed, running, killed, gone])
    reasons = {m["run"]: m["reason"] for m in found["missing"]}
    assert reasons["failed"] == "failed: ValueError: no"
    assert reasons["running"] == "running"
    assert reasons["killed"] == "interrupted"
    assert "missing: predictions.csv; run `medldr evaluate" in reasons["gone"]
    with pytest.raises(InputError, match="none of the 2 runs has a result"):
        compare([failed, running])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.select(np.arange(119)), r"test items differ \(120 and 119 items; .*i119\)"),
        (lambda t: dataclasses.replace(t, label=(t.label + 1) % 3), "the label of test item i0"),
        (lambda t: dataclasses.replace(t, group=t.id), "the group of test item i0"),
        (lambda t: dataclasses.replace(t, class_names=("x", "y", "z")), "they differ in classes"),
    ],
)
def test_runs_scored_on_other_items_are_refused(run_folder, change, said):
    table = split(1.0, 1)
    a = run_folder("a", {"test": table})
    b = run_folder("b", {"test": change(table)}, seed=1)
    with pytest.raises(InputError, match="a and b cannot be compared") as error:
        compare([a, b])
    assert error.match(said)


def test_runs_scored_for_another_positive_class_are_compared_for_that_of_the_first(
    run_folder, make
):
    table = make("binary", n=40, class_names=("normal", "tumour"))
    first = run_folder("first", {"test": table}, label="a", identity="a")
    other = run_folder(
        "other", {"test": table}, label="b", identity="b", config={"positive_class": "normal"}
    )
    found = compare([first, other])
    assert "the positive class of every run is tumour here, as of first" in found["notes"][0]
    one, two = (pick(found, method=m, metric="sensitivity", domain=None) for m in "ab")
    assert one["mean"] == two["mean"]
    assert not compare([first])["notes"]


def test_the_same_run_twice_is_refused(study):
    with pytest.raises(InputError, match="erm with seed 0 is given more than once"):
        compare([study[0], study[0]])


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a run folder"):
        compare([tmp_path])


def test_a_split_that_one_run_lacks_is_left_out_with_a_note(run_folder):
    a = run_folder("a", {"test": split(1.0, 1), "id_test": split(1.0, 1, "id_test", 80, 500)})
    b = run_folder("b", {"test": split(1.0, 2)}, seed=1)
    found = compare([a, b])
    assert list(found["splits"]) == ["test"]
    assert found["gaps"] == []
    assert found["notes"][0] == "id_test is left out because some runs do not have it."
    with pytest.raises(InputError, match="none of the splits val"):
        compare([a, b], splits=["val"])


def test_an_undefined_metric_says_in_which_run_and_why(run_folder):
    prob = [[0.1, 0.9], [0.2, 0.8]] * 15
    broken = np.array(prob)
    broken[0] = np.nan
    a = run_folder("a", {"test": predictions_of("binary", [0, 1] * 15, prob)})
    b = run_folder("b", {"test": predictions_of("binary", [0, 1] * 15, broken)}, seed=1)
    found = compare([a, b])
    row = pick(found, split="test", metric="accuracy")
    assert row["mean"] is None
    assert row["sd"] is None
    assert row["values"] == [0.5, None]
    assert row["reason"] == "b: the outputs of 1 of 30 items are not finite"


def test_each_run_has_its_own_threshold(run_folder, make):
    def run(name, seed, **more):
        test = make("binary", n=80, seed=3)
        val = make("binary", n=80, seed=seed, split="val")
        return run_folder(name, {"val": val, "test": test}, **more)

    folders = [run("a", 4), run("b", 5, label="dr", identity="2")]
    found = compare(folders)
    for folder, method in zip(folders, ("erm", "dr"), strict=True):
        scored = json.loads((folder / "evaluation.json").read_text())
        expected = scored["splits"]["test"]["metrics"]["sensitivity_at_specificity"]
        row = pick(found, split="test", metric="sensitivity_at_specificity", method=method)
        assert row["mean"] == expected["value"]
        assert (row["low"], row["high"]) == (expected["low"], expected["high"])


def test_multi_label_runs_with_missing_labels_are_compared_and_a_changed_label_is_found(
    run_folder, make
):
    table = make("multi-label", n=40, k=2, missing=0.3, seed=1)
    other = make("multi-label", n=40, k=2, missing=0.3, seed=2)
    a = run_folder("a", {"test": table})
    better = dataclasses.replace(other, label=table.label)
    b = run_folder("b", {"test": better}, label="dr", identity="2")
    row = pick(compare([a, b]), split="test", metric="exact_match", method="dr")
    assert row["difference"]["value"] is not None
    label = table.label.copy()
    item = np.flatnonzero(label[:, 1] == 1)[0]
    label[item, 1] = 0
    c = run_folder("c", {"test": dataclasses.replace(table, label=label)}, seed=1)
    with pytest.raises(InputError, match=f"the label of test item {table.id[item]} differs"):
        compare([a, c])


def test_a_share_of_exactly_one_has_the_bound_of_one_run_however_its_threshold_spreads(run_folder):
    """Draws in which the threshold passes an image tell nothing of the spread of images."""
    rng = np.random.default_rng(0)
    label = np.tile([0, 1], 30)
    texts = {split: [f"{split}{i}" for i in range(60)] for split in ("val", "test")}
    folders = []
    for seed in range(3):
        val, test = rng.normal(size=(2, 60)) + 2.5 * label
        test = np.where(label == 1, 1.8 + np.abs(test) / 2, test)
        tables = {
            split: predictions_of("binary", label, np.stack([expit(-z), expit(z)], axis=1),
                                  split=split, ids=texts[split])
            for split, z in (("val", val), ("test", test))
        }  # fmt: skip
        folders.append(run_folder(f"s{seed}", tables, seed=seed))
    row = pick(compare(folders), split="test", metric="sensitivity_at_specificity")
    assert row["values"] == [1.0, 1.0, 1.0]
    assert row["variance"]["units"][0][0] > 0  # some draws miss an image
    assert (row["low"], row["high"]) == pytest.approx(wilson(1.0, 30, 1.959964), abs=1e-6)
