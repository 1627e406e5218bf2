"""models(), memory(), export(), evaluate(), and the program behind the module."""

import json
import shutil
import subprocess
import sys

import pytest

import brightnet
from conftest import PROGRAM, run_program


def test_models_are_those_of_the_command():
    theirs = json.loads(run_program("models", "--json", "-").stdout)["models"]
    assert brightnet.models() == theirs
    assert "yolov4-tiny" in {model["name"] for model in theirs}


def test_memory_is_that_of_the_command():
    arguments = ["--batch", 8, "--size", 320, "--precision", "fp32", "--device", "cpu", "--device-memory", "8GiB"]
    theirs = json.loads(run_program("memory", "yolov4-tiny", *arguments, "--json", "-").stdout)
    ours = brightnet.memory(
        "yolov4-tiny", batch=8, size=320, precision="fp32", device="cpu", device_memory="8GiB"
    )
    assert ours == theirs
    assert ours["largest_batch"] > 8
    with pytest.raises(brightnet.InputError, match="yolov4-tiny"):
        brightnet.memory("yolov4-tny")
    for wrong in ({"batch": -1}, {"classes": -1}, {"size": -32}, {"size": (416, 0)}):
        (word,) = wrong
        with pytest.raises(brightnet.InputError, match=f"{word} is"):
            brightnet.memory("yolov4-tiny", **wrong)


def test_memory_heeds_sizes_classes_and_settings():
    def peak(**keywords):
        return brightnet.memory("yolov4-tiny", **{"batch": 2, "size": (64, 96), "precision": "fp32", "device": "cpu", **keywords})

    answer = peak()
    assert (answer["batch"], answer["size"], answer["precision"]) == (2, [64, 96], "fp32")
    assert peak(classes=7)["parameters"] != answer["parameters"]
    assert peak(**{"input.channels": 1})["peak_bytes"] < answer["peak_bytes"]
    with pytest.raises(brightnet.InputError, match="/nowhere"):
        brightnet.memory("yolov4-tiny", data="/nowhere", device="cpu")


def test_evaluate_gives_what_the_run_had(run, data):
    metrics = brightnet.evaluate(run.weights, data, device="cpu", precision="fp32")
    assert metrics["AP"] == run.best["AP"] and metrics["images"] == 4 and metrics["loss"] > 0
    assert brightnet.evaluate(run.weights, data, split="train", device="cpu")["images"] == 12
    with pytest.raises(brightnet.InputError, match="size is -64"):
        brightnet.evaluate(run.weights, data, size=-64, device="cpu")
    with pytest.raises(brightnet.InputError, match="middle"):
        brightnet.evaluate(run.weights, data, split="middle", device="cpu")
    with pytest.raises(brightnet.InputError, match="Did you mean split"):
        brightnet.evaluate(run.weights, data, splt="val")
    with pytest.raises(brightnet.InputError, match=r"evaluate\(\) has no keyword 'minuts'"):
        brightnet.evaluate(run.weights, data, settings={"minuts": 3})


def test_evaluate_gives_what_the_command_says(run, data):
    said = run_program(
        *["eval", "--weights", run.weights, "--data", data, "--device", "cpu", "--precision", "fp32", "--no-plots", "--json", "-"]
    )
    assert said.returncode == 0, said.stderr
    theirs, ours = json.loads(said.stdout), brightnet.evaluate(run.weights, data, device="cpu", precision="fp32")
    for key in ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR", "precision", "recall", "score", "images", "truths", "detections"):
        assert ours[key] == pytest.approx(theirs[key], abs=1e-6), key
    assert ours["AP"] != ours["AR"] != ours["AP50"], "there is something to compare"
    assert ours["loss"] == pytest.approx(theirs["loss"]["total"], rel=1e-5)
    for one, other in zip(ours["per_class"], theirs["per_class"], strict=True):
        assert one == {key: pytest.approx(other[key]) if key != "name" else other[key] for key in one}


