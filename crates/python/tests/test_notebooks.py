"""The notebooks of the documentation run, and are kept without what they show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    text = path.read_text()
    notebook = json.loads(text)
    nbformat.validate(notebook)
    for cell in notebook["cells"]:
        assert cell["cell_type"] != "code" or (cell["outputs"] == [] and cell["execution_count"] is None)
    assert text == json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


# The client of notebooks, and the event loop that it leaves behind, warn.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("name", "reports"), [("needles", 4), ("tables", 0)])
def test_notebooks_run(name: str, reports: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So that the folders that they make are removed with the folders of the tests.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = nbformat.read(REPOSITORY / f"docs/notebooks/{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown: list[Any] = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if output.output_type != "stream"
    ]
    assert sum("lath-report" in output.get("data", {}).get("text/html", "") for output in shown) == reports
    # Each code cell that ends in a value shows it.
    assert len(shown) >= 7
