"""What takes long to show: run with LATH_FULL=1."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lath
from conftest import a_key, resident_bytes

pytestmark = [
    pytest.mark.skipif("LATH_FULL" not in os.environ, reason="long: LATH_FULL is not set"),
    pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc"),
]


def held_bytes() -> int:
    """The memory of this process, without what was freed and is kept for a while."""
    gc.collect()
    lath.release_memory()
    return resident_bytes()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def assert_flat(call: Callable[[int], object], times: int, slack_bytes: int = 4 << 20) -> None:
    """The second half of ``times`` calls takes no more memory, files and threads than the first half left."""
    for at in range(times // 2):
        call(at)
    before = held_bytes(), open_files(), threads()
    for at in range(times // 2, times):
        call(at)
    after = held_bytes(), open_files(), threads()
    assert after[0] <= before[0] + slack_bytes, f"{(after[0] - before[0]) / (times // 2):.0f} bytes a call"
    assert after[1] <= before[1] and after[2] <= before[2] + 1


@pytest.mark.parametrize(
    "read",
    [
        lambda data, key: data.find(f"key = {key}").to_arrow(),
        lambda data, key: data.lookup("key", [key, -1]).to_polars(),
        lambda data, key: list(data.scan(["key"], lath.col("key") == key)),
        lambda data, key: next(iter(data.scan(["key"], batch_size=10))),
        lambda data, key: pa.RecordBatchReader.from_stream(data.scan(["key"])).read_next_batch(),
        lambda data, key: data.explain(f"key = {key}", progress=lambda *_: None),
        lambda data, key: data.find((pl.col("key") == key) & pl.col("file").str.contains("3$")).to_arrow(),
        lambda data, key: next(iter(data.scan(["key"], pc.utf8_length(pc.field("file")) == 6))),
    ],
    ids=["to_arrow", "to_polars", "iterated", "dropped", "stream_dropped", "explained", "by_polars", "by_pyarrow"],
)
def test_scans_leave_nothing_behind(keyed: Path, read: Callable[[lath.Dataset, int], object]) -> None:
    data, key = lath.open(keyed), a_key(keyed)
    assert_flat(lambda at: read(data, key + at), 10_000)


def test_opening_leaves_nothing_behind(keyed: Path) -> None:
    assert_flat(lambda at: lath.open(keyed).count(), 2_000)


def test_errors_leave_nothing_behind(damaged: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyError(done)

    def fail(at: int) -> None:
        with pytest.raises(lath.CorruptError):
            lath.open(damaged).scan().to_arrow()
        with pytest.raises(KeyError):
            lath.open(damaged).scan(["id"], progress=stop).to_arrow()

    assert_flat(fail, 4_000)


def test_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    rows = pa.table({"id": range(1000), "text": [f"{row:x}" for row in range(1000)]})

    def write(at: int) -> None:
        lath.write_table(rows, tmp_path / "file.parquet", bloom_filter_options={"id": True})
        lath.ParquetWriter(tmp_path / "other.parquet", rows.schema).abort()

    assert_flat(write, 4_000)


def test_stores_and_tables_leave_nothing_behind(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    lath.Table.create(tmp_path / "table", schema, key=["id"]).close()

    def use(at: int) -> None:
        store = lath.Store(tmp_path / "store.lath", durability="off")
        store[b"key"] = b"value"
        assert store.snapshot()[b"key"] == b"value" and list(store) == [b"key"]
        with lath.Table.open(tmp_path / "table", durability="off", background=False) as table:
            table.upsert(pa.table({"id": [at % 10]}))
            assert table.get(at % 10) is not None and table.count() <= 10

    assert_flat(use, 1_000)
