"""Filters of pyarrow, polars, DuckDB and DataFusion rule out row groups, and find what these find by themselves."""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import lath
from conftest import a_key


def test_duckdb_hands_its_filter_over(keyed: Path) -> None:
    data = lath.arrow_dataset(keyed)
    key = a_key(keyed)
    connection = duckdb.connect()
    assert connection.execute(f"SELECT file FROM data WHERE key = {key}").fetchall() == [("file 3",)]
    report = data.report
    assert report is not None and report.rows_found == 1
    assert report.by_bloom_filters.row_groups > 20 and report.row_groups_left < 10
    query = f"SELECT count(*) FROM data WHERE key IN ({key}, -1, {key + 10}) AND file LIKE 'file%'"
    everything = pads.dataset(keyed)
    assert connection.execute(query).fetchall() == connection.execute(query.replace("data", "everything")).fetchall()
    assert everything.count_rows() == connection.execute("SELECT count(*) FROM data").fetchall()[0][0]


def test_datafusion_hands_its_filter_over(keyed: Path) -> None:
    data = lath.arrow_dataset(keyed)
    context, key = datafusion.SessionContext(), a_key(keyed)
    context.register_dataset("data", data)
    context.register_dataset("everything", pads.dataset(keyed))
    assert context.sql(f"SELECT file FROM data WHERE key = {key}").to_pydict() == {"file": ["file 3"]}
    report = data.report
    assert report is not None and report.rows_found == 1
    assert report.by_bloom_filters.row_groups > 20 and report.row_groups_left < 10
    for query in [
        f"SELECT count(*) AS rows FROM data WHERE key IN ({key}, -1, {key + 10}) AND file LIKE 'file%'",
        "SELECT count(*) AS rows FROM data",
        "SELECT file, count(*) AS rows, min(key) AS key FROM data WHERE key > 500 GROUP BY file ORDER BY file",
        "SELECT b.file FROM data a JOIN data b ON a.key = b.key + 10 WHERE a.key < 1000 ORDER BY b.key",
    ]:
        expected = context.sql(query.replace("FROM data", "FROM everything").replace("JOIN data", "JOIN everything"))
        assert context.sql(query).to_pydict() == expected.to_pydict(), query


def test_an_arrow_dataset_is_one_fragment(keyed: Path) -> None:
    data = lath.arrow_dataset(keyed)
    [fragment] = data.get_fragments(pc.field("key") == 3)
    assert fragment.physical_schema == data.schema
    assert fragment.count_rows() == 10_000 == fragment.to_table(data.schema, columns=["key"]).num_rows
    some = fragment.to_batches(columns=["file"], filter=pc.field("key") == a_key(keyed))
    assert [batch.to_pylist() for batch in some] == [[{"file": "file 3"}]]
    with pytest.raises(pa.ArrowInvalid, match="schema of their dataset"):
        fragment.scanner(pa.schema([("key", pa.int8())]))


def test_polars_hands_its_filter_over(keyed: Path) -> None:
    reports: list[lath.Report] = []
    frame = lath.scan_polars(keyed, on_report=reports.append)
    key = a_key(keyed)
    assert frame.filter(pl.col("key") == key).select("file").collect()["file"].to_list() == ["file 3"]
    assert reports[-1].rows_found == 1 and reports[-1].by_bloom_filters.row_groups > 20
    found = frame.filter(pl.col("key").is_in([key, -1]), pl.col("file").str.starts_with("file")).collect()
    assert found["key"].to_list() == [key] and reports[-1].row_groups_left < 15
    # A part that Lath cannot test leaves the others to it.
    some = frame.filter(pl.col("key") == key, pl.col("file").str.len_chars() == 6).collect()
    assert some.height == 1 and reports[-1].by_bloom_filters.row_groups > 20
    assert frame.head(7).collect().height == 7 and frame.filter(pl.col("key") > 0).head(7).collect().height == 7
    assert frame.select(pl.len()).collect().item() == 10_000


def test_pyarrow_expressions_are_conditions(keyed: Path) -> None:
    data = lath.open(keyed)
    key = a_key(keyed)
    report = data.explain(pc.field("key") == key)
    assert report.rows_found == 1 and report.by_bloom_filters.row_groups > 20
    assert data.count(pl.col("key") == key) == data.lookup("key", [key]).count() == 1
    # Where strings end and what they contain is LIKE.
    assert data.explain(pc.match_substring(pc.field("file"), "file 3")).rows_found == data.count("file LIKE '%file 3%'")
    assert data.explain(pl.col("file").str.contains("e 3")).rows_found == data.count("file LIKE '%e 3%'")
    assert data.explain(pl.col("file").str.ends_with(" 3")).rows_found == data.count("file LIKE '% 3'")
    # The other library evaluates a condition that Lath cannot test.
    filter = (pc.field("key") == key) & pc.match_substring_regex(pc.field("file"), "3$")
    view = lath.arrow_dataset(data)
    assert view.to_table(["key"], filter).to_pylist() == [{"key": key}]
    assert view.report is not None and view.report.by_bloom_filters.row_groups > 20
    assert lath.read_table(keyed, columns=["key"], filters=filter).num_rows == view.count_rows(filter) == 1
    assert view.head(3, ["key"]).num_rows == 3 and view.count_rows() == 10_000
    assert sum(batch.num_rows for batch in view.to_batches(filter=pc.field("key") > key)) == data.count(f"key > {key}")


