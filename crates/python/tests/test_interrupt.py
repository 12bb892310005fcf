"""Ctrl-C ends long calls and iteration."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
@pytest.mark.parametrize(
    "call",
    [
        "data.count(\"text LIKE '%nothing%g%'\")",
        "data.find(\"text LIKE '%nothing%g%'\").to_arrow()",
        "for batch in data.find(\"text LIKE '%nothing%g%'\"): pass",
        "data.explain(\"text LIKE '%nothing%g%'\")",
        "lath.sql(\"SELECT count(*) FROM data WHERE text LIKE '%nothing%g%'\", data=data).to_arrow()",
        "for batch in lath.sql(\"SELECT * FROM data WHERE text LIKE '%nothing%g%'\", data=data): pass",
        "print(lath.sql('SELECT count(*) FROM generate_series(1, 100000000000000) t'))",
        "lath.sql('COPY (SELECT * FROM generate_series(1, 100000000000000) t) TO \\'rows.parquet\\'')",
    ],
)
def test_control_c_is_raised(large: Path, call: str, tmp_path: Path) -> None:
    code = f"""
import sys, lath
data = lath.open("@{large}")
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
else:
    print("ended by itself")
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    os.kill(child.pid, signal.SIGINT)
    started = time.monotonic()
    assert child.communicate(timeout=60)[0] == "interrupted\n"
    assert time.monotonic() - started < 5
    assert child.returncode == 0
    assert not (tmp_path / "rows.parquet").exists()
