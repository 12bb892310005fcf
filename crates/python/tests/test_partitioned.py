"""Writing folders of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lath

ROWS = pa.table(
    {
        "year": pa.array([2024, 2025, 2025, None], pa.int32()),
        "place": ["a/b", "a/b", "é x", "a/b"],
        "price": [1.5, 2.5, 3.5, 4.5],
    }
)


def sorted_rows(table: pa.Table) -> list[dict[str, Any]]:
    columns = sorted(table.column_names)
    return sorted(table.select(columns).to_pylist(), key=str)


def test_rows_are_divided_by_the_values_of_columns(tmp_path: Path) -> None:
    files: list[lath.WrittenFile] = []
    written = lath.write_to_dataset(ROWS, tmp_path / "out", ["year", "place"], file_visitor=files.append)
    assert written == files and [file.written.rows for file in files] == [1, 1, 1, 1]
    assert lath.open(tmp_path / "out").partitions == ["year", "place"]
    for read in (lath.read_table(tmp_path / "out"), pq.read_table(tmp_path / "out")):
        plain = read.set_column(read.column_names.index("place"), "place", read["place"].cast(pa.string()))
        plain = plain.set_column(plain.column_names.index("year"), "year", plain["year"].cast(pa.int32()))
        assert sorted_rows(plain) == sorted_rows(ROWS)


def test_rows_are_appended_unless_told_otherwise(tmp_path: Path) -> None:
    for _ in range(2):
        lath.write_to_dataset(ROWS, tmp_path, ["place"])
    assert lath.open(tmp_path).count() == 8
    with pytest.raises(FileExistsError, match="the folder has files"):
        lath.write_to_dataset(ROWS, tmp_path, existing_data_behavior="error")
    one = ROWS.slice(2, 1)
    lath.write_to_dataset(one, tmp_path, ["place"], existing_data_behavior="delete_matching")
    assert lath.open(tmp_path).count() == 7
    lath.write_to_dataset(one, tmp_path / "named", basename_template="rows-{i}.parquet", compression="zstd")
    lath.write_to_dataset(one, tmp_path / "named", basename_template="rows-{i}.parquet")
    assert [path.name for path in (tmp_path / "named").iterdir()] == ["rows-0.parquet"]


def test_a_folder_of_a_file_system_is_written() -> None:
    system = fsspec.filesystem("memory")
    system.store.clear()
    lath.write_to_dataset(ROWS, "/out", ["year"], filesystem=system)
    lath.write_to_dataset(ROWS, "/out", ["year"], filesystem=system, existing_data_behavior="delete_matching")
    assert lath.open("/out", filesystem=system).count("year = 2025") == 2


def test_what_cannot_be_a_directory_is_refused(tmp_path: Path) -> None:
    for columns, rows, match in [
        (["none"], ROWS, "there is no column 'none'"),
        (["year", "place", "price"], ROWS, "no column would be left"),
        (["b"], pa.table({"b": [[1]], "c": [1]}), "no names of directories"),
        (["b"], pa.table({"b": [""], "c": [1]}), "an empty string"),
    ]:
        with pytest.raises(lath.InvalidError, match=match):
            lath.write_to_dataset(rows, tmp_path, columns)
    with pytest.raises(lath.InvalidError, match="basename_template"):
        lath.write_to_dataset(ROWS, tmp_path, basename_template="rows.parquet")
    assert not list(tmp_path.iterdir())
