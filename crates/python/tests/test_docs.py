"""The examples of the documentation and of the package."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import lath
from conftest import REPOSITORY

SOURCES = [
    REPOSITORY / "docs/python.md",
    REPOSITORY / "docs/python-reference.md",
    Path(lath.__file__),
    REPOSITORY / "docs/tables.md",
    REPOSITORY / "README.md",
    REPOSITORY / "crates/python/README.md",
]
NAMES = [name for name in [*lath.__all__, "ArrowDataset", "Result", "Session", "arrow_dataset"] if name != "__version__"]


@pytest.mark.parametrize("source", SOURCES, ids=["guide", "reference", "package", "tables", "readme", "package page"])
def test_examples_are_true(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    monkeypatch.chdir(tmp_path)
    # The closing fence is no output.
    text = source.read_text().replace("\n```", "\n\n").replace('"""\n\nfrom', '\n\nfrom')
    test = doctest.DocTestParser().get_doctest(text, {}, source.name, str(source), 0)
    assert test.examples
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    results = doctest.DocTestRunner(optionflags=flags).run(test)
    assert results.failed == 0


def test_the_reference_is_what_the_docstrings_say() -> None:
    subprocess.run([sys.executable, REPOSITORY / "crates/python/reference", "--check"], check=True)
    text = SOURCES[1].read_text()
    for name in NAMES:
        assert f"### `{name}`" in text or f"| `{name}` |" in text, name


def test_every_public_name_has_a_docstring() -> None:
    for name in NAMES:
        assert getattr(lath, name).__doc__, name
