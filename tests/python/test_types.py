"""The stubs: mypy --strict on the package and on the examples, and the module as the stubs describe it."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

import brightnet
from conftest import SOURCE

pytest.importorskip("mypy", reason="no mypy")


def mypy(*arguments: object, cwd: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


def pages(folder: pathlib.Path) -> list[pathlib.Path]:
    """The blocks of docs/python.md, a file each."""
    blocks = re.findall(r"```python\n(.*?)```", (SOURCE / "docs/python.md").read_text(), re.DOTALL)
    files = [folder / f"block{number}.py" for number in range(len(blocks))]
    for file, block in zip(files, blocks, strict=True):
        file.write_text("import brightnet\n" + block)
    assert len(files) > 5
    return files


def test_package_and_examples_pass_mypy_strict(tmp_path):
    package = pathlib.Path(brightnet.__file__).parent
    assert (package / "py.typed").exists()
    # Of libraries that are not installed or have no types nothing is known.
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache"]
    mypy("mypy", *options, package, *sorted((SOURCE / "examples/python").glob("*.py")), *pages(tmp_path), cwd=package.parent)


def declared(stub: str) -> dict[str, list[str]]:
    """The functions and methods of a stub, each with the names of its arguments."""
    found = {}
    for node in ast.parse(stub).body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        inside = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for member in members:
            if isinstance(member, ast.FunctionDef):
                found[inside + member.name] = [argument.arg for argument in member.args.args]
    return found


def test_the_stub_describes_the_module(tmp_path):
    pytest.importorskip("nanobind", reason="no nanobind")
    done = subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-m", "brightnet._brightnet", "-o", tmp_path / "found.pyi"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    package = pathlib.Path(brightnet.__file__).parent
    ours = declared((package / "_brightnet.pyi").read_text())
    assert ours == declared((tmp_path / "found.pyi").read_text())
    assert len(ours) > 20