def test_evaluate_heeds_its_keywords(run, data):
    def found(**keywords):
        return brightnet.evaluate(run.weights, data, **{"device": "cpu", "precision": "fp32", **keywords})

    assert found(**{"evaluate.nms.score": 0.5})["detections"] < found()["detections"]
    assert found(size=(32, 96))["loss"] != found(size=(96, 32))["loss"]
    assert found(batch=3)["images"] == 4
    with pytest.raises(brightnet.InputError, match="batch"):
        found(batch=0)
    with pytest.raises(brightnet.Error, match="fp16"):
        found(precision="fp16")


def test_export_writes_what_others_read(run, tmp_path):
    cv2 = pytest.importorskip("cv2", reason="no OpenCV to read it with")
    file = brightnet.export(run.weights, out=tmp_path / "small.onnx")
    assert file == tmp_path / "small.onnx"
    assert not cv2.dnn.readNetFromONNX(str(file)).empty()
    assert brightnet.export(run.weights, out=file, batch=2) == file, "an earlier export is replaced"
    weights = brightnet.export(run.weights, "darknet", tmp_path / "dark/small")
    assert weights == tmp_path / "dark/small.weights" and weights.with_suffix(".cfg").exists()
    again = brightnet.open_weights(weights, cfg=weights.with_suffix(".cfg"), names=weights.with_suffix(".names"))
    assert again.classes == brightnet.open_weights(run.weights).classes
    with pytest.raises(brightnet.InputError, match="exists"):
        brightnet.export(run.weights, "darknet", tmp_path / "dark/small")
    (tmp_path / "other.onnx").write_text("mine")
    with pytest.raises(brightnet.InputError, match="other.onnx"):
        brightnet.export(run.weights, out=tmp_path / "other.onnx")
    assert (tmp_path / "other.onnx").read_text() == "mine"
    with pytest.raises(brightnet.InputError, match="out"):
        brightnet.export(brightnet.open_weights(run.weights))
    folder = shutil.copytree(run.folder, tmp_path / "mine.v2")
    assert brightnet.export(folder).parent == folder / "weights", "as the command, and beside no other run's"
    assert brightnet.export(run.weights, out=tmp_path / "small.v2") == tmp_path / "small.v2.onnx"
    with pytest.raises(brightnet.InputError, match="torchscript"):
        brightnet.export(run.weights, "torchscript")


def test_export_heeds_its_keywords(run, tmp_path):
    """The program describes what it was given."""
    file = brightnet.export(
        run.weights, out=tmp_path / "small.onnx", heads="nms", batch=0, size=(32, 96), opset=15, confidence=0.4, nms=0.6
    )
    said = json.loads(run_program("export", "--describe", file).stdout)
    assert said["outputs"] == "nms" and said["input"]["size"] == [32, 96]
    assert said["nms"]["score"] == 0.4 and said["nms"]["iou"] == 0.6
    older = brightnet.export(
        run.weights, out=tmp_path / "older.onnx", heads="nms", batch=0, size=(32, 96), opset=13, confidence=0.4, nms=0.6
    )
    assert file.read_bytes() != older.read_bytes(), "of another opset"
    kept, scaled = (brightnet.export(run.weights, "darknet", tmp_path / n, numbers=n) for n in ("kept", "scaled"))
    assert kept.read_bytes() != scaled.read_bytes()


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"heads": "nms", "confidence": 3.0}, "confidence must be from 0 to 1"),
        ({"heads": "nms", "nms": -1.0}, "nms must be an IoU from 0 to 1"),
        ({"batch": -1}, "a batch must be at least 1"),
        ({"size": -64}, "size is -64"),
        ({"confidence": 0.6, "nms": 0.3}, 'confidence and nms are for onnx with heads="nms" only'),
        ({"numbers": "kept"}, "numbers is for darknet only"),
        ({"format": "darknet", "opset": 15, "heads": "raw"}, "heads and opset are for onnx only"),
    ],
)
def test_an_export_is_refused_before_it_replaces_another(run, tmp_path, keywords, message):
    file = brightnet.export(run.weights, out=tmp_path / "small.onnx")
    before = file.read_bytes()
    with pytest.raises(brightnet.InputError, match=message):
        brightnet.export(run.weights, out=file, replace=True, **keywords)
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


