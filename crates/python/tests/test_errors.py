"""Errors have classes, places and messages that say what to do."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lath
from conftest import TRIPS


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    missing = tmp_path / "none.parquet"
    with pytest.raises(lath.NotFoundError, match="none.parquet: ") as caught:
        lath.open(missing)
    assert isinstance(caught.value, FileNotFoundError) and isinstance(caught.value, lath.Error)
    assert caught.value.errno == 2


def test_other_formats_are_named(tmp_path: Path) -> None:
    text = tmp_path / "rows.parquet"
    text.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(lath.NotParquetError, match="rows.parquet: not a Parquet file") as caught:
        lath.open(text)
    assert caught.value.file == str(text)


def test_damage_has_a_place(damaged: Path) -> None:
    with pytest.raises(lath.CorruptError) as caught:
        lath.open(damaged).to_arrow()
    error = caught.value
    assert (error.file, error.row_group) == (str(damaged), 0)
    assert error.column == "number" and "column number" in str(error)


def test_a_condition_is_checked_before_anything_is_read(trips: lath.Dataset) -> None:
    with pytest.raises(lath.InvalidError, match="where: cannot read the expression"):
        trips.count("price >")
    with pytest.raises(lath.InvalidError, match='where: .*"?prize'):
        trips.find("prize > 3")
    with pytest.raises(lath.InvalidError):
        trips.lookup("prize", [1])
    with pytest.raises(lath.InvalidError):
        trips.scan(["prize"])
    assert issubclass(lath.InvalidError, ValueError)


def test_arguments_are_checked(trips: lath.Dataset) -> None:
    with pytest.raises(TypeError, match="is no condition"):
        trips.count(3)
    with pytest.raises(TypeError):
        lath.open(TRIPS, colour="red")  # type: ignore[call-arg]
    with pytest.raises(lath.InvalidError, match="batch size"):
        trips.scan(batch_size=0)
    with pytest.raises(ValueError, match="footer_key"):
        lath.open(TRIPS, aad_prefix=b"x")
    with pytest.raises(ValueError, match="16, 24 or 32 bytes"):
        lath.open(TRIPS, footer_key=b"short")
    with pytest.raises(ValueError, match='"ns", "us" or "ms"'):
        lath.open(TRIPS, int96_unit="s")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="request_timeout"):
        lath.open(TRIPS, request_timeout=-1)
    with pytest.raises(TypeError, match="not a list of values"):
        trips.lookup("from", "Harbour")


def test_old_timestamps_need_another_unit(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"t": pa.array([-14_832_000_000_000_123], pa.timestamp("us"))}),
        tmp_path / "old.parquet",
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    )
    with pytest.raises(lath.OutOfRangeError):
        lath.open(tmp_path).to_arrow()
    assert lath.open(tmp_path, int96_unit="us").to_arrow()["t"].cast(pa.int64()).to_pylist() == [-14_832_000_000_000_123]
