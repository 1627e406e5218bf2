"""The examples, and the code of docs/python.md."""

import re
import subprocess
import sys

import pytest

import brightnet
from conftest import SHORT, SOURCE

EXAMPLES = SOURCE / "examples/python"


def run_example(name: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(heading: str) -> list[str]:
    """The Python blocks of docs/python.md below a heading."""
    text = (SOURCE / "docs/python.md").read_text()
    part = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"```python\n(.*?)```", part, re.DOTALL)


def test_the_pytorch_loop_learns(data):
    pytest.importorskip("torch", reason="no PyTorch (pip install torch)")
    said = run_example("pytorch_loop.py", data, 4)
    losses = [float(loss) for loss in re.findall(r"epoch \d+: loss ([\d.]+)", said)]
    assert len(losses) == 4 and losses[-1] < losses[0], said
    lines = (EXAMPLES / "pytorch_loop.py").read_text().split("def main", 1)[1].splitlines()
    assert len(lines) <= 30


def test_bytetrack_follows_objects_through_a_video(run, video):
    pytest.importorskip("trackers", reason="no trackers (scripts/setup --python-extras)")
    lines = run_example("track_video.py", run.weights, video, 0.01).splitlines()
    frames_of = {}
    for line in lines:
        frame, track, name = line.split()[:3]
        frames_of.setdefault((track, name), set()).add(int(frame))
    assert any({1, 2} <= frames for frames in frames_of.values()), "the first picture stands for three frames"
    assert run_example("track_video.py", run.weights, video, 0.9999) == ""  # frames without objects


def test_what_ultralytics_says_is_said_by_ours(data, run, video, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"DATA": str(data), "VIDEO": str(video), "IMAGE": str(sorted((data / "images/val").iterdir())[0])}
    code = "\n".join(blocks("From Ultralytics, in Python"))
    assert code.count("# Ultralytics:") >= 10
    for name, value in names.items():
        code = code.replace(f'"{name}"', repr(value))
    short = {key: value for key, value in SHORT.items() if key not in ("epochs", "size", "train.seed")}
    real = brightnet.train

    def train_short(**keywords):
        if "resume" in keywords:
            return real(**keywords)
        assert keywords["model"] == "yolov4-tiny"
        return real(**{**short, **keywords, "model": SHORT["model"], "epochs": 1, "size": 64})

    monkeypatch.setattr(brightnet, "train", train_short)
    exec(compile(code, "docs/python.md", "exec"), {"__name__": "page"})


def test_mlflow_keeps_a_run_by_the_callback_of_the_page(data, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="no MLflow (scripts/setup --python-extras)")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    page: dict = {}
    code = next(block for block in blocks("Experiment trackers") if "mlflow" in block)
    exec(compile(code, "docs/python.md", "exec"), page)
    with mlflow.start_run() as active:
        run = brightnet.train(data=data, out=tmp_path / "run", on_epoch=page["log_epoch"], **SHORT)
    kept = mlflow.MlflowClient().get_metric_history(active.info.run_id, "AP50")
    assert [metric.step for metric in kept] == [1, 2]
    assert kept[-1].value == pytest.approx(run.best["AP50"]) or kept[0].value == pytest.approx(run.best["AP50"])
    assert mlflow.get_run(active.info.run_id).data.metrics["loss"] > 0


@pytest.mark.parametrize("tracker", ["wandb", "clearml"])
def test_other_trackers_are_called_as_the_page_says(tracker, data, tmp_path, monkeypatch):
    """Without these libraries: what their functions are given is noted."""
    from unittest.mock import MagicMock

    library = MagicMock()
    monkeypatch.setitem(sys.modules, tracker, library)
    page: dict = {}
    code = next(block for block in blocks("Experiment trackers") if f"import {tracker}" in block or f"from {tracker}" in block)
    exec(compile(code, "docs/python.md", "exec"), page)
    brightnet.train(data=data, out=tmp_path / "run", on_epoch=page["log_epoch"], **SHORT)
    told = str(library.mock_calls)
    assert "AP50" in told and "box_loss" in told, told
