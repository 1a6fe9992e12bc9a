"""A pilot's numbers: written out in NumPy, the same variances as the analysis, and the command."""

import numpy as np
import pytest

from medldr.errors import InputError
from medldr.evaluation import compare, predictions_of
from medldr.evaluation.comparison.pilot import components, intraclass, read_pilot
from medldr.evaluation.comparison.study_plan import DEFAULTS, design
from medldr.evaluation.intervals.inference import Scores, of_difference
from medldr.evaluation.intervals.planning import SAME_METHOD
from medldr.evaluation.intervals.planning import of_difference as planned_difference
from medldr.evaluation.intervals.planning import of_mean as planned_mean

NEW = ("111101101110", "110111101111", "111101111010")
REFERENCE = ("101101001110", "100101101100", "011101001110")
NOTHING = dict.fromkeys(("--accuracy", "--auc", *DEFAULTS))


def matrix(rows):
    return np.array([[int(answer) for answer in row] for row in rows], dtype=float)


def first(*counts):
    """Runs that answer the first so many of 100 items correctly."""
    return (np.arange(100) < np.array(counts)[:, None]).astype(float)


def exact(right):
    """Accuracies with draws that have the covariance of infinitely many real ones."""
    mean = right.mean(axis=1, keepdims=True)
    return Scores(mean[:, 0], mean + (right - mean) / right.shape[1] ** 0.5)


@pytest.mark.parametrize(
    ("one", "other"),
    [(matrix(NEW), matrix(REFERENCE)), (first(80, 70, 90), first(60, 70, 65))],
    ids=["items dominate", "seeds dominate"],
)
def test_components_are_covariances_of_networks_over_items(one, other):
    items = one.shape[1]
    found = components([exact(one), exact(other)], items)
    whole = np.cov(np.vstack([one, other])) / items  # of six accuracies, over test sets
    same = [whole[i, j] for i in range(6) for j in range(6) if i != j and i // 3 == j // 3]
    network = np.mean(np.diag(whole))
    assert found.network == pytest.approx(network, rel=1e-12)
    assert found.within == pytest.approx(np.mean(same) / network, rel=1e-12)
    assert found.between == pytest.approx(whole[:3, 3:].mean() / network, rel=1e-12)
    spread = np.mean([of.mean(axis=1).var(ddof=1) for of in (one, other)])
    noise = network - np.mean(same)  # of one run on these items, which is in the spread as well
    assert found.seed_sd == pytest.approx(max(0, spread - noise) ** 0.5, abs=1e-12)
    # And from these, the plan's formulas give back the variances of the analysis.
    u, w, b, sd = found
    analysis = of_difference(exact(one), exact(other), items)
    assert 2 * u * ((1 + 2 * w) / 3 - b) == pytest.approx(analysis.units[0].variance, rel=1e-9)
    assert 2 * sd**2 / 3 == pytest.approx(analysis.of_seeds, rel=1e-9, abs=1e-15)


def test_seeds_count_by_their_degrees_of_freedom():
    one, other = first(80, 70, 90), first(60, 70)
    found = components([exact(one), exact(other)], 100)

    def true(of):  # variance over seeds minus the noise of one run on these items
        k, whole = len(of), np.cov(of) / 100
        mean = np.ones(k) / k
        noise = (np.diag(whole).mean() - mean @ whole @ mean) * k / (k - 1)
        return of.mean(axis=1).var(ddof=1) - noise

    assert found.seed_sd == pytest.approx(((2 * true(one) + true(other)) / 3) ** 0.5, rel=1e-9)


def test_the_intraclass_correlation_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    patients, images = 400, 5
    easy = rng.normal(size=(patients, 1))
    errors = (easy + rng.normal(size=(patients, images)) > 0.8).astype(float)
    between = images * errors.mean(axis=1).var(ddof=1)
    within = errors.var(axis=1, ddof=1).mean()
    anova = (between - within) / (between + (images - 1) * within)
    found = intraclass(errors.reshape(1, -1), np.repeat(np.arange(patients), images))
    assert 0.2 < anova < 0.5
    assert found == pytest.approx(anova, abs=0.004)  # up to 1 / patients


def predicted(skill, seed, task="multi-class", patients=60, images=4, name="test"):
    """Predictions of one network; patients and images are hard for all, and images for a method."""
    classes, n = (2 if task == "binary" else 3), patients * images
    fixed = np.random.default_rng(7)
    label = (fixed.random(n) < 0.3).astype(int) if classes == 2 else fixed.integers(0, 3, n)
    hard = np.repeat(fixed.normal(size=patients), images) + fixed.normal(size=n)
    hard += np.random.default_rng(seed // 10 + 100).normal(size=n)  # for networks of this method
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes)) * 0.8
    logits[np.arange(n), label] += skill + 0.3 * rng.normal() - hard
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    group = [f"p{i // images}" for i in range(n)] if images > 1 else None
    ids = [f"{name}{i}" for i in range(n)]
    return predictions_of(task, label, prob, split=name, ids=ids, group=group)


def write(run_folder, runs, name="rib", config=None, **more):
    """Folders of a pilot: how many seeds of which method."""
    out = []
    for number, (label, seeds) in enumerate(runs.items()):
        for seed in range(seeds):
            tables = {"test": predicted(1.0 + 0.4 * number, 10 * number + seed, **more)}
            known = {"label": label, "identity": label, "seed": seed, "data": {"name": name}}
            known["config"] = config or {}
            out.append(run_folder(f"{name}-{label}-{seed}", tables, draws=2000, **known))
    return out


@pytest.fixture(scope="module")
def pilot_folders(kept_run_folder):
    return write(kept_run_folder, {"erm": 3, "latentdr": 3})


