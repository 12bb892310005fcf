"""Conditions with scalars of every library and type, beside what pyarrow and polars make of the same."""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lath

NOON = dt.datetime(2025, 6, 1, 12, 0, 0, 250)
OSLO = ZoneInfo("Europe/Oslo")
SECONDS = [-3600, 0, 1, 1_748_779_200, None]


def counts(data_type: pa.DataType, per_second: int, more: list[int] = []) -> pa.Array:  # noqa: B006
    values = [None if second is None else second * per_second for second in SECONDS] + more
    return pa.array([values[row % len(values)] for row in range(24)], pa.int64()).cast(data_type)


def column(values: list[Any], data_type: pa.DataType) -> pa.Array:
    return pa.array([values[row % len(values)] for row in range(24)], data_type)


ROWS = pa.table(
    {
        "i8": column([-128, -1, 0, 1, 7, 127, None], pa.int8()),
        "i64": column([-(2**63), -7, 0, 1, 7, 2**53, 2**53 + 1, 2**63 - 1, None], pa.int64()),
        "u64": column([0, 1, 7, 2**53 + 1, 2**64 - 1, None], pa.uint64()),
        "f32": column([-math.inf, -0.0, 0.0, 0.1, 1.5, 7.0, math.nan, None], pa.float32()),
        "f64": column([-math.inf, -0.0, 0.0, 0.1, 1.5, 7.0, 2.0**53, math.nan, None], pa.float64()),
        "dec": column([Decimal("-1.50"), Decimal("0.00"), Decimal("0.10"), Decimal("7.00"), None], pa.decimal128(10, 2)),
        "s": column(["", "a", "B", "7", "2025-06-01", None], pa.string()),
        "cat": column(["a", "B", None], pa.dictionary(pa.int32(), pa.string())),
        "bin": column([b"", b"a", b"\xff", None], pa.binary()),
        "b": column([True, False, None], pa.bool_()),
        "d": column([dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2025, 6, 1), None], pa.date32()),
        "ts_ms": counts(pa.timestamp("ms"), 1000, [1_748_779_200_001]),
        "ts": counts(pa.timestamp("us"), 10**6, [1_748_779_200_000_250]),
        "ts_ns": counts(pa.timestamp("ns"), 10**9, [1_748_779_200_000_250_001, 1]),
        "utc": counts(pa.timestamp("us", "UTC"), 10**6, [1_748_779_200_000_250]),
        "oslo": counts(pa.timestamp("us", "Europe/Oslo"), 10**6, [1_748_779_200_000_250]),
        "t": column([dt.time(0), dt.time(12, 0, 0, 250), dt.time(23, 59, 59, 999999), None], pa.time64("us")),
        "t_ns": pa.array([(0, 1, 43_200_000_250_001, 86_399_999_999_999, None)[row % 5] for row in range(24)], pa.int64()).cast(
            pa.time64("ns")
        ),
        "lasts": column([dt.timedelta(0), dt.timedelta(minutes=40), dt.timedelta(-1), None], pa.duration("us")),
        "row": pa.array(range(24), pa.int64()),
    }
)

