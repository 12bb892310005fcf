"""What the tests read."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lath

REPOSITORY = Path(__file__).parents[3]
TRIPS = REPOSITORY / "examples/data/trips"

# pytest-run-parallel asks whatever a test calls for this attribute, and `pl.col` answers with a column.
type(pl.col).is_hypothesis_test = False  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def trips() -> lath.Dataset:
    """The trips of the examples: 30,000 rows in three files."""
    return lath.open(TRIPS)


@pytest.fixture(scope="session")
def trips_table() -> pa.Table:
    """The same, read by pyarrow."""
    return pa.concat_tables(pq.read_table(file, partitioning=None) for file in sorted(TRIPS.glob("*.parquet")))


@pytest.fixture(scope="session")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 1,000 numbers with a flipped bit, which its checksum finds."""
    path = tmp_path_factory.mktemp("damaged") / "numbers.parquet"
    lath.write_table(pa.table({"id": range(1000), "number": [row / 8 for row in range(1000)]}), path)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    data = bytearray(path.read_bytes())
    data[chunk.data_page_offset + chunk.total_compressed_size - 3] ^= 1
    path.write_bytes(data)
    return path


def resident_bytes() -> int:
    """The memory of this process, on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def a_key(folder: Path) -> int:
    """A key of the files of `keyed` that lies amid those of every row group."""
    key: int = pq.read_table(folder / "3.parquet")["key"][400].as_py()
    return key


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    """Ten files of 1,000 rows in four row groups, with Bloom filters on the key, which no statistics can rule out."""
    for file in range(10):
        keys = [(row * 7919 + file) % 10_007 * 10 + file for row in range(1000)]
        table = pa.table({"key": pa.array(keys, pa.int64()), "file": pa.array([f"file {file}"] * 1000)})
        pq.write_table(
            table,
            tmp_path / f"{file}.parquet",
            row_group_size=250,
            write_page_index=True,
            use_dictionary=["file"],
            bloom_filter_options={"key": True},
        )
    return tmp_path


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that take long to test: one file of long strings, named 3,000 times."""
    folder = tmp_path_factory.mktemp("large")
    texts = pa.array([f"{row:x}" * 200 for row in range(3000)])
    pq.write_table(pa.table({"text": texts}), folder / "long.parquet", compression="zstd", use_dictionary=False)
    (folder / "list.txt").write_text(f"{folder / 'long.parquet'}\n" * 3000)
    return folder / "list.txt"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of moto's S3 with the bucket ``lath``, which the environment names."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    program = Path(sys.executable).with_name("moto_server")
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    for _ in range(600):
        try:
            urllib.request.urlopen(urllib.request.Request(f"{address}/lath", method="PUT")).close()
            break
        except urllib.error.URLError:
            time.sleep(0.1)
    yield address
    server.kill()
    server.wait()
