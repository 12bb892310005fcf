"""Files that are not named by a path: bytes, file objects, and files of file systems."""

from __future__ import annotations

import io
import pickle
import threading
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import lath
from conftest import TRIPS

FILE = TRIPS / "2025-01.parquet"
WHERE = "price > 12 AND rider.plan = 'by minute'"


class Recording(io.BytesIO):
    """A file that is neither in memory nor local, as far as Lath knows, and records how much is read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.bytes_read = 0

    def read(self, size: int | None = -1) -> bytes:
        part = super().read(size)
        self.bytes_read += len(part)
        return part


class Remote:
    """A file object without a file descriptor, which is no `io.BytesIO` either."""

    def __init__(self, data: bytes) -> None:
        self.inner = Recording(data)

    def read(self, size: int = -1) -> bytes:
        # Raw files may return less.
        return self.inner.read(min(size, 10_000) if size > 0 else size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.inner.seek(offset, whence)

    def tell(self) -> int:
        return self.inner.tell()


def remote() -> Remote:
    return Remote(FILE.read_bytes())


@pytest.mark.parametrize(
    "source",
    [
        FILE.read_bytes(),
        bytearray(FILE.read_bytes()),
        memoryview(FILE.read_bytes()),
        pa.py_buffer(FILE.read_bytes()),
        io.BytesIO(FILE.read_bytes()),
        pa.BufferReader(FILE.read_bytes()),
        remote(),
        [remote(), FILE],
    ],
    ids=["bytes", "bytearray", "memoryview", "buffer", "BytesIO", "BufferReader", "file object", "list"],
)
def test_bytes_and_file_objects_are_files(source: Any) -> None:
    files = 2 if isinstance(source, list) else 1
    dataset = lath.open(source)
    assert len(dataset.files) == files
    assert dataset.count(WHERE) == files * lath.open(FILE).count(WHERE) > 0
    assert dataset.scan(["price"]).to_arrow().num_rows == sum(len(batch) for batch in dataset.scan(["price"]))
    expected = lath.read_table(FILE, filters=[("price", ">", 12)])
    # The first file of several is read first.
    found = lath.read_table(source, filters=[("price", ">", 12)])
    assert found.slice(0, expected.num_rows).to_pydict() == expected.to_pydict()


def test_an_open_file_is_read_and_stays_open() -> None:
    with open(FILE, "rb") as file:
        file.seek(7)
        assert lath.open(file).count(WHERE) == lath.open(FILE).count(WHERE)
        assert not file.closed
        assert lath.open(file).files == [str(FILE)]


def test_only_what_a_condition_needs_is_read_of_a_file_object() -> None:
    file = remote()
    found = lath.open(file).find("started < TIMESTAMP '2025-01-02'", ["price"]).to_arrow()
    assert found == lath.open(FILE).find("started < TIMESTAMP '2025-01-02'", ["price"]).to_arrow()
    assert 0 < file.inner.bytes_read < FILE.stat().st_size / 2


def test_other_libraries_take_rows_of_file_objects() -> None:
    dataset = lath.open(remote())
    count = lath.open(FILE).count()
    reader = pa.RecordBatchReader.from_stream(dataset.scan(["price"]))
    relation = duckdb.sql("SELECT count(*) FROM reader")
    assert relation is not None and relation.fetchall() == [(count,)]
    assert pl.DataFrame(dataset.scan(["price"])).height == count
    assert pl.DataFrame(iter(dataset.scan(["price"]))).height == count
    assert lath.sql("SELECT count(*) FROM trips", trips=dataset).fetchone() == (count,)
    assert lath.scan_polars(dataset).select(pl.len()).collect().item() == count


def test_threads_read_one_file_object() -> None:
    dataset = lath.open(remote())
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(dataset.count(WHERE))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [lath.open(FILE).count(WHERE)] * 4


def test_an_iteration_of_a_file_object_can_be_dropped() -> None:
    for _ in range(3):
        batches = iter(lath.open(remote()).scan(batch_size=10))
        next(batches)
        del batches
        with iter(lath.open(remote()).scan(batch_size=10)) as closed:
            next(closed)


def test_an_exception_of_a_file_object_is_the_cause() -> None:
    file = remote()
    dataset = lath.open(file)
    dataset.files

    def fail(*_: object) -> int:
        raise ZeroDivisionError("broken")

    file.seek = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(lath.IoError, match="broken") as error:
        dataset.scan(["price"]).to_arrow()
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_what_is_no_file_is_refused_in_plain_words() -> None:
    for wrong in (17, None, object(), [17]):
        with pytest.raises(TypeError, match="paths: give paths, URLs, bytes or file objects, not"):
            lath.open(wrong)  # type: ignore[arg-type]
    with pytest.raises(lath.NotParquetError):
        lath.open(b"too short")


@pytest.fixture
def memory(trips_table: pa.Table) -> MemoryFileSystem:
    """A file system of fsspec with a file for each month in directories."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    for month, file in enumerate(sorted(TRIPS.glob("*.parquet")), 1):
        system.pipe_file(f"/trips/month={month}/part.parquet", file.read_bytes())
    system.pipe_file("/trips/_note.txt", b"no file of rows")
    return system