#: Scalars by what they are about.
NUMBERS: list[Any] = [
    *[0, 1, 7, -7, 127, 128, 2**53, 2**53 + 1, 2**63 - 1, True, 0.0, -0.0, 0.1, 1.5, 7.0, 2.0**53, 1e300, math.inf, -math.inf, math.nan],
    *[np.int8(7), np.int64(2**53 + 1), np.uint64(7), np.uint64(2**64 - 1), np.float16(1.5), np.float32(0.1), np.float32("nan")],
    *[np.float64(0.1), np.float64("nan"), np.bool_(True), Decimal("0.10"), Decimal("7"), Decimal("-1.5"), Decimal("0.105")],
    *[pa.scalar(7, pa.int8()), pa.scalar(7, pa.uint64()), pa.scalar(0.1, pa.float32()), pa.scalar(1.5), pa.scalar(math.nan)],
    *[pa.scalar(Decimal("0.10"), pa.decimal128(10, 2)), pa.scalar(None, pa.int64()), pa.scalar(None, pa.float64()), pd.NA],
]
TEXTS: list[Any] = ["", "a", "B", "7", np.str_("a"), pa.scalar("B"), pa.scalar("a", pa.large_string()), pa.scalar(None, pa.string())]
BYTES: list[Any] = [b"", b"a", b"\xff", np.bytes_(b"a"), pa.scalar(b"a"), pa.scalar(b"", pa.large_binary())]
TRUTHS: list[Any] = [True, False, np.bool_(True), pa.scalar(False), pa.scalar(None, pa.bool_())]
MOMENTS: list[Any] = [
    *[NOON, dt.datetime(1970, 1, 1), dt.date(2025, 6, 1), dt.date(1970, 1, 1), NOON.replace(tzinfo=dt.timezone.utc)],
    *[NOON.replace(tzinfo=OSLO), pd.Timestamp(NOON), pd.Timestamp(1_748_779_200_000_250_001), pd.NaT],
    *[pd.Timestamp(NOON, tz="UTC"), pd.Timestamp(NOON, tz="Europe/Oslo"), np.datetime64("2025-06-01"), np.datetime64("NaT")],
    *[np.datetime64("2025-06-01T12:00:00.000250"), np.datetime64(1_748_779_200_000_250_001, "ns"), np.datetime64(0, "s")],
    *[pa.scalar(NOON, pa.timestamp("us")), pa.scalar(1, pa.timestamp("ns")), pa.scalar(0, pa.timestamp("s"))],
    *[pa.scalar(1_748_779_200_000_250, pa.timestamp("us", "UTC")), pa.scalar(None, pa.timestamp("us"))],
    *[pa.scalar(dt.date(2025, 6, 1)), pa.scalar(1_748_779_200_000_250_001, pa.timestamp("ns"))],
]
TIMES: list[Any] = [
    *[dt.time(0), dt.time(12, 0, 0, 250), pa.scalar(43_200_000_250_001, pa.time64("ns")), pa.scalar(1, pa.time64("ns"))],
    *[pa.scalar(dt.time(12, 0, 0, 250)), pa.scalar(None, pa.time64("us"))],
]
DURATIONS: list[Any] = [
    *[dt.timedelta(minutes=40), dt.timedelta(0), pd.Timedelta(minutes=40), np.timedelta64(40, "m"), np.timedelta64("NaT")],
    *[pa.scalar(dt.timedelta(minutes=40))],
]
KINDS: list[tuple[list[str], list[Any]]] = [
    (["i8", "i64", "u64", "f32", "f64", "dec"], NUMBERS),
    (["s", "cat"], TEXTS),
    (["bin"], BYTES),
    (["b"], TRUTHS),
    (["d", "ts_ms", "ts", "ts_ns", "utc", "oslo"], MOMENTS),
    (["t", "t_ns"], TIMES),
    (["lasts"], DURATIONS),
]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scalars") / "rows.parquet"
    pq.write_table(ROWS, path, row_group_size=8)
    return path