def test_planning_the_pilot_itself_gives_the_variances_of_its_analysis(pilot_folders):
    pilot = read_pilot(pilot_folders, None)
    study, _ = design(60, 3, NOTHING, pilot)
    assert (study.images, study.metric) == (4, "accuracy")
    row = next(
        row
        for row in compare(pilot_folders)["rows"]
        if row["metric"] == "accuracy" and row["method"] == "latentdr"
    )
    planned, analysis = planned_difference(study), row["difference"]["variance"]
    assert pilot.within > pilot.numbers["--correlation"][0]  # else the analysis has the smaller I
    assert planned.units[0].variance == pytest.approx(analysis["units"][0][0], rel=0.05)
    assert planned.noise == pytest.approx(analysis["noise"], rel=0.05)
    of_seeds = max(0, analysis["seeds"][0][0] - analysis["noise"])
    assert planned.of_seeds == pytest.approx(of_seeds, rel=1e-6)
    assert of_seeds > 0


def test_one_method_tells_how_much_two_methods_agree_at_most(pilot_folders):
    both, alone = read_pilot(pilot_folders, None), read_pilot(pilot_folders[:3], None)
    correlation, source = alone.numbers["--correlation"]
    within = correlation + SAME_METHOD * (1 - correlation)
    assert correlation < within
    assert f"{within:.2f}" in source
    assert alone.within is None
    assert both.within >= both.numbers["--correlation"][0]
    study, _ = design(60, 3, NOTHING, alone)
    row = next(r for r in compare(pilot_folders[:3])["rows"] if r["metric"] == "accuracy")
    found = planned_mean(study)
    assert found.units[0].variance == pytest.approx(row["variance"]["units"][0][0], rel=0.05)


def test_single_seeds_have_no_sd_and_single_runs_no_correlation(pilot_folders):
    two = read_pilot([pilot_folders[0], pilot_folders[3]], None).numbers
    assert two["--seed-sd"][0] is None
    assert 0 < two["--correlation"][0] < 1
    one = read_pilot(pilot_folders[:1], None)
    assert one.numbers["--correlation"][0] is None
    study, sources = design(60, 3, NOTHING, one)
    assert (study.seed_sd, study.correlation) == (0.01, DEFAULTS["--correlation"])
    assert sources["--seed-sd"].startswith("by default: ")


def test_an_auc_brings_the_prevalence(run_folder):
    folders = write(run_folder, {"erm": 2, "latentdr": 2}, task="binary", images=1, patients=150)
    pilot = read_pilot(folders, "auc")
    study, _ = design(150, 3, NOTHING, pilot)
    label = predicted(1.0, 0, "binary", 150, 1).label
    assert study.prevalence == np.mean(label)
    assert study.images == 1
    assert 0.5 < study.value < 1
    rows = [r["mean"] for r in compare(folders)["rows"] if r["metric"] == "auc"]
    assert study.value == pytest.approx(np.mean(rows))
    assert "--accuracy" in read_pilot(folders, None).numbers


def test_the_metric_is_the_primary_one_of_the_runs(run_folder):
    config = {"primary": "auc"}
    folders = write(run_folder, {"erm": 2}, task="binary", images=1, patients=100, config=config)
    assert "--auc" in read_pilot(folders, None).numbers
    assert "--auc" not in read_pilot(folders, "accuracy").numbers


def test_the_command_says_where_each_number_comes_from_and_options_win(pilot_folders, medldr):
    pilot = read_pilot(pilot_folders, None)
    ended = medldr("plan", "--patients", 200, "--icc", 0.25, "--pilot", *pilot_folders)
    assert ended.code == 0, ended.err
    out = " ".join(ended.out.split())
    assert f"Accuracy of {pilot.numbers['--accuracy'][0]:.1f}% expected" in out
    assert f"SD between seeds {round(pilot.numbers['--seed-sd'][0], 3):g} percentage points" in out
    assert "percentage points (3 seeds of erm, 3 seeds of latentdr)" in out
    assert "intraclass correlation 0.25 (as given)" in out
    assert "4 images per patient (60 patients of the pilot)" in out
    fixed = ("--seed-sd", 2, "--correlation", 0.6, "--images", 2, "--accuracy", 80)
    own = ("plan", "--patients", 200, "--icc", 0.25, *fixed)
    table = medldr(*own).out.split("Assumed")[0]
    assert medldr(*own, "--pilot", *pilot_folders).out.split("Assumed")[0] == table


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"name": "wrist"}, "is of rib and .* is of wrist. Give runs of one data set"),
        ({"task": "binary"}, "they differ in task"),
        ({"patients": 59}, "test items differ"),
    ],
)
def test_a_pilot_of_several_data_sets_is_refused(odd, said, pilot_folders, run_folder):
    other = write(run_folder, {"mixup": 1}, **odd)
    with pytest.raises(InputError, match=said) as error:
        read_pilot([*pilot_folders, *other], None)
    assert str(error.value).startswith("pilot: ")


def test_runs_that_cannot_tell_are_refused(pilot_folders, run_folder, medldr):
    failed = run_folder("failed", {}, status="failed")
    for words, said in (
        (("--pilot", failed), "--pilot: "),
        (("--auc", 0.8, "--pilot", *pilot_folders), "do not tell a planned auc"),
        ((*pilot_folders[:1], "--accuracy", 80), "put --pilot before"),
        (("--pilot", pilot_folders[0], pilot_folders[0]), "more than once"),
    ):
        ended = medldr("plan", "--patients", 200, *words)
        assert ended.code == 2
        assert said in ended.err
