"""Files that Lath writes, with pyarrow's names for the options, read by pyarrow."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import math
import time
import urllib.request
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lath
from conftest import TRIPS

TABLE = pa.table({
    "id": pa.array(range(1000), pa.int64()),
    "name": [f"name {row % 7}" for row in range(1000)],
    "price": [row / 8 for row in range(1000)],
})


def test_a_table_is_written_with_index_and_checksums(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    written = lath.write_table(TABLE, path, 300)
    assert (written.rows, written.row_groups, written.bytes) == (1000, 4, path.stat().st_size)
    assert pq.read_table(path, page_checksum_verification=True).equals(TABLE)
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(group).num_rows for group in range(4)] == [300, 300, 300, 100]
    chunk = file.metadata.row_group(0).column(0)
    assert chunk.has_offset_index and chunk.has_column_index
    assert chunk.compression == "SNAPPY"
    data = path.read_bytes()
    # A flipped bit in the last page is found by its checksum alone.
    last = file.metadata.row_group(3).column(2)
    at = last.data_page_offset + last.total_compressed_size - 3
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    with pytest.raises(lath.CorruptError):
        lath.read_table(path)


def test_rows_of_every_library_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    expected = TABLE.to_pydict()
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(100))
    frame = pl.DataFrame(TABLE)
    for rows in (TABLE, TABLE.to_batches()[0], reader, frame):
        lath.write_table(rows, path)
        assert pq.read_table(path).to_pydict() == expected
    other = tmp_path / "copy.parquet"
    lath.write_table(lath.open(path).scan(where="id < 10"), other)
    assert pq.read_table(other)["id"].to_pylist() == list(range(10))
    file = io.BytesIO()
    lath.write_table(TABLE, file)
    assert pq.read_table(pa.BufferReader(file.getvalue())).equals(TABLE)


def test_options_are_those_of_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    lath.write_table(
        TABLE,
        path,
        compression={"id": "zstd", "name": "gzip", "price": "none"},
        compression_level={"id": 3, "name": 9},
        use_dictionary=["name"],
        column_encoding={"id": "DELTA_BINARY_PACKED", "price": "BYTE_STREAM_SPLIT"},
        write_statistics=["id"],
        data_page_version="2.0",
        max_rows_per_page=100,
        bloom_filter_options={"id": True, "name": {"fpp": 0.001, "ndv": 7}, "price": False},
        sorting_columns=["id"],
        metadata={"note": "by hand"},
    )
    assert pq.read_table(path).replace_schema_metadata(None).equals(TABLE)
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(at) for at in range(3)]
    assert [column.compression for column in columns] == ["ZSTD", "GZIP", "UNCOMPRESSED"]
    assert "DELTA_BINARY_PACKED" in columns[0].encodings and "BYTE_STREAM_SPLIT" in columns[2].encodings
    assert [column.has_dictionary_page for column in columns] == [False, True, False]
    assert [column.is_stats_set and column.statistics.has_min_max for column in columns] == [True, False, False]
    assert group.sorting_columns == (pq.SortingColumn(0),)
    assert pq.ParquetFile(path).metadata.metadata[b"note"] == b"by hand"
    assert lath.open(path).explain("id = -5").rows_left == 0
    assert lath.open(path).explain("name = 'none'").by_bloom_filters.row_groups == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flavor": "spark"}, "flavor: Lath does not have this option"),
        ({"version": "3.0"}, "version"),
        ({"allow_truncated_timestamps": True}, "nothing is truncated"),
        ({"use_deprecated_int96_timestamps": True}, "use_deprecated_int96_timestamps"),
        ({"use_content_defined_chunking": True}, "use_content_defined_chunking"),
        ({"encryption_properties": object()}, "encryption_properties: give a dict of keys"),
        ({"compression": "zip"}, "compression: there is no codec zip"),
        ({"compression": {"none": "zstd"}}, "compression: there is no column none"),
        ({"compression": "snappy", "compression_level": 3}, "compression: snappy has no levels"),
        ({"compression_level": 3}, "name the codec"),
        ({"use_dictionary": ["none"]}, "use_dictionary: there is no column none"),
        ({"column_encoding": "zigzag"}, "column_encoding: there is no encoding"),
        ({"bloom_filter_options": {"id": {"fpp": 2.0}}}, "fpp is between 0 and 1"),
        ({"bloom_filter_options": {"id": {"size": 2.0}}}, "there is no option size"),
        ({"data_page_version": "3.0"}, "data_page_version"),
        ({"sorting_columns": [("id", "up")]}, "ascending"),
        ({"max_rows_per_page": 0}, "max_rows_per_page: it has to be at least 1"),
        ({"profile": "fast"}, "profile: there is no profile fast"),
    ],
)
def test_options_that_cannot_be_honoured_are_errors(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(lath.InvalidError, match=message):
        lath.write_table(TABLE, tmp_path / "t.parquet", **options)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="colour"):
        lath.write_table(TABLE, tmp_path / "t.parquet", colour="red")  # type: ignore[call-arg]


def test_a_writer_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with lath.ParquetWriter(path, TABLE.schema) as writer:
        for batch in TABLE.to_batches(100):
            writer.write_batch(batch)
        writer.write_table(TABLE)
        assert writer.is_open and not path.exists()
        assert writer.schema.names == TABLE.column_names
    assert writer.written is not None and writer.written.rows == 2000
    assert pq.read_metadata(path).num_rows == 2000
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), lath.ParquetWriter(path, TABLE.schema) as writer:
        writer.write(TABLE)
        1 / 0  # noqa: B018
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(lath.InvalidError, match="finished, or was given up"):
        writer.write(TABLE)
    with pytest.raises(lath.NotFoundError):
        lath.write_table(TABLE, tmp_path / "none" / "t.parquet")
    with pytest.raises(lath.InvalidError), lath.ParquetWriter(path, TABLE.schema) as writer:
        writer.write(TABLE.select(["id"]))
    with pytest.raises(TypeError, match="no Arrow data"):
        lath.write_table([1, 2], path)  # type: ignore[arg-type]


def test_an_error_of_a_file_object_is_raised(tmp_path: Path) -> None:
    class Full:
        def write(self, data: bytes) -> int:
            raise OSError("no space is left")

    with pytest.raises(lath.IoError, match="no space is left"):
        lath.write_table(TABLE, Full())


def test_tables_are_read_with_the_names_of_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    values = pa.table({
        "x": pa.array([1.0, 2.0, math.nan, None, -math.inf], pa.float64()),
        "s": pa.array(["a", None, "b", "a", "c"]),
        "n": pa.array([1, 2, 3, None, 5]),
    })
    pq.write_table(values, path)
    filters: list[Any] = [
        [("x", ">", 1.0)],
        [("x", ">=", 1)],
        [("x", "<", 2)],
        [("x", "!=", 2.0)],
        [("x", "in", [1.0, 2.0])],
        [("s", "in", ["a", "c"])],
        [("s", "in", ["a", None])],
        [("s", "not in", ["a"])],
        [("s", "not in", ["a", None])],
        [("n", "not in", {1, 2})],
        [("n", "=", 3), ("s", "==", "b")],
        [[("n", "=", 3)], [("s", "=", "a"), ("x", "<=", 1)]],
    ]
    for filter in filters:
        ours = lath.read_table(path, columns=["n", "s"], filters=filter)
        theirs = pq.read_table(path, columns=["n", "s"], filters=filter)
        assert ours.to_pydict() == theirs.to_pydict(), filter
    assert lath.read_table(path, filters="n = 3").num_rows == 1
    assert lath.read_table(path, filters=lath.col("n") == 3, use_threads=False).num_rows == 1
    assert pa.types.is_dictionary(lath.read_table(path, read_dictionary=["s"]).schema.field("s").type)
    refused: list[dict[str, Any]] = [{"memory_map": True}, {"pre_buffer": False}, {"partitioning": "x"}]
    for options in refused:
        with pytest.raises(lath.InvalidError, match="Lath does not have this option"):
            lath.read_table(path, **options)
    with pytest.raises(lath.InvalidError, match="no operator '~'"):
        lath.read_table(path, filters=[("n", "~", 3)])


_WIDE = decimal.Context(prec=50)
LEAVES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    *[(getattr(pa, f"int{bits}")(), st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)) for bits in (8, 16, 32, 64)],
    *[(getattr(pa, f"uint{bits}")(), st.integers(0, 2**bits - 1)) for bits in (8, 16, 32, 64)],
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), st.text(st.characters(codec="utf-8"), max_size=20)),
    (pa.large_string(), st.text(st.characters(codec="utf-8"), max_size=20)),
    (pa.binary(), st.binary(max_size=20)),
    (pa.binary(5), st.binary(min_size=5, max_size=5)),
    (pa.date32(), st.dates()),
    (pa.time32("ms"), st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))),
    (pa.time64("us"), st.times()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("ms", "UTC"), st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)).map(
        lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=dt.timezone.utc))),
    (pa.duration("us"), st.timedeltas(dt.timedelta(-1000), dt.timedelta(1000))),
    (pa.decimal128(9, 2), st.decimals(-(10**7) + 1, 10**7 - 1, places=2)),
    (pa.decimal128(38, 10), st.integers(-(10**37), 10**37).map(lambda it: decimal.Decimal(it).scaleb(-10, _WIDE))),
    (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", "bb", ""])),
]


def columns(depth: int = 2) -> st.SearchStrategy[tuple[Any, st.SearchStrategy[Any]]]:
    """Types with their values, nested to a depth."""
    leaves = st.sampled_from(LEAVES)
    if depth == 0:
        return leaves

    def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.none() | values

    below = columns(depth - 1)
    lists = below.map(lambda it: (pa.list_(it[0]), st.lists(nullable(it[1]), max_size=4)))
    pairs = st.tuples(below, below)
    structs = pairs.map(
        lambda it: (
            pa.struct([("a", it[0][0]), ("b", it[1][0])]),
            st.fixed_dictionaries({"a": nullable(it[0][1]), "b": nullable(it[1][1])}),
        )
    )
    maps = below.map(
        lambda it: (
            pa.map_(pa.string(), it[0]),
            st.dictionaries(st.text("xyz", max_size=3), nullable(it[1]), max_size=3).map(lambda it: list(it.items())),
        )
    )
    return leaves | lists | structs | maps


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large])
@given(data=st.data())
def test_what_one_writes_the_other_reads(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    row_count = data.draw(st.integers(0, 30))
    types = data.draw(st.lists(columns(), min_size=1, max_size=4))
    arrays = [
        pa.array(data.draw(st.lists(st.none() | values, min_size=row_count, max_size=row_count)), data_type)
        for data_type, values in types
    ]
    table = pa.table({f"c{at}": array for at, array in enumerate(arrays)})
    folder = tmp_path_factory.mktemp("round")
    ours, theirs = folder / "lath.parquet", folder / "pyarrow.parquet"
    lath.write_table(table, ours, row_group_size=data.draw(st.integers(1, 40)))
    pq.write_table(table, theirs, store_schema=True)
    expected = pq.read_table(theirs)
    for file in (ours, theirs):
        assert lath.read_table(file).to_pydict() == table.to_pydict(), file
    assert pq.read_table(ours).to_pydict() == expected.to_pydict()
    assert pq.read_table(ours).schema.equals(expected.schema)
    # Rows that go through the interface come back as they were.
    assert pa.table(lath.open(ours)).to_pydict() == table.to_pydict()


def test_the_schema_may_be_that_of_a_table(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2]})
    for schema in (rows, rows.schema, rows.to_batches()[0], lath.open(TRIPS / "2025-01.parquet").scan(["price"])):
        with lath.ParquetWriter(tmp_path / "file.parquet", schema) as writer:
            assert writer.schema.names == (["price"] if isinstance(schema, lath.Scan) else ["id"])


def test_footer_keys_that_speak_of_other_rows_or_columns_are_left_out(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    geo = {"primary_column": "name", "columns": {"name": {"encoding": "WKB", "bbox": [0, 0, 1, 1]}}}
    fields = {"type": "struct", "fields": [{"name": name} for name in TABLE.column_names]}
    keys = {"geo": json.dumps(geo), "iceberg.schema": json.dumps(fields), "mine": "stays"}
    pq.write_table(TABLE.replace_schema_metadata(keys), source)

    def written(rows: Any, *notes: str, **options: Any) -> dict[bytes, bytes]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lath.write_table(rows, target, **options)
        assert [str(warning.message) for warning in caught] == list(notes)
        found = pq.read_metadata(target).metadata
        return {key: value for key, value in found.items() if not key.startswith(b"ARROW:")}

    box = "the key geo is kept without bbox of name"
    found = written(pq.read_table(source).slice(5, 10), box)
    assert json.loads(found[b"geo"])["columns"] == {"name": {"encoding": "WKB"}}
    assert json.loads(found[b"iceberg.schema"]) == fields and found[b"mine"] == b"stays"
    # A value that is given by name is the caller's.
    assert written(pq.read_table(source), metadata={"geo": keys["geo"]})[b"geo"] == keys["geo"].encode()
    gone = " is of columns that are not in the file and is left out"
    found = written(pq.read_table(source, columns=["id"]), f"the key geo{gone}", f"the key iceberg.schema{gone}")
    assert found == {b"mine": b"stays"}
    found = written(lath.open(source).scan(["id", "price"], "id < 3"), f"the key geo{gone}", f"the key iceberg.schema{gone}")
    assert found == {b"mine": b"stays"}


def test_an_index_that_is_a_range_is_kept_for_the_rows_that_have_it(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [4, 5, 6]}, index=pd.RangeIndex(5, 8, name="row"))
    lath.write_table(frame, tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), frame)
    rows = pa.Table.from_pandas(frame).slice(1)
    lath.write_table(rows, tmp_path / "b.parquet")
    assert list(pd.read_parquet(tmp_path / "b.parquet")["x"]) == [2, 3]


def categories(values: list[Any], names: list[Any], is_ordered: bool) -> pd.Categorical:
    return pd.Categorical(values, categories=names, ordered=is_ordered)


FRAME = pd.DataFrame({
    "ordered": categories(["b", "a", "b", None] * 50, ["c", "b", "a"], True),
    "unordered": categories(["b", "a", "b", "a"] * 50, ["z", "b", "a", "y"], False),
    "absent": categories([None] * 200, ["c", "b", "a"], True),
    "distinct": categories([f"{row}" for row in range(200)], [f"{row}" for row in reversed(range(200))], True),
    "x": range(200),
})


@pytest.mark.parametrize("options", [{}, {"profile": "compact"}, {"profile": "lookup"}, {"row_group_size": 60}])
def test_categories_keep_their_order_and_those_that_no_row_has(tmp_path: Path, options: dict[str, Any]) -> None:
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    lath.write_table(FRAME, ours, **options)
    pq.write_table(pa.Table.from_pandas(FRAME), theirs)
    pd.testing.assert_frame_equal(pd.read_parquet(theirs), FRAME)
    pd.testing.assert_frame_equal(pd.read_parquet(ours), FRAME)
    pd.testing.assert_frame_equal(lath.read_table(ours).to_pandas(), FRAME)
    # A value that no row has is neither found nor counted.
    assert lath.open(ours).count("unordered = 'z'") == 0
    for group in range(pq.ParquetFile(ours).num_row_groups):
        statistics = pq.read_metadata(ours).row_group(group).column(1).statistics
        assert (statistics.min, statistics.max, statistics.distinct_count) == ("a", "b", 2)
    assert lath.open(ours).count("ordered = 'b'") == 100


def test_categories_in_parts_keep_the_order_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    first = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), ["c", "b", "a"], ordered=True)
    second = pa.DictionaryArray.from_arrays(pa.array([1, 2, None], pa.int8()), ["a", "d", "c"], ordered=True)
    table = pa.table({"x": pa.chunked_array([first, second])})
    lath.write_table(table, path)
    found = pq.read_table(path)["x"]
    assert found.to_pylist() == ["b", "c", "d", "c", None]
    assert found.type.ordered and found.chunk(0).dictionary.to_pylist() == ["c", "b", "a", "d"]
    # Nulls and repetitions among categories are none.
    odd = pa.DictionaryArray.from_arrays(pa.array([3, 0, 1], pa.int8()), pa.array(["b", None, "b", "a"]), ordered=True)
    lath.write_table(pa.table({"x": odd}), path)
    found = pq.read_table(path)["x"]
    assert (found.to_pylist(), found.chunk(0).dictionary.to_pylist()) == (["a", "b", None], ["b", "a"])


def test_enums_and_categoricals_of_polars_are_read_back(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    frame = pl.DataFrame({
        "enum": pl.Series(["b", "a", None, "b"], dtype=pl.Enum(["c", "b", "a"])),
        "categorical": pl.Series(["b", "a", None, "b"], dtype=pl.Categorical),
    })
    lath.write_table(frame, ours)
    frame.write_parquet(theirs)
    assert pl.read_parquet(ours).equals(frame) and pl.read_parquet(ours).schema == frame.schema
    for column in ("enum", "categorical"):
        expected = pd.read_parquet(theirs)[column].cat
        found = pd.read_parquet(ours)[column].cat
        assert (list(found.categories), found.ordered) == (list(expected.categories), expected.ordered)


def test_a_bloom_filter_has_the_categories_of_rows_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame({"x": categories(["b", "d"], list("abcde"), True)})
    lath.write_table(frame, path, bloom_filter_options={"x": True}, write_statistics=False)
    for name, pruned in (("b", 0), ("c", 1)):
        assert lath.open(path).explain(f"x = '{name}'").row_groups_pruned == pruned


def test_categories_whose_order_is_not_stored_are_not_called_ordered(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "number": categories([3, 1, 3], [5, 3, 1], True)})
    lath.write_table(frame, tmp_path / "a.parquet")
    found = lath.read_table(tmp_path / "a.parquet").to_pandas()["number"]
    assert list(found) == [3, 1, 3] and not found.cat.ordered


def test_tables_keep_categories(tmp_path: Path) -> None:
    frame = FRAME.assign(number=categories([3, 1] * 100, [5, 3, 1], True))
    rows = pa.Table.from_pandas(frame)
    table = lath.Table.create(tmp_path / "t", rows.schema, key=["x"])
    table.upsert(rows)
    for _ in range(2):
        found = table.scan().to_arrow().to_pandas().sort_values("x", ignore_index=True)
        pd.testing.assert_frame_equal(found, frame)
        table.flush()
    other = frame.assign(ordered=categories(["b", "a"] * 100, ["a", "b"], True))
    with pytest.raises(lath.InvalidError, match='"ordered" is ordered: the batch has a before b'):
        table.upsert(pa.Table.from_pandas(other))
    more = frame.assign(ordered=categories(["d", "a"] * 100, ["c", "b", "a", "d"], True))
    table.upsert(pa.Table.from_pandas(more))
    assert list(table.scan().to_arrow().to_pandas()["ordered"].cat.categories) == ["c", "b", "a", "d"]


def test_objects_are_written_whole_or_not_at_all(endpoint: str, tmp_path: Path) -> None:
    def stored(key: str) -> bytes:
        # The server wants to see credentials, and does not verify them.
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/s3/aws4_request"}
        with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/lath/{key}", headers=signed)) as answer:
            return bytes(answer.read())

    written = lath.write_table(TABLE, "s3://lath/a/t.parquet", 300, compression="zstd")
    assert (written.rows, written.row_groups, written.bytes) == (1000, 4, len(stored("a/t.parquet")))
    assert pq.read_table(io.BytesIO(stored("a/t.parquet"))).equals(TABLE)
    assert lath.open("s3://lath/a/").count("id > 989") == 10
    # More than one part.
    numbers = pa.table({"n": pa.array(range(2_000_000), pa.int64())})
    settings_of_parts: dict[str, Any] = {"compression": None, "use_dictionary": False}
    lath.write_table(numbers, tmp_path / "n.parquet", **settings_of_parts)
    lath.write_table(numbers, "s3://lath/n.parquet", **settings_of_parts)
    assert len(stored("n.parquet")) > 9 << 20 and stored("n.parquet") == (tmp_path / "n.parquet").read_bytes()
    with pytest.raises(RuntimeError), lath.ParquetWriter("s3://lath/a/t.parquet", TABLE.schema) as writer:
        writer.write(TABLE)
        raise RuntimeError
    assert pq.read_table(io.BytesIO(stored("a/t.parquet"))).equals(TABLE)
    urllib.request.urlopen(
        urllib.request.Request(f"{endpoint}/lath/lake/_delta_log/00000000000000000000.json", b"{}", method="PUT")
    ).close()
    with pytest.raises(lath.InvalidError, match="would not belong to it"):
        lath.write_table(TABLE, "s3://lath/lake/day=1/t.parquet")
    with pytest.raises(lath.Error, match="nowhere"):
        lath.write_table(TABLE, "s3://nowhere/t.parquet")
    answer: Any = lath.sql("COPY (SELECT 1 AS a, 2 AS b) TO 's3://lath/copied' PARTITIONED BY (b)").to_arrow()
    assert answer.num_rows == 1 and lath.open("s3://lath/copied").to_arrow().to_pylist() == [{"a": 1, "b": 2}]


def test_timestamps_get_the_unit_that_was_asked_for(tmp_path: Path) -> None:
    moments = pa.array([1_000_000_000, None, 2_000_000_000], pa.timestamp("ns", "UTC"))
    table = pa.table({"at": moments, "list": pa.array([[1_000_000], [], None], pa.list_(pa.timestamp("us")))})
    path = tmp_path / "times.parquet"
    for arguments, unit in [({"coerce_timestamps": "ms"}, "ms"), ({"coerce_timestamps": "us"}, "us"), ({"version": "2.4"}, "us")]:
        lath.write_table(table, path, **arguments)  # type: ignore[arg-type]
        read = pq.read_table(path)
        assert read.schema.field("at").type == pa.timestamp(unit, "UTC")
        assert read["at"].cast(moments.type).combine_chunks() == moments
    fine = pa.table({"at": pa.array([1_000_000_001], pa.timestamp("ns"))})
    with pytest.raises(lath.OutOfRangeError, match="column \"at\".*allow_truncated_timestamps"):
        lath.write_table(fine, path, coerce_timestamps="ms")
    lath.write_table(fine, path, coerce_timestamps="ms", allow_truncated_timestamps=True)
    assert pq.read_table(path)["at"].cast(pa.int64()).to_pylist() == [1000]
    with pytest.raises(ValueError, match="coerce_timestamps=\"h\""):
        lath.write_table(fine, path, coerce_timestamps="h")  # type: ignore[arg-type]
    with pytest.raises(lath.InvalidError, match="nothing is truncated"):
        lath.write_table(fine, path, allow_truncated_timestamps=True)


def test_older_versions_have_no_unsigned_integers(tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    lath.write_table(pa.table({"id": pa.array([0, 2**32 - 1], pa.uint32())}), path, version="1.0")
    assert pq.read_table(path) == pa.table({"id": pa.array([0, 2**32 - 1], pa.int64())})
    with pytest.raises(lath.InvalidError, match="version='3'"):
        lath.write_table(pa.table({"id": [1]}), path, version="3")  # type: ignore[arg-type]


def test_the_arrow_schema_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    table = pa.table({"text": pa.array(["a"], pa.large_string())})
    lath.write_table(table, path, store_schema=False)
    assert b"ARROW:schema" not in (pq.read_metadata(path).metadata or {})
    assert lath.read_schema(path) == pa.schema([("text", pa.string())])


def test_each_call_has_row_groups_of_the_size_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "groups.parquet"
    table = pa.table({"id": range(250)})
    with lath.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.write_table(table, row_group_size=100)
        writer.write_batch(table.to_batches()[0], 300)
        writer.add_key_value_metadata({"a": "1", "b": "2"})
        writer.add_key_value_metadata({"a": "3"})
    metadata = pq.read_metadata(path)
    assert [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)] == [250, 100, 100, 50, 250]
    assert {key: value for key, value in metadata.metadata.items() if len(key) == 1} == {b"a": b"3", b"b": b"2"}
    assert pq.read_table(path)["id"].to_pylist() == [*range(250)] * 3
    with pytest.raises(lath.InvalidError, match="row_group_size=0.5"):
        lath.write_table(table, path, row_group_size=0.5)
    assert lath.write_table(table, path, row_group_size=125.0).row_groups == 2


def test_sorting_columns_are_taken_by_number(tmp_path: Path) -> None:
    path = tmp_path / "sorted.parquet"
    table = pa.table({"a": [3, 2, 1], "b": ["x", "y", "z"]})
    columns = [pq.SortingColumn(0, descending=True, nulls_first=True), lath.SortingColumn(1)]
    lath.write_table(table, path, sorting_columns=columns)
    expected = (lath.SortingColumn(0, True, True), lath.SortingColumn(1))
    assert lath.read_metadata(path).row_group(0).sorting_columns == expected
    with pytest.raises(lath.InvalidError, match="there is no column 2"):
        lath.write_table(table, path, sorting_columns=[lath.SortingColumn(2)])