def found_rows(make: Callable[[], Any]) -> list[int] | None:
    """The rows that are found; ``None`` if the library refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows: list[int] = make()["row"].to_pylist()
            return rows
    except Exception:  # noqa: BLE001
        return None


def pick(chance: random.Random) -> tuple[str, Any, list[Any]]:
    names, values = chance.choice(KINDS)
    return chance.choice(names), chance.choice(values), chance.sample(values, chance.randrange(1, 4))


def differs(what: str, expected: list[int] | None, find: Callable[[], Any]) -> str | None:
    """What is wrong, where the other library answers."""
    if expected is None:
        return None
    found: Any
    try:
        found = find()
    except Exception as raised:  # noqa: BLE001
        found = f"{type(raised).__name__}: {raised}"
    return None if found == expected else f"{what}: {found}, expected {expected}"


def check_arrow(data: lath.Dataset, chance: random.Random) -> list[str | None]:
    name, value, some = pick(chance)
    compare = chance.choice(list(OPERATORS))
    try:
        parts = [OPERATORS[compare](pc.field(name), value)]
        if chance.random() < 0.4:
            parts = [pc.field(name).isin(some)]
        if chance.random() < 0.3:
            parts.append(pc.field("row") < 20)
    except Exception:  # noqa: BLE001
        return []
    filter = reduce(chance.choice([operator.and_, operator.or_]), parts)
    if chance.random() < 0.2:
        filter = ~filter
    expected = found_rows(lambda: ROWS.filter(filter))
    return [differs(f"pyarrow {filter}", expected, lambda: data.find(filter, ["row"]).to_arrow()["row"].to_pylist())]


def check_polars(data: lath.Dataset, frame: pl.DataFrame, chance: random.Random) -> list[str | None]:
    name, value, some = pick(chance)
    compare = chance.choice(list(OPERATORS))
    try:
        filter = OPERATORS[compare](pl.col(name), value)
        if chance.random() < 0.4:
            filter = pl.col(name).is_in(some)
        if chance.random() < 0.2:
            filter = ~filter
    except Exception:  # noqa: BLE001
        return []
    expected = found_rows(lambda: frame.filter(filter).to_arrow())
    return [differs(f"polars {filter}", expected, lambda: data.find(filter, ["row"]).to_arrow()["row"].to_pylist())]


def check_lists(file: Path, chance: random.Random) -> list[str | None]:
    name, value, some = pick(chance)
    filters: Any = [(name, chance.choice(list(OPERATORS)), value)]
    if chance.random() < 0.4:
        filters = [(name, chance.choice(["in", "not in"]), some)]
    # Read by pyarrow, NaN in a list would rule out row groups that have it.
    expected = found_rows(lambda: ROWS.filter(pq.filters_to_expression(filters)))
    found = differs(f"{filters}", expected, lambda: lath.read_table(file, columns=["row"], filters=filters)["row"].to_pylist())
    return [found]


def check_columns(data: lath.Dataset, chance: random.Random) -> list[str | None]:
    """Lath's own conditions, in which NaN is above all numbers and equals itself, and nothing is null but what is."""
    name, value, _ = pick(chance)
    compare = chance.choice(list(OPERATORS))
    is_nan = isinstance(value, (float, np.floating)) and value != value
    if value is True or isinstance(value, np.bool_) or name == "f32" or is_nan:
        return []
    if isinstance(value, pd.Timestamp) and value is not pd.NaT and value.nanosecond:
        # pyarrow makes microseconds of it.
        return []
    if name in ("i64", "u64") and isinstance(value, float) or name == "f64" and isinstance(value, int):
        # Lath compares exactly, and pyarrow what is left of a large integer.
        return []
    expected = found_rows(lambda: ROWS.filter(OPERATORS[compare](pc.field(name), value)))
    is_null = isinstance(value, pa.Scalar) and not value.is_valid or value is pd.NaT or value is pd.NA
    if expected is not None and name == "f64" and compare in (">", ">=") and not is_null:
        expected = sorted({*expected, *(row for row in range(24) if ROWS["f64"][row].as_py() != ROWS["f64"][row].as_py())})
    filter = f"col({name}) {compare} {value!r}"
    if isinstance(value, pa.Scalar) and value.as_py() != value.as_py():
        return []

    def find() -> list[int]:
        found: list[int] = data.find(OPERATORS[compare](lath.col(name), value), ["row"]).to_arrow()["row"].to_pylist()
        return found

    wrong = differs(filter, expected, find)
    # An error says that Lath does not answer; only answers can be wrong.
    return [wrong if wrong is None or "Error: " not in wrong else None]


def wrong_ones(file: Path, seed: int, count: int) -> list[str]:
    chance, data, frame = random.Random(seed), lath.open(file), pl.DataFrame(ROWS)
    found: list[str | None] = []
    for _ in range(count):
        found += check_arrow(data, chance) + check_polars(data, frame, chance)
        found += check_lists(file, chance) + check_columns(data, chance)
    return sorted({wrong for wrong in found if wrong is not None})


def test_random_scalars_mean_what_they_mean_to_their_libraries(file: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    wrong = wrong_ones(file, seed, 60)
    assert not wrong, "\n".join(wrong)
