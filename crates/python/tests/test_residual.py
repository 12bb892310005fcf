"""What Lath cannot test of an expression, pyarrow and polars test of the rows that it has found by the rest."""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lath
from conftest import a_key

NESTED = pa.struct([("city", pa.string()), ("years", pa.list_(pa.struct([("at", pa.int32()), ("note", pa.string())])))])


def nested(number: int) -> dict[str, Any] | None:
    if number % 7 == 0:
        return None
    years = [{"at": number + year, "note": f"y{year}"} for year in range(number % 4)]
    return {"city": ["Oslo", None, "Rome"][number % 3], "years": years}


ROWS = pa.table(
    {
        "row": pa.array(range(500)),
        "n": pa.array([None if row % 11 == 0 else row * 37 % 101 - 50 for row in range(500)], pa.int64()),
        "x": pa.array([None if row % 13 == 0 else row * 17 % 89 / 8 for row in range(500)], pa.float64()),
        "s": pa.array([None if row % 5 == 0 else f"Name {row % 31}" for row in range(500)]),
        "b": pa.array([row.to_bytes(2, "big") for row in range(500)]),
        "b?": pa.array([[True, False, None][row % 3] for row in range(500)]),
        "d": pa.array([dt.date(2024, 1, 1) + dt.timedelta(row) for row in range(500)]),
        "t": pa.array([dt.datetime(2024, 1, 1) + dt.timedelta(hours=row) for row in range(500)], pa.timestamp("us")),
        "lasts": pa.array([dt.timedelta(minutes=row % 50) for row in range(500)], pa.duration("us")),
        "place": pa.array([nested(row) for row in range(500)], NESTED),
        "kind": pa.array([["a", "b", "c"][row % 3] for row in range(500)]).dictionary_encode(),
        "shop.id": pa.array(range(500), pa.int16()),
    }
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixed") / "mixed.parquet"
    pq.write_table(ROWS, path, row_group_size=130, write_page_index=True)
    return path


def test_what_lath_can_test_rules_out_row_groups(keyed: Path) -> None:
    data, key = lath.open(keyed), a_key(keyed)
    for condition in [
        (pc.field("key") == key) & pc.match_substring_regex(pc.field("file"), "3$"),
        (pl.col("key") == key) & pl.col("file").str.contains("3$"),
    ]:
        found = data.find(condition, ["file"])
        assert found.to_arrow().to_pylist() == [{"file": "file 3"}]
        assert found.report is not None and found.report.by_bloom_filters.row_groups > 20
        assert data.count(condition) == found.count() == lath.read_table(keyed, filters=condition).num_rows == 1
        assert data.explain(condition).by_bloom_filters.row_groups > 20
    none = pl.col("file").str.contains("4$") & (pl.col("key") == key)
    assert data.count(none) == 0 and list(data.find(none)) == [] and data.find(none).to_polars().shape == (0, 2)


ARROW: dict[str, Callable[[], pc.Expression]] = {
    "upper": lambda: pc.utf8_upper(pc.field("s")) == "NAME 7",
    "length": lambda: pc.utf8_length(pc.field("s")) > 6,
    "regex": lambda: pc.match_substring_regex(pc.field("s"), "[12]$"),
    "substring": lambda: pc.match_substring(pc.field("s"), "ame 2"),
    "substring with %": lambda: pc.match_substring(pc.field("s"), "_") | pc.match_substring(pc.field("s"), "%"),
    "substring in any case": lambda: pc.match_substring(pc.field("s"), "NAME 2", ignore_case=True),
    "end": lambda: pc.ends_with(pc.field("s"), "7"),
    "sum": lambda: pc.field("n") + pc.field("x") > 20,
    "columns": lambda: pc.field("n") < pc.field("x"),
    "cast": lambda: pc.field("n").cast("string") == "7",
    "nan": lambda: pc.is_nan(pc.field("x") - pc.field("x")),
    "if": lambda: pc.if_else(pc.field("b?"), pc.field("n") > 3, pc.field("x") > 3),
    "binary": lambda: pc.binary_join_element_wise(pc.field("b"), pc.field("b"), b"") < b"\x01",
    "year": lambda: pc.year(pc.field("d")) == 2025,
    "duration": lambda: pc.field("lasts") > pa.scalar(dt.timedelta(minutes=40)),
    "nested": lambda: pc.utf8_lower(pc.field("place", "city")) == "oslo",
    "list": lambda: pc.list_value_length(pc.field("place", "years")) > 2,
    "dictionary": lambda: pc.utf8_upper(pc.field("kind").cast("string")) == "B",
    "dot": lambda: pc.field("shop.id") / 5 == 3,
    "inverted": lambda: ~pc.starts_with(pc.field("s"), "Name 1", ignore_case=True),
}
POLARS: dict[str, Callable[[], pl.Expr]] = {
    "upper": lambda: pl.col("s").str.to_uppercase() == "NAME 7",
    "length": lambda: pl.col("s").str.len_chars() > 6,
    "regex": lambda: pl.col("s").str.contains("[12]$"),
    "substring": lambda: pl.col("s").str.contains("ame 2", literal=True),
    "substring as a regular expression": lambda: pl.col("s").str.contains("ame 2"),
    "substring of another column": lambda: pl.col("s").str.contains(pl.col("n").cast(pl.String), literal=True),
    "substring with %": lambda: pl.col("s").str.contains("_") | pl.col("s").str.contains("%", literal=True),
    "dot that is one": lambda: pl.col("s").str.contains("a.e", literal=True),
    "end": lambda: pl.col("s").str.ends_with("7"),
    "start in another column": lambda: pl.col("s").str.starts_with(pl.col("kind").cast(pl.String)),
    "sum": lambda: pl.col("n") + pl.col("x") > 20,
    "columns": lambda: pl.col("n") < pl.col("x"),
    "cast": lambda: pl.col("n").cast(pl.String) == "7",
    "missing": lambda: pl.col("n").ne_missing(7),
    "nan": lambda: pl.col("x").is_nan() | (pl.col("x") > float("nan")),
    "xor": lambda: (pl.col("n") > 0) ^ pl.col("b?"),
    "if": lambda: pl.when(pl.col("b?")).then(pl.col("n") > 3).otherwise(pl.col("x") > 3),
    "round": lambda: pl.col("x").round(0).abs() == 3,
    "filled": lambda: pl.col("n").fill_null(0).clip(-3, 3) == 0,
    "any": lambda: pl.any_horizontal(pl.col("n") > 40, pl.col("x") > 10),
    "binary": lambda: pl.col("b").bin.starts_with(b"\x01"),
    "year": lambda: pl.col("d").dt.year() == 2025,
    "hour": lambda: pl.col("t").dt.hour().is_between(3, 5),
    "duration": lambda: pl.col("lasts") > dt.timedelta(minutes=40),
    "nested": lambda: pl.col("place").struct.field("city").str.to_lowercase() == "oslo",
    "list": lambda: pl.col("place").struct.field("years").list.len() > 2,
    "dictionary": lambda: pl.col("kind").cast(pl.String).str.to_uppercase() == "B",
    "dot": lambda: pl.col("shop.id") % 5 == 0,
}


def of_arrow(condition: pc.Expression) -> list[int]:
    rows: list[int] = ROWS.filter(condition)["row"].to_pylist()
    return rows


def of_polars(condition: pl.Expr) -> list[int]:
    return pl.DataFrame(ROWS).filter(condition)["row"].to_list()


CASES = [
    *[pytest.param(make, of_arrow, id=f"pyarrow-{name}") for name, make in ARROW.items()],
    *[pytest.param(make, of_polars, id=f"polars-{name}") for name, make in POLARS.items()],
]


@pytest.mark.parametrize(("make", "of_other"), CASES)
def test_every_way_of_reading_gives_the_rows(
    mixed: Path, make: Callable[[], Any], of_other: Callable[[Any], list[int]]
) -> None:
    data, condition = lath.open(mixed), make()
    expected = of_other(condition)
    assert len(expected) < ROWS.num_rows
    found = data.find(condition, ["row"])
    assert found.schema.names == ["row"] and found.count() == data.count(condition) == len(expected)
    assert found.to_arrow()["row"].to_pylist() == expected == found.to_polars()["row"].to_list()
    assert pa.table(found)["row"].to_pylist() == expected == found.to_pandas()["row"].to_list()
    assert [row for batch in data.scan(["row"], condition, batch_size=7) for row in batch.to_polars()["row"]] == expected
    # All columns, as they are without a condition.
    whole = data.find(condition).to_arrow()
    assert whole.equals(data.to_arrow().take(pa.array(expected, pa.int64())))
    for limit in (0, 1, 3, len(expected), 1000):
        some = data.find(condition, ["s", "row"], limit)
        assert some.to_arrow()["row"].to_pylist() == expected[:limit] and some.count() == len(expected[:limit])


def test_other_engines_read_on_their_threads(mixed: Path) -> None:
    data = lath.open(mixed)
    for condition, expected in [(ARROW["regex"](), of_arrow(ARROW["regex"]())), (POLARS["regex"](), of_polars(POLARS["regex"]()))]:
        rows = pa.RecordBatchReader.from_stream(data.scan(["row"], condition, batch_size=20))
        query = "SELECT count(*), sum(a.row) FROM rows a"
        assert duckdb.connect().execute(query).fetchall() == [(len(expected), sum(expected))]
        assert rows.schema.names == ["row"]
        with ThreadPoolExecutor(4) as pool:
            counts = pool.map(lambda _, condition=condition: data.count(condition), range(20))
            assert set(counts) == {len(expected)}


def test_conditions_of_tables(tmp_path: Path) -> None:
    schema = ROWS.schema.set(0, pa.field("row", pa.int64(), nullable=False)).remove(11)
    table = lath.Table.create(tmp_path / "table", schema, ["row"], durability="off", background=False)
    table.upsert(ROWS.select(schema.names).slice(0, 300))
    table.flush()
    table.upsert(ROWS.select(schema.names).slice(300))
    for name in ("upper", "nested", "duration"):
        for condition, expected in [(ARROW[name](), of_arrow(ARROW[name]())), (POLARS[name](), of_polars(POLARS[name]()))]:
            scan = table.scan(["n", "row"], condition)
            assert sorted(scan.to_arrow()["row"].to_pylist()) == expected
            assert table.count(condition) == scan.count() == len(expected)
            assert sorted(row for batch in scan for row in batch.to_polars()["row"]) == expected
            assert sorted(pa.table(scan)["row"].to_pylist()) == expected
            assert table.scan(where=condition, limit=2).to_arrow().num_rows == min(2, len(expected))
    with pytest.raises(lath.InvalidError, match="say it in SQL"):
        table.delete_where(pl.col("s").str.len_chars() > 3)
    with pytest.raises(lath.InvalidError, match="no column"):
        table.scan(where=pl.col("nothing") % 2 == 1)


def test_a_part_of_a_column_is_given_where_the_condition_needs_more(mixed: Path) -> None:
    data = lath.open(mixed)
    condition = pl.col("place").struct.field("city").str.len_chars() == 4
    expected = data.scan(["place.years.list.element.at", "row"]).to_arrow()
    expected = expected.filter(pc.is_in(expected["row"], pa.array(of_polars(condition))))
    found = data.find(condition, ["place.years.list.element.at", "row"])
    assert found.to_arrow().equals(expected) and found.to_arrow().num_rows > 100
    assert pa.schema(found).equals(pa.schema(data.scan(["place.years.list.element.at", "row"])))
    assert data.find(condition, ["place.city"]).to_arrow()["place"].to_pylist()[0] == {"city": "Rome"}


def test_what_lath_does_not_compare_its_library_may(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "m": pa.array([[("k", "v")], [], None, [("k", "w")]], pa.map_(pa.string(), pa.string())),
            "f": pa.array([["a", "b"], None, ["c", "d"], ["a", "d"]], pa.list_(pa.string(), 2)),
            "l": pa.array([["a"], None, ["c", "d"], []], pa.list_(pa.string())),
            "is": [True, False, None, True],
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    data = lath.open(tmp_path)
    looked_up = pc.equal(pc.map_lookup(pc.field("m"), pa.scalar("k"), "first"), "v")
    assert data.count(looked_up) == 1 and data.count(pc.list_element(pc.field("f"), 0) == "a") == 2
    # Lath compares no lists with lists, and no booleans with numbers.
    assert data.count(pl.col("l") == pl.lit(["a"], pl.List(pl.String))) == 1
    assert data.count(pl.col("is") == 1) == pl.DataFrame(rows.select(["is"])).filter(pl.col("is") == 1).height
    with pytest.raises(lath.InvalidError, match='no column "if"; there are m, f'):
        data.count(pl.col("if") == 1)


def test_narrow_floats_are_compared_as_their_library_does(tmp_path: Path) -> None:
    # The nearest float of 32 bits is above 0.1, and below 0.7.
    rows = pa.table(
        {
            "narrow": pa.array([0.1, 0.7, 0.5, 16777216.0, math.inf, None], pa.float32()),
            "wide": pa.array([0.1, 0.7, 0.5, 16777217.0, math.inf, None], pa.float64()),
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    data, frame = lath.open(tmp_path), pl.DataFrame(rows)
    view, lazy = lath.arrow_dataset(data), lath.scan_polars(data)
    for name in ("narrow", "wide"):
        for value in (0.1, 0.7, 0.5, 16777217.0, 1e300, math.inf):
            for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
                for literal in (pa.scalar(value, pa.float64()), pa.scalar(value, pa.float32())):
                    filter = compare(pc.field(name), literal)
                    expected = rows.filter(filter).num_rows
                    assert data.count(filter) == view.count_rows(filter) == expected, str(filter)
                    assert data.count(filter & (pc.field("wide") > 0)) == expected, str(filter)
                for condition in (
                    compare(pl.col(name), pl.lit(value, pl.Float64)),
                    compare(pl.col(name), pl.lit(value, pl.Float32)),
                    compare(pl.col(name), pl.lit(value)),
                ):
                    height = frame.filter(condition).height
                    assert data.count(condition) == height == lazy.filter(condition).collect().height, str(condition)
            assert data.count(pc.field(name).isin([value])) == rows.filter(pc.field(name).isin([value])).num_rows, value
            assert data.count(pl.col(name).is_in([value])) == frame.filter(pl.col(name).is_in([value])).height, value
    # A literal that no float of 32 bits is equal to is left to the library.
    assert data.explain(pc.field("narrow") > 0.1).rows_found == 6
    assert data.explain(pc.field("narrow") > 0.5).rows_found == 3 == data.explain(pc.field("wide") > 0.5).rows_found


def test_columns_beside_those_of_files(mixed: Path) -> None:
    data, condition = lath.open(mixed), pl.col("n") % 10 == 3
    rows = of_polars(condition)
    found = data.scan(["s"], condition, file_name="file", row_number="number", strings="offsets").to_arrow()
    assert found.column_names == ["s", "file", "number"] and found["number"].to_pylist() == rows
    assert data.scan(["number", "s"], condition, row_number="number").to_arrow()["number"].to_pylist() == rows
    assert data.scan(["s"], condition, dictionary_columns=["s"]).to_arrow()["s"].type == pa.dictionary(pa.int32(), pa.string())


def test_what_cannot_be_tested_row_by_row_is_an_error(mixed: Path) -> None:
    data = lath.open(mixed)
    x = pl.col("x")
    for condition, what in [
        (x > x.mean(), "Agg"),
        (x.cum_sum() > 3, "CumSum"),
        (x.shift(1) > 3, "Shift"),
        (x.is_unique(), "Boolean.IsUnique"),
        (x.max().over("s") > 3, "Over"),
        (x.sort() > 3, "Sort"),
        (pl.all().is_null(), "Selector"),
        (pl.col("s").str.join("") == "", "StringExpr.ConcatVertical"),
        (x.is_in(pl.col("n")), "is_in"),
        (pl.col("s").map_elements(str.isdigit, return_dtype=pl.Boolean), "AnonymousFunction"),
        (x.forward_fill() > 3, "FillNullWithStrategy"),
        ((pl.col("n") > 3) & (x > x.mean()), "Agg"),
    ]:
        with pytest.raises(lath.InvalidError, match=rf"where: neither .* {what}.*: filter lath.scan_polars"):
            data.count(condition)
    for nothing, message in [
        (pc.scalar(True), "names no column"),
        (pl.lit(True), "names no column"),
        (pc.field("nothing") + 1 == 1, 'no column "nothing"'),
        (pl.col("nothing") % 2 == 1, 'no column "nothing"'),
        (pc.utf8_upper(pc.field("s")), "neither true nor false"),
        (pl.col("s").str.to_uppercase(), "neither true nor false"),
        (pc.utf8_upper(pc.field("n")) == "a", "where: .*no kernel"),
        (pl.col("n").str.to_uppercase() == "a", "where: "),
    ]:
        with pytest.raises(lath.InvalidError, match=message):
            data.find(nothing)
    # Rows that are met while all are read.
    numbers = data.find(pl.col("s").cast(pl.Int64) == 1)
    for read in (numbers.count, numbers.to_arrow, lambda: list(numbers)):
        with pytest.raises(lath.InvalidError, match="where: conversion from"):
            read()
    with pytest.raises(pa.ArrowInvalid, match="where: conversion from"):
        pa.RecordBatchReader.from_stream(numbers).read_all()
    # By itself it makes no condition of Lath.
    with pytest.raises(lath.InvalidError, match="say it in SQL"):
        lath.where(x % 2 == 1)


def test_random_conditions_of_which_lath_tests_some(mixed: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    data, view = lath.open(mixed), lath.arrow_dataset(mixed)
    for kinds, field, of_other in [(ARROW, pc.field, of_arrow), (POLARS, pl.col, of_polars)]:

        def condition(depth: int, kinds: Any = kinds, field: Any = field) -> Any:
            kind = chance.randrange(5) if depth else chance.randrange(2)
            if kind == 0:
                return kinds[chance.choice(list(kinds))]()
            if kind == 1:
                name, value = chance.choice([("n", 7), ("x", 5.25), ("s", "Name 7"), ("row", 250)])
                return field(name) < value if chance.random() < 0.5 else field(name) >= value
            if kind == 2:
                return ~condition(depth - 1)
            left, right = condition(depth - 1), condition(depth - 1)
            return left & right if kind == 3 else left | right

        for _ in range(150):
            filter = condition(3)
            expected = of_other(filter)
            assert data.find(filter, ["row"]).to_arrow()["row"].to_pylist() == expected, str(filter)
            assert data.count(filter) == len(expected), str(filter)
            if field is pc.field:
                assert view.to_table(["row"], filter)["row"].to_pylist() == expected, str(filter)
