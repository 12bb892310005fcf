"""Conditions in text, from columns, and from values of every class."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import operator
import random
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lath
from lath import col


def test_conditions_are_sql() -> None:
    price = col("price")
    assert str((price > 3) & (col("shop.city") == "Oslo")) == '"price" > 3 AND "shop"."city" = \'Oslo\''
    assert str(~price.isin([1, 2]) | price.is_null()) == '"price" NOT IN (1, 2) OR "price" IS NULL'
    assert str(price.between(1, 2.5)) == '"price" BETWEEN 1 AND 2.5'
    assert str(col("a.b", exact=True).like("x%")) == "\"a.b\" LIKE 'x%'"
    assert str(col("a").field("b.c").starts_with("50%")) == "\"a\".\"b.c\" LIKE '50\\%%' ESCAPE '\\'"
    assert str(lath.where("price > 3") & price.is_not_null()) == 'price > 3 AND "price" IS NOT NULL'
    assert repr(price.is_null()) == "where(\"\\\"price\\\" IS NULL\")"
    assert repr(col("a").at("k")) == "col(\"a\").at('k')"


def test_columns_compare_with_columns() -> None:
    a, b = col("a"), col("b")
    assert [str(it) for it in (a == b, a < b, a <= b, a > b, a >= b)] == [
        '"a" = "b"',
        '"a" < "b"',
        '"a" <= "b"',
        '"b" < "a"',
        '"b" <= "a"',
    ]


def test_conditions_are_not_truth_values() -> None:
    with pytest.raises(TypeError, match="join conditions with &"):
        bool(col("a") > 1)
    with pytest.raises(TypeError, match="join conditions with &"):
        1 < col("a") < 3  # noqa: B015
    with pytest.raises(TypeError, match="is_null"):
        col("a") == None  # noqa: B015, E711
    with pytest.raises(TypeError, match="class object"):
        col("a") == object()  # noqa: B015
    with pytest.raises(TypeError, match="durations"):
        col("a") > dt.timedelta(1)  # noqa: B015


def test_conditions_may_be_many_but_not_deep(trips: lath.Dataset) -> None:
    many = functools.reduce(operator.or_, [col("price") == price / 4 for price in range(3000)])
    assert trips.count(many) == trips.count("price < 750")
    deep = col("price") > 1
    with pytest.raises(lath.LimitError, match="200 levels"):
        for _ in range(100_000):
            deep = (deep & (col("price") > 1)) | (col("price") > 2)


VALUES: list[tuple[pa.DataType, list[Any], list[Any]]] = [
    (pa.int64(), [-(2**63), 7, 2**63 - 1], [7, np.int32(7), 2**80, -(2**90)]),
    (pa.uint64(), [0, 7, 2**64 - 1], [2**64 - 1, np.uint64(2**64 - 1)]),
    (pa.float64(), [-1.5, 0.1, float("inf")], [0.1, float("inf"), np.float64(0.1), decimal.Decimal("0.1")]),
    (pa.float32(), [-1.5, 0.25], [0.25, np.float32(0.25), -1.5]),
    (pa.decimal128(20, 3), [decimal.Decimal("1.005"), decimal.Decimal("-7")], [decimal.Decimal("1.005"), -7]),
    (pa.bool_(), [True, False], [True, np.bool_(False)]),
    (pa.string(), ["a", "ä'b", ""], ["a", "ä'b", "", np.str_("a"), pa.scalar("a")]),
    (pa.binary(), [b"a", b"\xff\x00"], [b"a", bytearray(b"\xff\x00")]),
    (
        pa.date32(),
        [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)],
        [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31), np.datetime64("2024-02-29")],
    ),
    (pa.time64("us"), [dt.time(0), dt.time(23, 59, 59, 999_999)], [dt.time(23, 59, 59, 999_999)]),
    (
        pa.timestamp("us"),
        [dt.datetime(1, 1, 1), dt.datetime(2024, 2, 29, 12, 30, 0, 5), dt.datetime(9999, 12, 31)],
        [
            dt.datetime(2024, 2, 29, 12, 30, 0, 5),
            dt.datetime(2024, 2, 29, 14, 30, 0, 5, dt.timezone(dt.timedelta(hours=2))),
            np.datetime64("2024-02-29T12:30:00.000005", "us"),
            pd.Timestamp("2024-02-29 12:30:00.000005"),
        ],
    ),
    (
        pa.timestamp("ns"),
        [pd.Timestamp("2024-02-29 12:30:00.000000005"), pd.Timestamp("1969-12-31 23:59:59.999999999")],
        [
            pd.Timestamp("2024-02-29 12:30:00.000000005"),
            np.datetime64("1969-12-31T23:59:59.999999999"),
            pd.Timestamp("2024-02-29 13:30:00.000000005", tz="Europe/Oslo"),
        ],
    ),
    (pa.binary(16), [bytes(range(16))], [uuid.UUID(bytes=bytes(range(16))), bytes(range(16))]),
]


@pytest.mark.parametrize(("data_type", "stored", "asked"), VALUES, ids=[str(case[0]) for case in VALUES])
def test_values_of_every_class_are_found(
    tmp_path: Path, data_type: pa.DataType, stored: list[Any], asked: list[Any]
) -> None:
    table = pa.table({"v": pa.array([*stored, None], data_type)})
    pq.write_table(table, tmp_path / "v.parquet")
    data = lath.open(tmp_path)
    values = [value for value in table["v"].to_pylist() if value is not None]
    for value in asked:
        plain: Any = value
        if isinstance(value, uuid.UUID):
            plain = value.bytes
        elif isinstance(value, np.datetime64) and data_type == pa.timestamp("ns"):
            plain = pd.Timestamp(value)
        elif isinstance(value, np.generic):
            plain = value.item()
        elif isinstance(value, pa.Scalar):
            plain = value.as_py()
        elif isinstance(value, dt.datetime) and value.tzinfo and not isinstance(value, pd.Timestamp):
            plain = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        if isinstance(plain, pd.Timestamp) and plain.tz is not None:
            plain = plain.tz_convert("UTC").tz_localize(None)
        if isinstance(plain, decimal.Decimal) and pa.types.is_floating(data_type):
            plain = float(plain)
        assert data.count(col("v") == value) == sum(it == plain for it in values), value
        assert data.count(col("v") < value) == sum(it < plain for it in values), value
        assert data.count(col("v").isin([value])) == sum(it == plain for it in values), value
    assert data.count(col("v").is_null()) == 1


def test_random_conditions_find_what_pyarrow_finds(trips: lath.Dataset, trips_table: pa.Table) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    places = trips_table["from"].unique().to_pylist()
    prices = trips_table["price"].unique().to_pylist()
    names = {"price": prices, "from": places, "minutes": trips_table["minutes"].unique().to_pylist()}

    def leaf() -> tuple[lath.Predicate, pc.Expression]:
        name = chance.choice(list(names))
        value = chance.choice(names[name])
        comparisons = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
        kind = chance.randrange(9)
        if value is None or kind == 6:
            return col(name).is_null(), pc.field(name).is_null()
        if kind == 7:
            some = [value for value in chance.choices(names[name], k=chance.randrange(1, 9)) if value is not None]
            # A comparison with null is null for Lath, and false for pyarrow.
            both = pc.field(name).isin(some)
            return col(name).isin(some), pc.if_else(pc.field(name).is_null(), pa.scalar(None, pa.bool_()), both)
        if kind == 8:
            low, high = sorted([value, chance.choice([it for it in names[name] if it is not None])])
            return col(name).between(low, high), (pc.field(name) >= low) & (pc.field(name) <= high)
        compare = comparisons[kind]
        return compare(col(name), value), compare(pc.field(name), value)

    def tree(depth: int) -> tuple[lath.Predicate, pc.Expression]:
        kind = chance.randrange(4)
        if depth == 0 or kind == 0:
            return leaf()
        left = tree(depth - 1)
        if kind == 1:
            return ~left[0], ~left[1]
        right = tree(depth - 1)
        if kind == 2:
            return left[0] & right[0], left[1] & right[1]
        return left[0] | right[0], left[1] | right[1]

    for _ in range(60):
        ours, theirs = tree(3)
        expected = trips_table.filter(theirs)["started"]
        assert trips.find(ours, ["started"]).to_arrow()["started"].to_pylist() == expected.to_pylist(), str(ours)
        assert trips.count(str(ours)) == len(expected), str(ours)