def test_folders_of_fsspec_are_read_with_their_partitions(memory: MemoryFileSystem) -> None:
    dataset = lath.open("/trips", filesystem=memory)
    assert dataset.partitions == ["month"]
    assert (dataset.count(), dataset.count("month = 2")) == (30000, 10000)
    assert lath.read_table("memory://trips/month=1/part.parquet", filesystem=memory).num_rows == 10000
    assert pickle.loads(pickle.dumps(dataset)).count("month = 2") == 10000
    assert lath.open("memory://trips").count("month = 2") == lath.open("fsspec+memory://trips").count("month = 2") == 10000
    for url in ("nothing://x", "fsspec+nothing://x"):
        with pytest.raises(lath.InvalidError, match="nothing://x"):
            lath.open(url)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        lath.open("/nowhere", filesystem=memory)


def test_folders_of_pyarrow_are_read(memory: MemoryFileSystem, tmp_path: Path) -> None:
    system = pafs.PyFileSystem(pafs.FSSpecHandler(memory))
    assert lath.open("/trips", filesystem=system).count("month = 3") == 10000
    local = pafs.SubTreeFileSystem(str(TRIPS), pafs.LocalFileSystem())
    assert lath.open("2025-01.parquet", filesystem=local).files == [str(FILE)]
    assert lath.open("2025-01.parquet", filesystem=TRIPS.as_uri()).files == [str(FILE)]
    with pytest.raises(TypeError, match="filesystem: give a file system of pyarrow or fsspec"):
        lath.open("x", filesystem=7)


@pytest.mark.parametrize("is_arrow", [False, True])
def test_files_are_written_to_file_systems(memory: MemoryFileSystem, is_arrow: bool) -> None:
    system: Any = pafs.PyFileSystem(pafs.FSSpecHandler(memory)) if is_arrow else memory
    table = pa.table({"id": range(100)})
    assert lath.write_table(table, "/new/ids.parquet", filesystem=system).rows == 100
    assert lath.read_table("/new/ids.parquet", filesystem=system) == table
    lath.write_table(table, "memory://new/by-url.parquet")
    assert lath.read_table("memory://new/by-url.parquet") == table
    with pytest.raises(ZeroDivisionError), lath.ParquetWriter("/new/half.parquet", table.schema, filesystem=system) as writer:
        writer.write(table)
        raise ZeroDivisionError
    assert not memory.exists("/new/half.parquet")


def test_storage_options_replace_the_environment(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lath.write_table(pa.table({"id": range(10)}), "s3://lath/ids.parquet")
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    options = {
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
        "aws_region": "us-east-1",
        "aws_endpoint_url": endpoint,
    }
    assert lath.open("s3://lath/ids.parquet", storage_options=options).count() == 10
    dataset = lath.open("s3://lath/ids.parquet", storage_options=options)
    assert pickle.loads(pickle.dumps(dataset)).files == ["s3://lath/ids.parquet"]
    assert lath.sql("SELECT count(*) FROM ids", ids=dataset).fetchone() == (10,)
    assert lath.read_table("s3://lath/ids.parquet", storage_options=options).num_rows == 10


def test_unknown_storage_options_are_errors() -> None:
    with pytest.raises(ValueError, match="storage_options: there is no option \"colour\""):
        lath.open("s3://lath/x", storage_options={"colour": "red"})
    with pytest.raises(ValueError, match="need access_key_id and secret_access_key"):
        lath.open("s3://lath/x", storage_options={"endpoint_url": "http://localhost:1"})
