"""The stubs: mypy --strict on the package and on the examples, and the module as the stubs describe it."""

import pathlib
import subprocess
import sys

import pytest

import brightnet
from conftest import SOURCE

pytest.importorskip("mypy", reason="no mypy")


def mypy(*arguments: object, cwd: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_and_examples_pass_mypy_strict(tmp_path):
    package = pathlib.Path(brightnet.__file__).parent
    assert (package / "py.typed").exists()
    # Of libraries that are not installed or have no types nothing is known.
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache"]
    mypy("mypy", *options, package, *sorted((SOURCE / "examples/python").glob("*.py")), cwd=package.parent)


def test_the_stub_describes_the_module(tmp_path):
    package = pathlib.Path(brightnet.__file__).parent
    (tmp_path / "allowed").write_text(".*__.*__\n")
    mypy("mypy.stubtest", "brightnet._brightnet", "--allowlist", tmp_path / "allowed",
         "--ignore-unused-allowlist", cwd=package.parent)
