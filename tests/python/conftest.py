"""What the tests of the Python module share. ctest says where the module, the program and the tree are."""

import pathlib
import signal
import subprocess

import pytest

import brightnet

SOURCE = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(brightnet.__file__).parent / "bin" / "brightnet"

# A shell that starts the tests in the background has Ctrl-C ignored, which they and what they start would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: A training that takes a second.
MODEL = SOURCE / "tests/python/small.yaml"
SHORT = {
    "model": MODEL,
    "epochs": 2,
    "size": 64,
    "batch": 4,
    "precision": "fp32",
    "device": "cpu",
    "train.seed": 1,
    "evaluate.every": 1,
    "loader.workers": 1,
}


def run_program(*arguments: object, **keywords: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=300, **keywords
    )


def make_data(folder: pathlib.Path) -> pathlib.Path:
    """12 training and 4 validation images of 96 pixels."""
    made = run_program("data", "synth", folder, "--train", 12, "--val", 4, "--size", 96, "--seed", 5)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return make_data(tmp_path_factory.mktemp("data") / "set")


@pytest.fixture(scope="session")
def run(data: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> brightnet.Run:
    """One that finds something."""
    longer = {"epochs": 40, "evaluate.every": 10, "optimizer.kind": "sgd", "optimizer.rate": 0.02, "schedule.warmup": 1}
    return brightnet.train(data=data, out=tmp_path_factory.mktemp("run") / "run", **{**SHORT, **longer})


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory, data: pathlib.Path) -> pathlib.Path:
    """The validation images, each for some frames, as a video of OpenCV's."""
    cv2 = pytest.importorskip("cv2", reason="no OpenCV to write a video with")
    file = tmp_path_factory.mktemp("video") / "shapes.avi"
    writer = cv2.VideoWriter(str(file), cv2.VideoWriter_fourcc(*"MJPG"), 10, (96, 96))
    for image in sorted((data / "images/val").iterdir()):
        for _ in range(3):
            writer.write(cv2.imread(str(image)))
    writer.release()
    return file
