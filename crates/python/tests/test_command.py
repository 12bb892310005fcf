"""``python -m lath`` is the ``lath`` command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lath
from conftest import TRIPS
from lath._lath import HAS_SQL

COMMAND = [sys.executable, "-m", "lath"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def test_results_go_to_standard_output(trips: lath.Dataset) -> None:
    schema = run("schema", trips.files[0])
    assert schema.returncode == 0 and schema.stderr == ""
    assert all(name in schema.stdout for name in trips.schema.names)
    found = run("find", TRIPS, "--where", "price > 12", "--select", "price,started", "--format", "jsonl")
    assert found.returncode == 0
    prices = [json.loads(line)["price"] for line in found.stdout.splitlines()]
    assert len(prices) == trips.count("price > 12") > 0 and min(map(float, prices)) > 12


def test_help_is_that_of_the_command() -> None:
    shown = run("--help")
    assert shown.returncode == 0 and shown.stderr == ""
    assert "Usage: lath <COMMAND>" in shown.stdout and "Exit codes" in shown.stdout
    assert run("--version").stdout == f"lath {lath.__version__}\n"


def test_exit_codes_are_those_of_the_command(damaged: Path, tmp_path: Path) -> None:
    nothing = run("find", TRIPS, "--where", "price < 0")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    usage = run("find", TRIPS, "--were", "price < 0")
    assert usage.returncode == 2 and "unexpected argument '--were'" in usage.stderr
    assert run("find", TRIPS, "--where", "prize < 0").returncode == 2
    corrupt = run("cat", damaged)
    assert corrupt.returncode == 3 and corrupt.stderr.startswith("error: ")
    missing = run("schema", tmp_path / "none.parquet")
    assert missing.returncode == 4 and "none.parquet" in missing.stderr


def test_the_command_has_sql() -> None:
    result = run("sql", f"SELECT count(*) AS rows FROM '{TRIPS}'")
    assert (result.returncode, json.loads(result.stdout)) == (0, {"rows": 30000})
    assert run("describe", TRIPS, "--columns", "price").stdout.count("price") == 1
    assert run("sql", "SELECT pric FROM t").returncode == 2


def test_without_the_package_for_sql_the_command_says_so() -> None:
    code = "import sys; sys.modules['lath_sql'] = None; from lath.__main__ import main; main()"
    result = subprocess.run([sys.executable, "-c", code, "sql", "SELECT 1"], capture_output=True, text=True, timeout=60)
    if HAS_SQL:
        assert result.returncode == 0
    else:
        assert result.returncode == 2 and "pip install lath[sql]" in result.stderr
    count = subprocess.run([sys.executable, "-c", code, "count", TRIPS], capture_output=True, text=True, timeout=60)
    assert (count.returncode, count.stdout) == (0, "30000\n")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode")
def test_names_of_files_may_be_any_bytes(trips: lath.Dataset, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.parquet"
    os.symlink(os.fsencode(os.path.abspath(trips.files[0])), name)
    result = subprocess.run([*map(os.fsencode, COMMAND), b"count", name], capture_output=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, b"10000\n")


def test_a_closed_pipe_is_no_error() -> None:
    child = subprocess.Popen(
        [*COMMAND, "cat", str(TRIPS), "--format", "csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline().count(",") == 9
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(timeout=60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="when the command runs is read from /proc")
def test_a_signal_ends_the_command_and_removes_unfinished_files(large: Path, tmp_path: Path) -> None:
    # Tests may have been started to ignore it, as what a shell runs in the background is.
    child = subprocess.Popen(
        [*COMMAND, "cat", f"@{large}", "--output", str(tmp_path / "rows.csv")],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not any(tmp_path.iterdir()):
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[1] == b""
    assert child.returncode == -signal.SIGINT
    assert not any(tmp_path.iterdir())
