"""Single files: metadata, schemas and row groups, compared with pyarrow."""

from __future__ import annotations

import io
import pickle
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lath
from conftest import TRIPS

FILE = TRIPS / "2025-01.parquet"


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of pyarrow with a column of each type that has statistics."""
    path = tmp_path_factory.mktemp("typed") / "typed.parquet"
    columns: dict[str, Any] = {
        "int8": pa.array([-3, 5, None], pa.int8()),
        "uint32": pa.array([0, 2**32 - 1, 7], pa.uint32()),
        "uint64": pa.array([0, 2**64 - 1, 7], pa.uint64()),
        "int64": pa.array([-(2**60), 3, None], pa.int64()),
        "double": pa.array([-0.5, 2.25, 1.0]),
        "float": pa.array([-0.5, 2.25, 1.0], pa.float32()),
        "bool": pa.array([True, False, True]),
        "string": pa.array(["b", "a", None]),
        "binary": pa.array([b"\xff", b"\x00", b"\x01"]),
        "decimal": pa.array([Decimal("-1.25"), Decimal("7.50"), None], pa.decimal128(9, 2)),
        "large decimal": pa.array([Decimal("-1.25"), Decimal("7.50"), None], pa.decimal128(30, 2)),
        "date": pa.array([date(2025, 2, 1), date(1969, 1, 1), None]),
        "millis": pa.array([datetime(2025, 1, 1, 12), datetime(1960, 1, 1), None], pa.timestamp("ms")),
        "utc": pa.array([datetime(2025, 1, 1, 12, tzinfo=timezone.utc)] * 3, pa.timestamp("us", "UTC")),
        "time": pa.array([time(1, 2, 3, 4), time(23, 59), None], pa.time64("us")),
    }
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


def test_metadata_is_that_of_pyarrow(typed: Path) -> None:
    for path in (FILE, typed):
        own, other = lath.read_metadata(path), pq.read_metadata(path)
        for name in ("num_rows", "num_columns", "num_row_groups", "created_by", "format_version", "serialized_size"):
            assert getattr(own, name) == getattr(other, name), name
        assert (own.metadata or {}) == (other.metadata or {})
        assert own.schema.names == other.schema.names
        for index in range(own.num_row_groups):
            group, expected = own.row_group(index), other.row_group(index)
            assert (group.num_rows, group.total_byte_size) == (expected.num_rows, expected.total_byte_size)
            for leaf in range(own.num_columns):
                compare_columns(group.column(leaf), expected.column(leaf))
                compare_schemas(own.schema.column(leaf), other.schema.column(leaf))


def compare_columns(own: lath.ColumnChunkMetaData, other: Any) -> None:
    for name in (
        "path_in_schema", "physical_type", "num_values", "compression", "data_page_offset", "dictionary_page_offset",
        "total_compressed_size", "total_uncompressed_size", "is_stats_set", "has_dictionary_page", "file_path",
        "has_column_index", "has_offset_index",
    ):  # fmt: skip
        assert getattr(own, name) == getattr(other, name), name
    assert set(own.encodings) == set(other.encodings)
    if own.statistics is not None:
        for name in ("has_min_max", "min", "max", "null_count", "num_values", "physical_type"):
            value = getattr(own.statistics, name)
            # pyarrow returns UUIDs as bytes.
            value = value.bytes if isinstance(value, UUID) else value
            assert value == getattr(other.statistics, name), (own.path_in_schema, name)


def compare_schemas(own: lath.ColumnSchema, other: Any) -> None:
    for name in ("name", "path", "physical_type", "converted_type", "max_definition_level", "max_repetition_level"):
        assert getattr(own, name) == getattr(other, name), name
    assert (own.logical_type.type if own.logical_type else "NONE") == other.logical_type.type
    if own.logical_type is not None and own.logical_type.type in ("TIMESTAMP", "INT", "DECIMAL", "STRING"):
        assert str(own.logical_type).split(",")[0] == str(other.logical_type).split(",")[0]


def test_metadata_is_pickled_and_compared() -> None:
    metadata = lath.read_metadata(FILE)
    again = pickle.loads(pickle.dumps(metadata))
    assert again == metadata and again.schema.to_arrow_schema() == metadata.schema.to_arrow_schema()
    assert metadata != lath.read_metadata(TRIPS / "2025-02.parquet")
    with pytest.raises(IndexError, match="there is no row group 3; there are 3"):
        metadata.row_group(3)
    with pytest.raises(IndexError):
        metadata.schema.column(-1)


def test_row_groups_are_read_alone(typed: Path) -> None:
    other = pq.ParquetFile(typed)
    with lath.ParquetFile(typed) as file:
        assert file.num_row_groups == 2
        assert file.read() == other.read()
        assert file.read_row_group(1) == other.read_row_group(1)
        assert file.read_row_groups([1, 0], ["int8", "int8"]).column_names == ["int8"]
        assert file.read_row_groups([1, 0], ["int8"])["int8"].to_pylist() == [None, -3, 5]
        assert file.schema_arrow == other.schema_arrow == lath.read_schema(typed)
        with pytest.raises(lath.InvalidError, match="row group"):
            file.read_row_group(2)
    assert file.closed
    with pytest.raises(lath.InvalidError, match="closed"):
        file.read()


@pytest.mark.parametrize("batch_size", [100, 4096, 7000, 65536])
def test_batches_have_the_size_that_was_asked_for(batch_size: int) -> None:
    with lath.ParquetFile(FILE) as file:
        batches = list(file.iter_batches(batch_size, columns=["price", "from"]))
        sizes = [batch.num_rows for batch in batches]
        assert sizes == [batch_size] * (10000 // batch_size) + ([10000 % batch_size] if 10000 % batch_size else [])
        assert pa.Table.from_batches(batches) == file.read(["price", "from"])
        assert file.scan_contents() == 10000


def test_a_file_object_stays_open_unless_it_is_forced() -> None:
    source = io.BytesIO(FILE.read_bytes())
    file = lath.ParquetFile(source)
    assert file.read_row_group(0).num_rows == 4000
    file.close()
    assert not source.closed and not file.closed
    file.close(force=True)
    assert source.closed and file.closed


def test_a_folder_is_no_file() -> None:
    with pytest.raises(OSError, match="is a directory"):
        lath.ParquetFile(TRIPS)
    with pytest.raises(lath.InvalidError, match="expected one file, found 3"):
        lath.ParquetFile(f"{TRIPS}/*.parquet")


def test_the_index_of_pandas_is_read_with_columns(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=pd.Index(["x", "y"], name="key"))
    lath.write_table(pa.Table.from_pandas(frame), tmp_path / "frame.parquet")
    read = lath.read_table(tmp_path / "frame.parquet", columns=["a"], use_pandas_metadata=True).to_pandas()
    pd.testing.assert_frame_equal(read, frame[["a"]])
    read = lath.ParquetFile(tmp_path / "frame.parquet").read(["a"], use_pandas_metadata=True).to_pandas()
    pd.testing.assert_frame_equal(read, frame[["a"]])


def test_extension_types_can_be_left_out() -> None:
    plain = pa.binary(16)
    whole = lath.read_table(FILE, columns=["trip"])
    table = lath.read_table(FILE, columns=["trip"], arrow_extensions_enabled=False)
    assert (table.schema.field("trip").type, whole.schema.field("trip").type) == (plain, pa.uuid())
    assert [value.bytes for value in whole["trip"].to_pylist()] == table["trip"].to_pylist()
    assert lath.read_schema(FILE, arrow_extensions_enabled=False).field("trip").type == plain
    with lath.ParquetFile(FILE, arrow_extensions_enabled=False) as file:
        assert file.read(["trip"]) == table
        assert pa.Table.from_batches(file.iter_batches(3000, columns=["trip"])) == table


def test_columns_that_are_named_twice_are_returned_twice() -> None:
    assert lath.read_table(FILE, columns=["price", "from", "price"]).column_names == ["price", "from", "price"]


def test_a_schema_gives_columns_and_types(tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    lath.write_table(pa.table({"a": pa.array([1, 2, 300], pa.int64()), "b": ["x", "y", "z"]}), path)
    schema = pa.schema([("b", pa.large_string()), ("new", pa.float64()), ("a", pa.int16())])
    read = lath.read_table(path, schema=schema)
    assert read.schema == schema and read["a"].to_pylist() == [1, 2, 300] and read["new"].null_count == 3
    assert lath.read_table(path, schema=schema, columns=["new"]).schema == pa.schema([("new", pa.float64())])
    found = lath.read_table(path, schema=schema, filters=[("a", ">", 1)], columns=["b"])
    assert found.to_pydict() == {"b": ["y", "z"]}
    assert lath.read_table(path, schema=schema, filters=[("new", "=", 1.0)]).num_rows == 0
    with pytest.raises(pa.ArrowInvalid):
        lath.read_table(path, schema=pa.schema([("a", pa.int8())]))
    with pytest.raises(lath.InvalidError, match="the schema has no column 'c'"):
        lath.read_table(path, schema=schema, columns=["c"])
