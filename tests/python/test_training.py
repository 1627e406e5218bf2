"""train(): callbacks, stopping, Ctrl-C, messages, mistakes, and the same weights as the command's and C++'s."""

import csv
import hashlib
import io
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pytest

import brightnet
from brightnet import _log
from conftest import MODEL, SHORT, run_program


def weights_hash(file: pathlib.Path) -> str:
    """Of the values alone: the metadata name the run."""
    content = pathlib.Path(file).read_bytes()
    return hashlib.sha256(content[8 + int.from_bytes(content[:8], "little") :]).hexdigest()


@pytest.fixture(scope="module")
def short_run(data, tmp_path_factory):
    return brightnet.train(data=data, out=tmp_path_factory.mktemp("short") / "run", **SHORT)


def test_callbacks_are_told_every_step_epoch_and_evaluation(data, tmp_path):
    told = {"begin": [], "step": [], "epoch": [], "evaluation": []}
    thread = threading.get_ident()

    def note(event):
        def callback(values):
            assert threading.get_ident() == thread, "callbacks are called by the thread that called train()"
            told[event].append(values)

        return callback

    run = brightnet.train(
        data=data, out=tmp_path / "run", **SHORT, **{f"on_{event}": note(event) for event in told}
    )
    assert run.outcome == "finished"
    assert (run.epochs, run.iterations) == (2, 6)
    assert told["begin"] == [run.folder]
    assert [step["iteration"] for step in told["step"]] == [1, 2, 3, 4, 5, 6]
    assert [epoch["epoch"] for epoch in told["epoch"]] == [1, 2]
    assert len(told["evaluation"]) == 2
    last = told["evaluation"][-1]
    assert last["epochs"] == 2 and last["steps"] == 3 and last["images"] == 4
    assert last["loss"] > 0 and last["val_loss"] > 0 and last["learning_rate"] > 0
    assert {c["name"] for c in last["per_class"]} == set(brightnet.open_weights(run.weights).classes)
    assert told["epoch"][-1]["AP50"] == last["AP50"]
    with open(run.folder / "metrics.csv") as table:
        rows = {float(row["epoch"]): row for row in csv.DictReader(table)}
    for epoch in told["epoch"]:
        for column in ("box_loss", "objectness_loss", "class_loss", "loss", "val_loss"):
            assert epoch[column] == pytest.approx(float(rows[epoch["epoch"]][column]), rel=1e-3, abs=1e-6), column
    assert run.best is not None and run.best["AP"] == max(e["AP"] for e in told["evaluation"])
    assert run.weights.exists() and (run.folder / "report.html").exists()


def test_false_stops_after_saving_and_the_run_resumes(data, tmp_path, short_run):
    stopped = brightnet.train(
        data=data, out=tmp_path / "run", on_step=lambda step: step["iteration"] < 3, **SHORT
    )
    assert stopped.outcome == "stopped"
    assert 3 <= stopped.iterations <= 4
    resumed = brightnet.train(resume=stopped.folder, device="cpu")
    assert (resumed.outcome, resumed.iterations) == ("finished", 6)
    last = "weights/last.safetensors"
    assert weights_hash(resumed.folder / last) == weights_hash(short_run.folder / last)
    assert brightnet.train(resume=stopped.folder, device="cpu").outcome == "was_over"


