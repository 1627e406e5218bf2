"""In one process with other libraries, and in processes that were forked."""

import multiprocessing
import pathlib
import subprocess
import sys

import pytest

import brightnet
from conftest import SOURCE


def use(data: str, run: str) -> str:
    """In another process."""
    try:
        batch = next(iter(brightnet.Dataset(data, batch=2, size=64)))
        found = brightnet.Detector(run, device="cpu", confidence=0.01)(batch.images[0])
        return f"worked {len(found)}"
    except brightnet.InputError as error:
        return str(error)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_work_or_are_refused_clearly(method, data, run):
    with multiprocessing.get_context(method).Pool(1) as pool:
        said = pool.apply_async(use, (str(data), str(run.weights))).get(timeout=120)
    if method == "fork":
        assert 'multiprocessing\'s "spawn" or "forkserver"' in said
    else:
        assert said.startswith("worked"), said


def test_a_process_that_has_not_used_it_may_fork(data, run):
    script = f"""
import multiprocessing, sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import brightnet
from test_processes import use
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(*pool.starmap(use, [({str(data)!r}, {str(run.weights)!r})] * 2))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("worked"), done.stdout + done.stderr


def test_objects_of_the_parent_end_quietly_in_a_forked_child(data, run):
    dataset = brightnet.Dataset(data, batch=2, size=64, epochs=3)
    held = [iter(dataset), brightnet.Detector(run.weights, device="cpu")]
    batches = held[0]
    next(batches)

    def drop():
        nonlocal batches
        del batches
        held.clear()

    child = multiprocessing.get_context("fork").Process(target=drop)
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert next(batches).step == 1, "the parent's goes on"


def test_a_process_ends_quietly_while_its_daemon_threads_compute(data, run):
    script = f"""
import threading, time
import brightnet
detector = brightnet.Detector({str(run.weights)!r}, device="cpu")
batches = brightnet.Dataset({str(data)!r}, batch=2, size=64, epochs=1000000)
def detect():
    for batch in batches:
        detector(list(batch.images))
threading.Thread(target=detect, daemon=True).start()
time.sleep(1)
print("leaves")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaves\n", "")


def test_opencv_keeps_its_number_of_threads(data, tmp_path):
    pytest.importorskip("cv2", reason="no OpenCV that brightnet could share")
    script = f"""
import sys
import cv2
cv2.setNumThreads(3)
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import brightnet
from conftest import SHORT
said = [cv2.getNumThreads()]
brightnet.train(data={str(data)!r}, out={str(tmp_path / "run")!r}, **SHORT)
said.append(cv2.getNumThreads())
batches = iter(brightnet.Dataset({str(data)!r}, batch=2, size=64))
next(batches)
del batches
said.append(cv2.getNumThreads())
print(*said)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "3 3 3\n", done.stdout + done.stderr


def test_it_works_beside_other_libraries():
    done = subprocess.run(
        [sys.executable, SOURCE / "scripts/check_python_beside"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode in (0, 77), done.stdout + done.stderr
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
