"""Arrow data in and out, without pyarrow in between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import lath
from conftest import TRIPS


def test_streams_are_taken_by_other_libraries(trips: lath.Dataset, trips_table: pa.Table) -> None:
    scan = trips.scan(["from", "price"])
    expected = trips_table.select(["from", "price"])
    assert pa.table(scan).cast(expected.schema).equals(expected)
    assert pa.RecordBatchReader.from_stream(iter(scan)).read_all().cast(expected.schema).equals(expected)
    assert pl.DataFrame(scan).height == 30_000
    assert pl.DataFrame(scan).equals(pl.DataFrame(expected))
    assert pa.table(trips).num_columns == trips_table.num_columns
    reader = pa.RecordBatchReader.from_stream(scan)
    answer = duckdb.connect().execute("SELECT count(*) FROM reader WHERE price > 12").fetchone()
    assert answer == (trips.count("price > 12"),)


def test_batches_and_schemas_are_taken_too(trips: lath.Dataset) -> None:
    batch = next(iter(trips.scan(["price", "rider"], limit=10)))
    assert pa.record_batch(batch).num_rows == 10
    assert batch.to_polars().height == 10
    assert list(batch.to_pandas().columns) == ["price", "rider"]
    assert pa.schema(batch) == pa.schema(trips.scan(["price", "rider"])) == batch.schema.to_arrow()


def test_a_batch_without_columns_has_rows(trips: lath.Dataset) -> None:
    batch = next(iter(trips.scan([], limit=10)))
    assert (batch.num_rows, batch.num_columns) == (10, 0)
    assert pa.record_batch(batch).num_rows == 10


def test_an_iterator_is_taken_once(trips: lath.Dataset) -> None:
    batches = iter(trips.scan(["price"]))
    next(batches)
    rest = pa.table(batches)
    assert 0 < rest.num_rows < 30_000
    with pytest.raises(lath.InvalidError, match="taken already"):
        pa.table(batches)


def test_strings_come_as_asked(trips: lath.Dataset) -> None:
    assert pa.schema(trips.scan(["from"])).field("from").type == pa.string_view()
    assert pa.schema(trips.scan(["from"], strings="offsets")).field("from").type == pa.string()
    assert trips.scan(["from"]).to_arrow().schema.field("from").type == pa.string()
    assert trips.scan(["from"], strings="views").to_arrow().schema.field("from").type == pa.string_view()
    coded = trips.scan(["from"], dictionary_columns=["from"]).to_arrow()
    assert pa.types.is_dictionary(coded.schema.field("from").type)
    with pytest.raises(ValueError, match='give "views" or "offsets"'):
        trips.scan(strings="long")  # type: ignore[arg-type]


def test_an_error_in_a_stream_reaches_the_reader(damaged: Path) -> None:
    with pytest.raises(Exception, match="numbers.parquet: corrupt data"):
        pa.table(lath.open(damaged))


def test_no_other_library_is_needed() -> None:
    code = f"""
import sys
import lath
trips = lath.open({str(TRIPS)!r})
assert trips.count(lath.col("price") > 12) == sum(len(batch) for batch in trips.find("price > 12"))
assert trips.statistics().columns["price"].max
print(trips.explain("price > 12"), trips.schema, trips)
others = {{"pyarrow", "polars", "pandas", "numpy", "duckdb"}} & set(sys.modules)
assert not others, others
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, stdout=subprocess.DEVNULL)
