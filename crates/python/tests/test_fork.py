"""A process that ``fork`` made reads files as its parent does, and leaves alone what the parent has open."""

from __future__ import annotations

import gc
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
        written = file.read()
    os.waitpid(child, 0)
    alarm.cancel()
    assert written, "the forked process hung or crashed"
    worked, result = pickle.loads(written)
    assert worked, result
    return result


def refused(work: Callable[[], object]) -> None:
    """Checks the error of a call that has to fail for the fork."""
    with pytest.raises(lath.InvalidError, match="belongs to the process that this one was forked from"):
        work()


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


class Held:
    """What a parent has open, and a child drops."""

    batches: Any
    changes: Any
    dropped: Any
    entries: Any
    reader: Any
    scan: Any
    snapshot: Any
    store: Any
    table: Any
    transaction: Any
    writer: Any

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def drop(self) -> None:
        self.__dict__.clear()
        gc.collect()


def test_scans_that_run_are_not_shared(trips: lath.Dataset) -> None:
    held = Held(scan=trips.scan(["price"]))
    held.batches = iter(held.scan)
    first = len(next(held.batches))
    held.reader = pa.RecordBatchReader.from_stream(trips.scan(["price"]))

    def child() -> None:
        refused(lambda: held.scan.to_arrow())
        refused(lambda: next(held.batches))
        with pytest.raises((OSError, ValueError), match="forked"):
            held.reader.read_all()
        held.batches.close()
        held.drop()

    in_fork(child)
    assert first + sum(map(len, held.batches)) == 30000 == held.reader.read_all().num_rows


def test_files_that_are_written_are_left_alone(tmp_path: Path) -> None:
    rows = pa.table({"id": range(1000)})
    held = Held(
        writer=lath.ParquetWriter(tmp_path / "file.parquet", rows.schema, threads=2),
        dropped=lath.ParquetWriter(tmp_path / "dropped.parquet", rows.schema),
    )
    held.writer.write(rows)
    held.dropped.write(rows)

    def child() -> None:
        refused(lambda: held.writer.write(rows))
        refused(lambda: held.writer.close())
        held.writer.abort()
        held.drop()

    in_fork(child)
    for writer in (held.writer, held.dropped):
        writer.write(rows)
        writer.close()
    assert lath.open(tmp_path / "file.parquet").count() == 2000 == lath.open(tmp_path / "dropped.parquet").count()


def test_stores_are_not_shared(tmp_path: Path) -> None:
    held = Held(store=lath.Store(tmp_path / "store.lath"))
    held.store[b"a"] = b"1"
    held.snapshot, held.entries = held.store.snapshot(), iter(held.store)
    held.transaction = held.store.transaction()
    held.transaction[b"b"] = b"2"

    def child() -> object:
        for call in (
            lambda: held.store[b"a"],
            lambda: held.store.update({b"c": b"3"}),
            lambda: held.snapshot[b"a"],
            lambda: next(held.entries),
            lambda: held.transaction[b"b"],
            lambda: held.transaction.commit(),
            lambda: held.store.sync(),
            lambda: held.store.snapshot(),
        ):
            refused(call)
        held.transaction.abort()
        held.drop()
        with lath.Store(tmp_path / "other.lath").transaction() as other:
            other[b"a"] = b"9"
        return lath.Store(tmp_path / "store.lath", read_only=True)[b"a"]

    assert in_fork(child) == b"1"
    held.transaction.commit()
    held.store[b"c"] = b"3"
    assert list(held.store) == [b"a", b"b", b"c"]
    assert list(held.snapshot) == [b"a"] == list(held.entries)
    assert lath.Store(tmp_path / "other.lath")[b"a"] == b"9"


def test_tables_are_not_shared(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    held = Held(table=lath.Table.create(tmp_path / "table", schema, key=["id"]))
    held.table.keep_changes()
    start = held.table.snapshot().version
    held.table.upsert(pa.table({"id": range(100)}))
    held.snapshot = held.table.snapshot()
    held.scan, held.changes = held.table.scan(), held.snapshot.changes(start)
    held.batches = iter(held.scan)

    def child() -> int:
        for call in (
            lambda: held.table.get(1),
            lambda: held.table.upsert(pa.table({"id": [1]})),
            lambda: held.snapshot.get(1),
            lambda: held.scan.to_arrow(),
            lambda: held.changes.to_arrow(),
            lambda: next(held.batches),
            lambda: held.table.flush(),
        ):
            refused(call)
        held.table.close()
        held.drop()
        return lath.Table.open(tmp_path / "table", read_only=True).count()

    assert in_fork(child) == 100
    held.table.delete([5])
    assert held.table.count() == 99 and held.snapshot.count() == 100
    assert sum(map(len, held.batches)) == 100
    held.drop()
    assert lath.Table.open(tmp_path / "table").count() == 99


def test_processes_of_multiprocessing_share_the_work() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answer = pool.map_async(rows_of, range(3)).get(timeout=60)
    assert answer == [10000, 10000, 10000]


DATA = lath.open(TRIPS)


def rows_of(file: int) -> int:
    rows: int = lath.open(DATA.files[file]).scan(["price"]).to_arrow().num_rows
    return rows


def test_sql_runs_after_a_fork_and_open_sessions_are_refused(trips: lath.Dataset) -> None:
    query = "SELECT count(*) AS rows FROM trips WHERE price > 12"

    def count() -> int:
        return int(lath.sql(query, trips=trips).to_arrow()["rows"][0].as_py())

    expected = count()
    session = lath.Session()
    session.register("trips", trips)
    result, second = session.sql(query), session.sql(query)
    # A thread that computes at the time of a fork may hold a lock for ever in the child: here both have their rows.
    assert repr(result) == repr(second)
    batches = iter(second)

    def in_child() -> int:
        for work in (lambda: session.sql(query), result.to_arrow, lambda: next(batches), lambda: repr(result)):
            refused(work)
        result.close()
        batches.close()
        session.close()
        return count()

    assert in_fork(in_child) == expected == trips.count("price > 12")
    assert result.to_arrow()["rows"].to_pylist() == next(batches).to_arrow()["rows"].to_pylist() == [expected]