ROWS = pa.table(
    {
        "n": pa.array([1, 2, 3, None, -5, 2**40] * 50, pa.int64()),
        "x": pa.array([1.0, math.nan, None, -math.inf, math.inf, 2.5] * 50, pa.float64()),
        "s": pa.array(["a", "ab", None, "b%", "", "ä"] * 50),
        "b": pa.array([True, False, None] * 100),
        "t": pa.array([None, *[dt.datetime(2024, 1, day) for day in (1, 2, 3, 4, 5)]] * 50, pa.timestamp("us")),
        "d": pa.array([None, *[dt.date(2024, 1, day) for day in (1, 2, 3, 4, 5)]] * 50),
        "row": pa.array(range(300)),
    }
)
VALUES: dict[str, list[Any]] = {
    "n": [1, 2, -5, 2**40, 7],
    "x": [1.0, 2.5, math.inf, 0.0, math.nan],
    "s": ["a", "b%", "", "zz"],
    "t": [dt.datetime(2024, 1, 3), dt.datetime(2020, 1, 1)],
    "d": [dt.date(2024, 1, 3), dt.date(2030, 1, 1)],
}
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixed") / "mixed.parquet"
    pq.write_table(ROWS, path, row_group_size=60, write_page_index=True)
    return path


def random_filter(chance: random.Random, depth: int, field: Any, literal: Any) -> Any:
    """A filter in the words that pyarrow and polars share."""
    kind = chance.randrange(4) if depth else 0
    if kind == 0:
        name = chance.choice([*VALUES, "b"])
        if name == "b":
            return field("b")
        value = chance.choice(VALUES[name])
        match chance.randrange(4):
            case 0:
                return field(name).is_null()
            case 1:
                values = chance.choices([value for value in VALUES[name] if value == value], k=2)
                return field(name).isin(values) if hasattr(field(name), "isin") else field(name).is_in(values)
            case 2:
                return chance.choice(COMPARISONS)(literal(value), field(name))
            case _:
                return chance.choice(COMPARISONS)(field(name), literal(value))
    left = random_filter(chance, depth - 1, field, literal)
    if kind == 1:
        return ~left
    right = random_filter(chance, depth - 1, field, literal)
    return left & right if kind == 2 else left | right


def test_random_filters_of_pyarrow(mixed: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    data, view = lath.open(mixed), lath.arrow_dataset(mixed)
    for _ in range(400):
        filter = random_filter(chance, 3, pc.field, pc.scalar)
        expected = ROWS.filter(filter)["row"].to_pylist()
        assert data.find(filter, ["row"]).to_arrow()["row"].to_pylist() == expected, str(filter)
        assert view.to_table(["row"], filter)["row"].to_pylist() == expected, str(filter)


def test_random_filters_of_polars(mixed: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    data, frame, rows = lath.open(mixed), lath.scan_polars(mixed), pl.DataFrame(ROWS)
    for _ in range(400):
        filter = random_filter(chance, 3, pl.col, pl.lit)
        expected = rows.filter(filter)["row"].to_list()
        assert frame.filter(filter).select("row").collect()["row"].to_list() == expected, str(filter)
        assert data.find(filter, ["row"]).to_arrow()["row"].to_pylist() == expected, str(filter)


def test_random_conditions_of_duckdb(mixed: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    view = lath.arrow_dataset(mixed)
    connection = duckdb.connect()
    connection.register("view", view)
    connection.register("plain", ROWS)

    def condition(depth: int) -> str:
        kind = chance.randrange(4) if depth else 0
        if kind == 0:
            name = chance.choice(["n", "x", "s", "d"])
            value = chance.choice([value for value in VALUES[name] if value == value and value != math.inf])
            text = f"DATE '{value}'" if name == "d" else repr(value)
            match chance.randrange(4):
                case 0:
                    return f"{name} IS NULL"
                case 1:
                    return f"{name} IN ({text}, {text})"
                case _:
                    return f"{name} {chance.choice(['=', '<>', '<', '<=', '>', '>='])} {text}"
        if kind == 1:
            return f"NOT ({condition(depth - 1)})"
        return f"({condition(depth - 1)} {chance.choice(['AND', 'AND', 'OR'])} {condition(depth - 1)})"

    for _ in range(200):
        text = condition(2)
        ours, theirs = (
            connection.execute(f"SELECT row FROM {table} WHERE {text} ORDER BY row").fetchall()
            for table in ("view", "plain")
        )
        assert ours == theirs, text
