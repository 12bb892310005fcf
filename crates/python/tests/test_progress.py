"""What is told of long work, and how what is told ends it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lath

#: Ways to read all rows of a scan.
READS: list[Callable[[lath.Scan], object]] = [
    lath.Scan.to_arrow,
    lath.Scan.to_polars,
    lath.Scan.count,
    list,
    lambda scan: pa.RecordBatchReader.from_stream(scan).read_all(),
]
SLOW = "text LIKE '%nothing%g%'"


@pytest.fixture
def slow(large: Path) -> lath.Dataset:
    return lath.open(f"@{large}")


@pytest.mark.parametrize("read", READS)
def test_the_last_call_has_all_rows(trips: lath.Dataset, read: Callable[[lath.Scan], object]) -> None:
    calls: list[tuple[int, int | None]] = []
    read(trips.scan(["price"], progress=lambda *position: calls.append(position)))
    assert calls[-1] == (30000, 30000)
    assert calls == sorted(calls)


def test_rows_that_are_ruled_out_do_not_count(keyed: Path) -> None:
    data = lath.open(keyed)
    calls: list[tuple[int, int | None]] = []
    report = data.explain("key = 3", progress=lambda *position: calls.append(position))
    assert calls[-1] == (report.rows_tested, report.rows_left) and report.rows_left < report.rows == 10_000
    data.lookup("key", [3], progress=lambda *position: calls.append(position)).to_arrow()
    assert calls[-1] == calls[0] and len(calls) == 2


def test_calls_come_while_work_goes_on(slow: lath.Dataset) -> None:
    class Enough(Exception):
        pass

    calls: list[tuple[float, int, threading.Thread]] = []

    def note(done: int, total: int | None) -> None:
        # Known when all files are planned, some of which are read by then.
        assert total in (None, 9_000_000)
        calls.append((time.monotonic(), done, threading.current_thread()))
        if len(calls) == 4:
            raise Enough

    with pytest.raises(Enough):
        slow.count(SLOW, progress=note)
    times, rows, threads = zip(*calls)
    assert 0 < rows[0] < rows[-1] < 9_000_000 and sorted(rows) == list(rows)
    assert all(later - earlier > 0.05 for earlier, later in zip(times, times[1:]))
    assert set(threads) == {threading.current_thread()}


@pytest.mark.parametrize("read", READS[:4])
@pytest.mark.parametrize("on_main_thread", [True, False])
def test_what_it_raises_ends_a_scan(
    slow: lath.Dataset, read: Callable[[lath.Scan], object], on_main_thread: bool
) -> None:
    raised: list[BaseException] = []

    def fail(done: int, total: int | None) -> None:
        raise KeyError(done)

    def run() -> None:
        with pytest.raises(KeyError) as error:
            read(slow.find(SLOW, progress=fail))
        raised.append(error.value)

    started = time.monotonic()
    if on_main_thread:
        run()
    else:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert len(raised) == 1 and time.monotonic() - started < 5


def test_other_libraries_raise_what_it_says(slow: lath.Dataset) -> None:
    def fail(done: int, total: int | None) -> None:
        raise KeyError("enough of this")

    with pytest.raises((OSError, ValueError), match="enough of this"):
        pa.RecordBatchReader.from_stream(slow.find(SLOW, progress=fail)).read_all()


def test_writing_counts_rows(trips: lath.Dataset, tmp_path: Path) -> None:
    calls: list[tuple[int, int | None]] = []

    def note(*position: Any) -> None:
        calls.append(position)

    table = trips.scan(["price"]).to_arrow()
    lath.write_table(table, tmp_path / "known.parquet", progress=note)
    assert calls == [(30000, 30000)]
    lath.write_table(trips.scan(["price"]), tmp_path / "unknown.parquet", progress=note)
    assert calls[1:] == [(30000, None)]
    assert lath.read_table(tmp_path / "known.parquet", progress=note) == table
    assert calls[2:] == [(30000, 30000)]


def test_what_it_raises_gives_a_file_up(slow: lath.Dataset, tmp_path: Path) -> None:
    def fail(done: int, total: int | None) -> None:
        raise KeyError(done)

    with pytest.raises(KeyError):
        lath.write_table(slow.scan(), tmp_path / "file.parquet", progress=fail)
    assert not list(tmp_path.iterdir())


def test_tables_tell_what_they_took(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    table = lath.Table.create(tmp_path / "table", schema, key=["id"])
    calls: list[tuple[int, int | None]] = []
    table.upsert(pa.table({"id": range(1000)}), progress=lambda *position: calls.append(position))
    assert calls == [(1000, 1000)]

    def slowly() -> Iterator[pa.RecordBatch]:
        for first in range(1000, 5000, 10):
            time.sleep(0.01)
            yield pa.record_batch({"id": range(first, first + 10)}, schema)

    def fail(done: int, total: int | None) -> None:
        assert 0 < done < 4000 and total is None
        raise KeyError(done)

    with pytest.raises(KeyError):
        table.insert(pa.RecordBatchReader.from_batches(schema, slowly()), progress=fail)
    assert table.count() == 1000
    table.close()


def test_true_shows_a_bar(trips: lath.Dataset, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    trips.scan(["price"], progress=True).to_arrow()
    shown = capsys.readouterr().err
    assert "100%" in shown and "30.0k/30.0k" in shown
    trips.scan(["price"], progress=False).to_arrow()
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(lath.InvalidError, match="pip install tqdm"):
        trips.scan(["price"], progress=True)


def test_nothing_else_is_taken(trips: lath.Dataset) -> None:
    with pytest.raises(TypeError, match="give True, or a function"):
        trips.find("price > 3", progress="yes")  # type: ignore[arg-type]
