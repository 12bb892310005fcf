"""A process that ``fork`` made reads files as its parent does, and leaves alone what the parent has open."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lath
from conftest import TRIPS

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    # From 3.12 on, Python warns of forks of processes with threads: these tests are of nothing else.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def in_fork(work: Callable[[], Any]) -> Any:
    """What ``work`` returns in a forked process. One that hangs is killed, and fails the test."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                answer = (True, work())
            except BaseException as error:
                answer = (False, f"{type(error).__name__}: {error}")
            os.write(write, pickle.dumps(answer))
        finally:
            os._exit(0)
    os.close(write)
    alarm = threading.Timer(30, os.kill, (child, signal.SIGKILL))
    alarm.start()
    with open(read, "rb") as file:
        answer = file.read()
    os.waitpid(child, 0)
    alarm.cancel()
    assert answer, "the forked process hung or crashed"
    worked, result = pickle.loads(answer)
    assert worked, result
    return result


def message(work: Callable[[], object]) -> str:
    """The error of a call that has to fail for the fork."""
    with pytest.raises(lath.InvalidError, match="belongs to the process that this one was forked from") as error:
        work()
    return str(error.value)


def counts(data: lath.Dataset) -> tuple[int, int, int, int]:
    return (
        data.count("price > 12"),
        data.scan(["price"]).to_arrow().num_rows,
        sum(map(len, data.scan(["price"]))),
        data.lookup("from", ["Harbour"]).count(),
    )


def test_datasets_are_read_after_a_fork(trips: lath.Dataset) -> None:
    expected = counts(trips)
    assert in_fork(lambda: counts(trips)) == expected
    assert in_fork(lambda: counts(lath.open(TRIPS))) == expected
    assert in_fork(lambda: in_fork(lambda: counts(trips))) == expected


def test_datasets_are_read_after_a_fork_amid_scans(large: Path, trips: lath.Dataset) -> None:
    slow, stop = lath.open(f"@{large}"), threading.Event()

    def enough(done: int, total: int | None) -> None:
        raise InterruptedError

    def search() -> None:
        while not stop.is_set():
            with pytest.raises(InterruptedError):
                slow.count("text LIKE '%nothing%g%'", progress=enough)
            trips.count("price > 3")

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            time.sleep(0.01)
            assert in_fork(lambda: counts(trips)) == counts(trips)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_scans_that_run_are_not_shared(trips: lath.Dataset) -> None:
    scan = trips.scan(["price"])
    batches = iter(scan)
    first = len(next(batches))
    reader = pa.RecordBatchReader.from_stream(trips.scan(["price"]))

    def child() -> None:
        message(scan.to_arrow)
        message(lambda: next(batches))
        with pytest.raises(OSError, match="forked"):
            reader.read_all()
        batches.close()
        scans.clear()

    scans = [scan, batches, reader]
    in_fork(child)
    assert first + sum(map(len, batches)) == 30000 == reader.read_all().num_rows


def test_files_that_are_written_are_left_alone(tmp_path: Path) -> None:
    rows = pa.table({"id": range(1000)})
    writer = lath.ParquetWriter(tmp_path / "file.parquet", rows, threads=2)
    writer.write(rows)

    def child() -> None:
        message(lambda: writer.write(rows))
        message(writer.close)
        writer.abort()
        writers.clear()

    writers = [writer]
    in_fork(child)
    writer.write(rows)
    writer.close()
    assert lath.open(tmp_path / "file.parquet").count() == 2000


def test_stores_are_not_shared(tmp_path: Path) -> None:
    store = lath.Store(tmp_path / "store.lath")
    store[b"a"] = b"1"
    snapshot = store.snapshot()
    entries = iter(store)
    transaction = store.transaction()
    transaction[b"b"] = b"2"

    def child() -> object:
        for call in (
            lambda: store[b"a"],
            lambda: store.update({b"c": b"3"}),
            lambda: snapshot[b"a"],
            lambda: next(entries),
            lambda: transaction[b"b"],
            transaction.commit,
            store.sync,
            store.snapshot,
        ):
            message(call)
        transaction.abort()
        things.clear()
        with lath.Store(tmp_path / "other.lath").transaction() as other:
            other[b"a"] = b"9"
        return lath.Store(tmp_path / "store.lath", read_only=True)[b"a"]

    things = [store, snapshot, entries, transaction]
    assert in_fork(child) == b"1"
    transaction.commit()
    store[b"c"] = b"3"
    assert list(store) == [b"a", b"b", b"c"] and list(snapshot) == [b"a"] == list(entries)
    assert lath.Store(tmp_path / "other.lath")[b"a"] == b"9"


def test_tables_are_not_shared(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    table = lath.Table.create(tmp_path / "table", schema, key=["id"])
    table.keep_changes()
    table.upsert(pa.table({"id": range(100)}))
    snapshot = table.snapshot()
    scan, changes = table.scan(), snapshot.changes(0)
    batches = iter(scan)

    def child() -> int:
        for call in (
            lambda: table.get(1),
            lambda: table.upsert(pa.table({"id": [1]})),
            lambda: snapshot.get(1),
            scan.to_arrow,
            changes.to_arrow,
            lambda: next(batches),
            table.flush,
        ):
            message(call)
        table.close()
        things.clear()
        return lath.Table.open(tmp_path / "table", read_only=True).count()

    things = [table, snapshot, scan, changes, batches]
    assert in_fork(child) == 100
    table.delete([5])
    assert table.count() == 99 and snapshot.count() == 100
    assert sum(map(len, batches)) == 100
    table.close()
    assert lath.Table.open(tmp_path / "table").count() == 99


def test_processes_of_multiprocessing_share_the_work() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answer = pool.map_async(rows_of, range(3)).get(timeout=60)
    assert answer == [10000, 10000, 10000]


DATA = lath.open(TRIPS)


def rows_of(file: int) -> int:
    return lath.open(DATA.files[file]).scan(["price"]).to_arrow().num_rows
