"""Rows are plain JSON, one per evaluation, and a rewrite removes what a kill left behind."""

import json

import numpy as np

from medldr.training.state.history import History


def test_rows_are_appended_as_plain_json(tmp_path):
    history = History(tmp_path / "metrics.jsonl", writes=True)
    history.rewrite()
    history.append({"epoch": 1, "val/auc": np.float64(0.5), "val/loss": float("nan")})
    history.append({"epoch": 2, "val/auc": 0.25, "val/loss": None})
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == history.rows
    assert history.rows[0] == {"epoch": 1, "val/auc": 0.5, "val/loss": None}
    assert type(history.rows[0]["val/auc"]) is float


def test_a_rewrite_drops_later_and_broken_rows(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"epoch": 1}\n{"epoch": 2}\n{"epo')
    history = History(path, writes=True)
    history.load_state_dict({"rows": [{"epoch": 1}]})
    history.rewrite()
    assert path.read_text() == '{"epoch": 1}\n'