def test_an_export_is_not_written_beside_a_folder_that_was_named(run, tmp_path):
    for out in (tmp_path, f"{tmp_path}/", f"{tmp_path}/new/", ""):
        with pytest.raises(brightnet.InputError, match="a folder. Name a file in it"):
            brightnet.export(run.weights, out=out)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(brightnet.InputError, match="this folder cannot be made"):
        brightnet.export(run.weights, out=tmp_path / "file/small.onnx")
    assert not tmp_path.with_name(tmp_path.name + ".onnx").exists()


def test_weights_say_what_they_are(run):
    weights = brightnet.open_weights(run.weights)
    assert weights.model == "small" and weights.input_size == (64, 64) and weights.channels == 3
    assert weights.parameters > 1e4 and len(weights.classes) > 1
    assert brightnet.open_weights(run.folder).classes == weights.classes, "a run's folder stands for its weights"
    assert brightnet.open_weights(run.weights, classes=weights.classes).classes == weights.classes
    with pytest.raises(brightnet.InputError, match="these weights have the classes"):
        brightnet.open_weights(run.weights, classes=["car"])
    for files in ({"cfg": "a.cfg"}, {"names": "a.names"}):
        with pytest.raises(brightnet.InputError, match="these are open"):
            brightnet.Detector(weights, device="cpu", **files)


def test_python_m_brightnet_is_the_program(data):
    for arguments in (["--version"], ["models", "--names"], ["train", "--epoch"], ["data", "check", str(data)], []):
        ours = subprocess.run([sys.executable, "-m", "brightnet", *arguments], capture_output=True, text=True)
        theirs = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
        assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)
        assert ours.stdout or ours.stderr
    assert brightnet.__version__ in run_program("--version").stdout


def test_the_help_of_everything_is_there():
    for name in brightnet.__all__:
        thing = getattr(brightnet, name)
        assert isinstance(thing, str) or thing.__doc__, name


def test_prune_makes_what_the_command_makes(run, data, tmp_path):
    made = brightnet.prune(run.weights, tmp_path / "ours", keep=0.6, by="norm")
    arguments = ["--weights", run.weights, "--out", tmp_path / "theirs", "--keep", 0.6, "--by", "norm"]
    theirs = json.loads(run_program("prune", *arguments, "--json", "-").stdout)
    assert {**theirs, "model": made["model"], "weights": made["weights"]} == made
    assert made["weights"].read_bytes() == (tmp_path / "theirs/weights.safetensors").read_bytes()
    assert made["model"] == tmp_path / "ours/model.yaml" and made["model"].exists()
    with pytest.raises(brightnet.InputError, match="exists"):
        brightnet.prune(run.weights, tmp_path / "ours")
    assert brightnet.prune(run.weights, tmp_path / "ours", replace=True)["by"] == "scale", "without data"
    assert brightnet.prune(run.weights, tmp_path / "ours", data=data, replace=True)["by"] == "taylor"
    sixteen = brightnet.prune(run.weights, tmp_path / "sixteen", keep=0.6, multiple=16)
    changed = [layer for layer in sixteen["layers"] if layer["channels_before"] != layer["channels_after"]]
    assert changed and all(layer["channels_after"] % 16 == 0 for layer in changed)
    with pytest.raises(brightnet.InputError, match="^--out: it is empty. Name a folder"):
        brightnet.prune(run.weights, "")
    with pytest.raises(brightnet.InputError, match="Did you mean keep"):
        brightnet.prune(run.weights, tmp_path / "other", kep=0.5)


def test_prune_takes_darknets_weights_with_their_names(run, tmp_path):
    dark = brightnet.export(run.weights, "darknet", tmp_path / "dark/small")
    made = brightnet.prune(
        dark, tmp_path / "pruned", cfg=dark.with_suffix(".cfg"), names=dark.with_suffix(".names"), keep=0.6, by="norm"
    )
    assert brightnet.open_weights(made["weights"]).classes == brightnet.open_weights(run.weights).classes
