"""Rows of tables are got by every natural value of their keys."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lath

UTC = dt.timezone.utc
NOON = dt.datetime(2025, 6, 1, 12, 0, 0, 250)
IN_UTC = NOON.replace(tzinfo=UTC)
NANOS = 1_748_779_200_000_250_001
#: The type of a key, its value as it is stored, and values that name it.
KEYS: list[tuple[pa.DataType, Any, list[Any]]] = [
    (
        pa.timestamp("us", "UTC"),
        IN_UTC,
        [
            *[IN_UTC, IN_UTC.astimezone(dt.timezone(dt.timedelta(hours=2))), NOON, "2025-06-01T12:00:00.000250Z"],
            *[pd.Timestamp(IN_UTC), pd.Timestamp(IN_UTC).tz_convert("Europe/Oslo"), np.datetime64(NOON), pa.scalar(IN_UTC)],
            pa.scalar(IN_UTC, pa.timestamp("ns", "Europe/Oslo")),
        ],
    ),
    (
        pa.timestamp("ns"),
        pa.scalar(NANOS, pa.timestamp("ns")),
        [pd.Timestamp(NANOS), np.datetime64(NANOS, "ns"), pa.scalar(NANOS, pa.timestamp("ns"))],
    ),
    (
        pa.timestamp("s"),
        dt.datetime(2025, 6, 1),
        [dt.datetime(2025, 6, 1), dt.date(2025, 6, 1), np.datetime64("2025-06-01"), pd.Timestamp("2025-06-01"), 1_748_736_000],
    ),
    (
        pa.date32(),
        dt.date(2025, 6, 1),
        [dt.date(2025, 6, 1), dt.datetime(2025, 6, 1), pd.Timestamp("2025-06-01"), np.datetime64("2025-06-01"), "2025-06-01"],
    ),
    (pa.time64("us"), NOON.time(), [NOON.time(), pa.scalar(NOON.time()), "12:00:00.000250"]),
    (pa.time64("ns"), pa.scalar(43_200_000_250_001, pa.time64("ns")), [pa.scalar(43_200_000_250_001, pa.time64("ns"))]),
    (
        pa.duration("us"),
        dt.timedelta(minutes=40),
        [dt.timedelta(minutes=40), pd.Timedelta(minutes=40), np.timedelta64(40, "m"), pa.scalar(dt.timedelta(minutes=40))],
    ),
    (
        pa.decimal128(10, 2),
        Decimal("7.50"),
        [Decimal("7.50"), Decimal("7.5"), 7.5, np.float64(7.5), pa.scalar(Decimal("7.50")), pa.scalar(7.5), "7.50"],
    ),
    (pa.decimal128(10, 2), Decimal("7.00"), [7, Decimal(7), np.int32(7), pa.scalar(7), 7.0]),
    (pa.decimal128(20, 0), Decimal(2**64 - 1), [2**64 - 1, Decimal(2**64 - 1), np.uint64(2**64 - 1)]),
    (pa.int64(), 7, [7, np.int8(7), pa.scalar(7), Decimal(7), 7.0]),
    (pa.uint64(), 2**64 - 1, [2**64 - 1, np.uint64(2**64 - 1), pa.scalar(2**64 - 1, pa.uint64())]),
    (pa.string(), "a", ["a", np.str_("a"), pa.scalar("a")]),
    (pa.binary(16), uuid.UUID(int=5).bytes, [uuid.UUID(int=5), uuid.UUID(int=5).bytes, pa.scalar(uuid.UUID(int=5).bytes)]),
    (pa.bool_(), True, [True, np.bool_(True), pa.scalar(True)]),
    (pa.float64(), 1.5, [1.5, np.float32(1.5), pa.scalar(1.5), Decimal("1.5"), pa.scalar(1.5, pa.float32())]),
]


@pytest.mark.parametrize(("data_type", "stored", "keys"), KEYS, ids=[f"{key[0]} {key[1]}" for key in KEYS])
def test_a_row_is_got_and_deleted_by_its_key(tmp_path: Path, data_type: pa.DataType, stored: Any, keys: list[Any]) -> None:
    schema = pa.schema([pa.field("k", data_type, nullable=False), ("v", pa.int64())])
    column = pa.array([stored.value], pa.int64()).cast(data_type) if isinstance(stored, pa.Scalar) else pa.array([stored], data_type)
    rows = pa.table({"k": column, "v": [1]}, schema)
    table = lath.Table.create(tmp_path / "table", schema, ["k"], durability="off", background=False)
    table.upsert(rows)
    table.flush()
    for key in keys:
        assert table.get(key) is not None, repr(key)
        assert table.get_many([key, key]).num_rows == table.snapshot().get_many([key]).num_rows == 1, repr(key)
        table.delete([key])
        assert table.count() == 0, repr(key)
        table.upsert(rows)
    for many in (column, pa.chunked_array([column]), pl.Series(column)):
        assert table.get_many(many).num_rows == 1, type(many)


def test_a_value_that_the_column_does_not_have_is_an_error(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("at", pa.timestamp("us"), nullable=False), pa.field("d", pa.decimal128(5, 2), nullable=False)])
    table = lath.Table.create(tmp_path / "table", schema, ["at", "d"], durability="off", background=False)
    for key in [(pd.Timestamp(NANOS), 1), (NOON, Decimal("1.505")), (NOON, 10**6), (NOON, 0.1)]:
        with pytest.raises(ValueError, match="which has no such value|no decimal|digits behind the point"):
            table.get(key)
    for null in (None, pd.NaT, np.datetime64("NaT"), pa.scalar(None, pa.timestamp("us"))):
        with pytest.raises(TypeError, match="no nulls"):
            table.get((null, 1))
    table.upsert(pa.table({"at": [NOON], "d": [Decimal("1.50")]}, schema))
    assert table.get((pd.Timestamp(NOON), 1.5)) is not None


def test_metadata_of_schemas_are_in_the_footer(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    rows = pa.Table.from_pandas(frame)
    written, exported = tmp_path / "written.parquet", tmp_path / "exported"
    lath.write_table(rows, written, metadata={"by": "hand"})
    metadata = pq.read_metadata(written).metadata
    assert metadata[b"pandas"] == rows.schema.metadata[b"pandas"] and metadata[b"by"] == b"hand"
    assert pq.read_table(written).to_pandas().equals(frame)
    lath.write_table(rows, written, metadata={"pandas": "{}"})
    assert pq.read_metadata(written).metadata[b"pandas"] == b"{}"
    schema = rows.schema.set(1, pa.field("key", pa.string(), nullable=False))
    table = lath.Table.create(tmp_path / "table", schema, ["key"], durability="off", background=False)
    table.upsert(rows.cast(schema))
    table.close()
    subprocess.run([sys.executable, "-m", "lath", "table", "export", str(tmp_path / "table"), str(exported)], check=True)
    assert pq.read_metadata(exported / "part-00000.parquet").metadata[b"pandas"] == rows.schema.metadata[b"pandas"]


def test_categories_keep_their_order(tmp_path: Path) -> None:
    sizes = pd.Categorical(["small", "large"], categories=["small", "medium", "large"], ordered=True)
    rows = pa.Table.from_pandas(pd.DataFrame({"size": sizes}))
    lath.write_table(rows, tmp_path / "sizes.parquet")
    assert pq.read_table(tmp_path / "sizes.parquet").schema.field("size").type.ordered
    assert lath.read_table(tmp_path / "sizes.parquet").schema.field("size").type.ordered