def test_resume_takes_the_newest_run_or_a_folder(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stopped = brightnet.train(data=data, on_step=lambda _: False, **SHORT)
    assert stopped.outcome == "stopped"
    with pytest.raises(brightnet.InputError, match='resume is ""'):
        brightnet.train(data=data, resume="", **SHORT)
    resumed = brightnet.train(data=data, resume=True, **SHORT)
    assert (resumed.outcome, resumed.folder) == ("finished", stopped.folder)
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_false_of_numpy_stops_too(data, tmp_path):
    losses = []

    def small_enough(step):
        losses.append(step["loss"])
        return np.mean(losses) < 0

    assert brightnet.train(data=data, out=tmp_path / "run", on_step=small_enough, **SHORT).outcome == "stopped"
    assert len(losses) <= 2


@pytest.mark.parametrize("event", ["epoch", "evaluation"])
def test_false_after_an_epoch_stops_too(data, tmp_path, event):
    run = brightnet.train(data=data, out=tmp_path / "run", **SHORT, **{f"on_{event}": lambda _: False})
    assert run.outcome == "stopped"
    assert 3 <= run.iterations < 6


def test_a_second_run_meanwhile_is_refused(data, tmp_path):
    """Its messages would go to the log of the first, and the first would have no log from then on."""
    refused = []

    def begin_another(step):
        with pytest.raises(brightnet.InputError, match="a training is running in this process"):
            brightnet.train(data=data, out=tmp_path / "other", **SHORT)
        refused.append(step)

    run = brightnet.train(data=data, out=tmp_path / "run", on_step=begin_another, **SHORT)
    assert len(refused) == run.iterations and not (tmp_path / "other").exists()
    assert "Best weights" in (run.folder / "train.log").read_text()


@pytest.mark.parametrize("event", ["begin", "step", "epoch", "evaluation"])
def test_what_a_callback_raises_is_raised_after_saving(data, tmp_path, event):
    class Broken(Exception):
        pass

    def callback(values):
        raise Broken(event)

    with pytest.raises(Broken, match=event):
        brightnet.train(data=data, out=tmp_path / "run", **SHORT, **{f"on_{event}": callback})
    assert brightnet.train(resume=tmp_path / "run", device="cpu").outcome in ("finished", "was_over")


def test_ctrl_c_saves_and_raises(data, tmp_path):
    script = textwrap.dedent(f"""
        import brightnet
        def on_step(step):
            print("step", step["iteration"], flush=True)
        try:
            brightnet.train(data={str(data)!r}, out={str(tmp_path / "run")!r}, on_step=on_step,
                            **{ {**SHORT, "model": str(MODEL), "epochs": 100000}!r})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "step 1\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.endswith("interrupted\n")
    assert "everything is saved" in err and str(tmp_path / "run") in err, err
    assert brightnet.train(resume=tmp_path / "run", device="cpu", on_step=lambda _: False).outcome == "stopped"


def test_other_threads_run_while_it_computes(data, run):
    import numpy as np

    detector = brightnet.Detector(run.weights, device="cpu")
    counted, over = 0, threading.Event()

    def count():
        nonlocal counted
        while not over.is_set():
            counted += 1
            over.wait(0.0001)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    thread.start()
    try:
        sys.setswitchinterval(1000)  # another thread runs only where this one releases the GIL
        for call in (
            lambda: detector([np.zeros((500, 500, 3), np.uint8)] * 20),
            lambda: brightnet.evaluate(run.weights, data, device="cpu"),
        ):
            before = counted
            call()
            assert counted > before
    finally:
        sys.setswitchinterval(interval)
        over.set()
        thread.join()


def test_messages_go_to_logging(data, tmp_path, caplog, capfd):
    with caplog.at_level(logging.INFO, "brightnet"):
        run = brightnet.train(data=data, out=tmp_path / "run", **SHORT)
    said = [record.getMessage() for record in caplog.records if record.name == "brightnet"]
    assert any("Training in" in message for message in said), said
    assert capfd.readouterr().out == ""
    caplog.clear()
    logging.getLogger("brightnet").setLevel(logging.ERROR)
    try:
        brightnet.train(data=data, out=tmp_path / "run", **SHORT)
    finally:
        logging.getLogger("brightnet").setLevel(logging.NOTSET)
    assert not caplog.records
    assert run.folder.name == "run"


def test_the_progress_line_is_rewritten_and_gives_way_to_messages(data, tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_log.ProgressLine, "_shown", None)
    brightnet.train(data=data, out=tmp_path / "run", **SHORT)
    text = terminal.getvalue()
    assert re.search(r"\repoch 2/2 100%\|█{10}\| 3/3  loss [\d.]+  AP50 [\d.]+  [\d.e+]+ steps/s", text), text
    assert text.endswith("\n")
    silent = Terminal()
    monkeypatch.setattr(sys, "stderr", silent)
    brightnet.train(data=data, out=tmp_path / "run", progress=False, **SHORT)
    assert silent.getvalue() == ""


def test_the_speed_of_a_resumed_run_is_that_of_its_own_steps(monkeypatch):
    terminal, now = io.StringIO(), 10.0
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_log, "time", types.SimpleNamespace(monotonic=lambda: now))
    step = {"epoch": 3, "epochs": 50, "steps": 60, "loss": 4.3, "seconds_left": -1}
    with _log.ProgressLine(True) as line:
        line.step({**step, "step": 25, "iteration": 9025})
        now = 14.0
        line.step({**step, "step": 35, "iteration": 9035})
    assert terminal.getvalue().rstrip().endswith("  2.5 steps/s"), terminal.getvalue()


def test_a_message_does_not_tear_the_progress_line(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    handler = logging.StreamHandler(terminal)
    _log.logger.addHandler(handler)
    try:
        with _log.ProgressLine(True) as line:
            step = {"epoch": 3, "epochs": 50, "step": 25, "steps": 60, "iteration": 145, "loss": 4.3, "seconds_left": -1}
            line.step(step)
            shown = terminal.getvalue().strip()
            _log._deliver(logging.WARNING, "said meanwhile")
    finally:
        _log.logger.removeHandler(handler)
    *_, erased, rest = terminal.getvalue().split("\r")
    assert rest == "said meanwhile\n"
    assert shown.startswith("epoch 3/50") and erased == " " * len(erased) and len(erased) >= len(shown)


def test_a_run_goes_on_without_its_terminal(data, tmp_path, monkeypatch):
    class Gone(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            raise OSError(5, "Input/output error")

    closed = io.StringIO()
    closed.close()
    for stream, progress in ((Gone(), None), (None, None), (None, True), (closed, None)):
        monkeypatch.setattr(sys, "stderr", stream)
        run = brightnet.train(data=data, out=tmp_path / "run", progress=progress, **SHORT)
        assert run.outcome == "finished"


@pytest.mark.parametrize(
    "seconds, text",
    [(0, "0 s"), (99.4, "99 s"), (100, "2 min"), (5969, "99 min"), (5999, "1 h 40 min"), (7 * 3600 + 120, "7 h 2 min")],
)
def test_the_time_that_is_left_is_in_the_unit_that_fits(seconds, text):
    assert _log._duration(seconds) == text


def test_the_line_has_its_parts_in_any_terminal():
    step = {"epoch": 3, "epochs": 50, "step": 25, "steps": 60, "iteration": 145, "loss": 4.312, "seconds_left": 250}
    assert (
        _log.line_of(step, 3.14159, "  AP50 0.610", " #")
        == "epoch 3/50  42%|####      | 25/60  loss 4.31  AP50 0.610  3.14 steps/s  4 min left"
    )
    assert "|████▏     |" in _log.line_of(step, 1, "", " ▏▎▍▌▋▊▉█")
    assert "left" not in _log.line_of({**step, "seconds_left": -1, "epochs": 0}, 1, "", " #")


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"epoch": 3}, "train() has no keyword 'epoch'. Did you mean epochs?"),
        ({"sed": 3}, "train() has no keyword 'sed'. Did you mean settings={\"train.seed\": ...}?"),
        ({"minutes": 3}, "train() has no keyword 'minutes'. Did you mean settings={\"train.minutes\": ...}?"),
    ],
)
def test_an_unknown_keyword_names_the_nearest(keywords, message):
    with pytest.raises(brightnet.InputError) as error:
        brightnet.train(model="yolov4-tiny", data="nowhere", **keywords)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: brightnet.train(data="x", epochs="3"), "train(): epochs is '3' and must be a whole number."),
        (lambda: brightnet.train(data=None), "train(): data is None and must be a text or a path."),
        (lambda: brightnet.train(device=0), "train(): device is 0 and must be a text. A GPU is called 'cuda:0'."),
        (lambda: brightnet.Detector("x", size=1.5), "Detector(): size is 1.5 and must be a whole number or (height, width)."),
        (lambda: brightnet.Detector("x", confidence="high"), "Detector(): confidence is 'high' and must be a number."),
        (lambda: brightnet.evaluate("x"), "evaluate() missing 1 required positional argument: 'data'"),
        (lambda: brightnet.Dataset("x", batch=2.0), "Dataset(): batch is 2.0 and must be a whole number."),
        (lambda: brightnet.train(data="x", on_epoch="log"), "train(): on_epoch is 'log' and must be a function."),
    ],
)
def test_an_argument_of_another_type_is_named(call, message):
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: brightnet.train(epochs=2**63), "train(): epochs is 9223372036854775808, which is out of range."),
        (lambda: brightnet.Detector("x", batch=2**31), "Detector(): batch is 2147483648, which is out of range."),
        (lambda: brightnet.Dataset("x", size=(64, 2**40)), "Dataset(): size is (64, 1099511627776), which is out of range."),
        (lambda: brightnet.train(data="a\0b"), "train(): data is 'a\\x00b', and no name has the character NUL."),
        (lambda: brightnet.open_weights(pathlib.Path("a\0b")), "and no name has the character NUL."),
    ],
)
def test_what_the_library_cannot_be_given_is_named(call, message):
    with pytest.raises(brightnet.InputError) as error:
        call()
    assert str(error.value).endswith(message)


@pytest.mark.parametrize("word", ["epochs", "batch"])
@pytest.mark.parametrize("count", [0, -1, np.int64(0)])
def test_no_epochs_and_an_empty_batch_are_mistakes_as_on_the_command_line(data, tmp_path, word, count):
    with pytest.raises(brightnet.InputError) as error:
        brightnet.train(data=data, out=tmp_path / "run", **{**SHORT, word: count})
    assert str(error.value) == f"train(): {word} is {count} and must be at least 1."
    assert not (tmp_path / "run").exists()


def test_mistakes_are_the_paragraphs_of_the_command(data, tmp_path):
    def same(arguments, keywords, error=brightnet.InputError):
        device = keywords.get("device", "cpu")
        said = run_program("train", "--device", device, "--out", tmp_path / "run", *arguments, cwd=tmp_path)
        with pytest.raises(error) as raised:
            brightnet.train(out=tmp_path / "run", **{"device": device, **keywords})
        assert said.stderr.strip().splitlines()[-1].endswith(str(raised.value)), (said.stderr, str(raised.value))
        assert isinstance(raised.value, brightnet.Error)
        return said.returncode

    assert same(["--model", "yolov4-tny", "--data", data], {"model": "yolov4-tny", "data": data}) == 2
    assert (
        same(
            ["--model", "yolov4-tiny", "--data", data, "--set", "train.epoch=3"],
            {"model": "yolov4-tiny", "data": data, "train.epoch": 3},
        )
        == 2
    )
    assert (
        same(
            ["--model", "yolov4-tiny", "--data", data],
            {"model": "yolov4-tiny", "data": data, "device": "cuda:99"},
            brightnet.DeviceError,
        )
        == 3
    )
    assert not (tmp_path / "run").exists()


def test_every_keyword_of_train_reaches_the_library_under_its_name(monkeypatch, tmp_path):
    given = {}
    ended = {"outcome": "finished", "folder": tmp_path, "weights": tmp_path, "epochs": 1, "iterations": 1, "best": None}
    monkeypatch.setattr(brightnet._brightnet, "train", lambda **keywords: given.update(keywords) or ended)
    brightnet.train(
        "run.yaml", model="m", data="d", epochs=3, size=(32, 64), batch=5, weights="w", weights_cfg="w.cfg",
        weights_partial=True, out="o", device="cpu", precision="bf16", fold="1/5", graph=False, **{"train.seed": 4},
    )
    del given["tell"]
    assert given == {
        "config": "run.yaml", "model": "m", "data": "d", "settings": ["train.seed=4"], "fold": "1/5", "precision": "bf16",
        "epochs": 3, "size": "32x64", "batch": 5, "weights": "w", "weights_cfg": "w.cfg", "weights_partial": True,
        "resume": False, "folder": "o", "out": "", "device": "cpu", "no_graph": True,
    }
    brightnet.train(resume=tmp_path / "run", out="o")
    assert (given["resume"], given["folder"], given["out"]) == (True, str(tmp_path / "run"), "o")
    assert (given["epochs"], given["batch"], given["size"], given["no_graph"], given["device"]) == (0, 0, "", False, "auto")
    brightnet.train(resume=True, out="o")
    assert (given["resume"], given["folder"], given["out"]) == (True, "", "o")


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"fold": "7/5"}, "fold"),
        ({"precision": "fp99"}, "fp99"),
        ({"weights": "/nowhere/w.safetensors"}, "/nowhere/w.safetensors"),
        ({"size": (33, 64)}, "33x64"),
        ({"model": "/nowhere/model.yaml"}, "/nowhere/model.yaml"),
    ],
)
def test_what_train_is_given_is_what_the_library_reads(data, tmp_path, keywords, message):
    with pytest.raises(brightnet.InputError, match=message):
        brightnet.train(data=data, out=tmp_path / "run", **{**SHORT, **keywords})


def test_values_of_every_type_reach_the_configuration(data, tmp_path):
    run = brightnet.train(
        data=data,
        out=tmp_path / "run",
        **{**SHORT, "epochs": np.int64(1), "size": [64, 96]},
        **{"augment.mosaic": 0, "augment.flip": 0.25, "data.classes": ["circle", "square"], "train.save_every": 5},
        name="shapes",
    )
    assert brightnet.open_weights(run.weights).input_size == (64, 96), "the height comes first"
    config = (run.folder / "config.yaml").read_text()
    lists = {"train.sizes": np.array([64, 96]), "data.classes": [np.str_("circle"), "😀"]}
    with pytest.raises(brightnet.InputError, match="data.classes lists '😀'"):
        brightnet.train(data=data, out=tmp_path / "lists", **{**SHORT, **lists})
    for line in (r"name: shapes\b", r"mosaic: 0\b", r"flip: 0.25\b", r"classes: \[circle, square\]", r"size: (\[64, 96\]|64x96)"):
        assert re.search(line, config), (line, config)


def test_keys_are_given_by_settings_or_as_keywords(monkeypatch, tmp_path):
    given = []
    ended = {"outcome": "finished", "folder": tmp_path, "weights": tmp_path, "epochs": 1, "iterations": 1, "best": None}
    monkeypatch.setattr(brightnet._brightnet, "train", lambda **keywords: given.append(keywords["settings"]) or ended)
    brightnet.train(settings={"train.seed": 4, "augment.mosaic": 0}, **{"train.seed": 4, "train.minutes": 1})
    assert given == [["train.seed=4", "augment.mosaic=0", "train.minutes=1"]]
    for call, message in [
        (lambda: brightnet.train(settings={"train.seed": 4}, **{"train.seed": 5}), "train.seed is 4 in settings and 5 as a keyword"),
        (lambda: brightnet.train(settings={"sed": 3}), "train() has no keyword 'sed'. Did you mean settings={\"train.seed\": ...}?"),
        (lambda: brightnet.check("x", settings={1: 3}), "check() has no keyword '1'"),
        (lambda: brightnet.Dataset("x", settings={"train.size": 3}), "give size instead"),
        (lambda: brightnet.memory("x", settings={"minuts": 3}), "memory() has no keyword 'minuts'"),
    ]:
        with pytest.raises(brightnet.InputError) as error:
            call()
        assert message in str(error.value)
    with pytest.raises(TypeError, match="settings is .* and must be a dictionary"):
        brightnet.train(settings=["train.seed=4"])


def test_command_python_and_cpp_train_the_same_weights(data, tmp_path, short_run):
    said = run_program(
        *["train", "--model", MODEL, "--data", data, "--epochs", 2, "--size", 64, "--batch", 4],
        *["--precision", "fp32", "--device", "cpu", "--out", tmp_path / "command"],
        *["--set", "train.seed=1", "evaluate.every=1", "loader.workers=1"],
    )
    assert said.returncode == 0, said.stderr
    by_cpp = subprocess.run(
        [os.environ["BRIGHTNET_TRAIN_ONCE"], MODEL, data, tmp_path / "cpp"], capture_output=True, text=True, check=True
    )
    hashes = {
        "command": weights_hash(tmp_path / "command/weights/last.safetensors"),
        "C++": weights_hash(by_cpp.stdout.strip()),
        "Python": weights_hash(short_run.folder / "weights/last.safetensors"),
    }
    assert len(set(hashes.values())) == 1, hashes
