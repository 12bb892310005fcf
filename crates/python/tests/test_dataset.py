"""Opening, reading, finding, counting."""

from __future__ import annotations

import pickle
import os
import shutil
import sys
import threading
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lath
from conftest import TRIPS, a_key, resident_bytes


def test_a_folder_is_one_table(trips: lath.Dataset, trips_table: pa.Table) -> None:
    assert [Path(file).name for file in trips.files] == ["2025-01.parquet", "2025-02.parquet", "2025-03.parquet"]
    assert trips.schema.names == trips_table.column_names
    assert trips.count() == trips_table.num_rows
    assert "price" in trips.schema and "none" not in trips.schema
    assert trips.schema["price"] == trips.schema.types[trips.schema.names.index("price")]
    with pytest.raises(KeyError):
        trips.schema["none"]


def test_paths_globs_and_lists_name_files(tmp_path: Path) -> None:
    one = str(TRIPS / "2025-01.parquet")
    assert lath.open(one).files == [one]
    assert lath.open([one, TRIPS / "2025-03.parquet"]).count() == 20_000
    assert lath.open(TRIPS / "*-0[12].parquet").count() == 20_000
    listed = tmp_path / "files.txt"
    listed.write_text(f"# one\n{one}\n")
    assert lath.open(f"@{listed}").files == [one]
    assert lath.open(f"file://{one}").count() == 10_000


def test_directories_are_columns(tmp_path: Path) -> None:
    for year in (2024, 2025):
        (tmp_path / f"year={year}").mkdir()
        shutil.copy(TRIPS / "2025-01.parquet", tmp_path / f"year={year}")
    data = lath.open(tmp_path)
    assert data.partitions == ["year"]
    assert data.count("year = 2024") == 10_000
    assert data.explain("year = 2024").files_pruned == 1
    assert "year" not in lath.open(tmp_path, partitions=False).schema
    typed = lath.open(tmp_path, partition_types={"year": pa.int16()})
    assert typed.schema["year"] == "Int16"


def test_schemas_are_united(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": pa.array([2], pa.int64()), "b": ["x"]}), tmp_path / "2.parquet")
    table = lath.open(tmp_path, union_schemas=True).to_arrow()
    assert table.to_pydict() == {"a": [1, 2], "b": [None, "x"]}


def test_tables_are_those_of_pyarrow(trips: lath.Dataset, trips_table: pa.Table) -> None:
    table = trips.to_arrow()
    assert table.cast(trips_table.schema).equals(trips_table)
    assert trips.scan(["price", "started"]).to_arrow().column_names == ["price", "started"]
    assert trips.scan(["rider.plan"], limit=3).to_arrow().num_rows == 3


def test_frames_are_made_without_a_detour(trips: lath.Dataset, trips_table: pa.Table) -> None:
    frame = trips.scan(["from", "price"]).to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame["price"].to_arrow().equals(trips_table["price"].combine_chunks())
    pandas = trips.scan(["from", "price"]).to_pandas()
    assert isinstance(pandas, pd.DataFrame)
    assert pandas["from"].tolist() == trips_table["from"].to_pylist()


def test_batches_come_in_order(trips: lath.Dataset, trips_table: pa.Table) -> None:
    scan = trips.scan(["started"], batch_size=1000, threads=3)
    batches = list(scan)
    assert max(len(batch) for batch in batches) == 1000
    assert all(batch.num_columns == 1 and batch.schema == scan.schema for batch in batches)
    table = pa.Table.from_batches([batch.to_arrow() for batch in batches])
    assert table["started"].to_pylist() == trips_table["started"].to_pylist()
    # A scan can be iterated again, and stopped.
    with iter(scan) as again:
        assert next(again).num_rows == 1000
    assert next(again, None) is None


def test_rows_are_found(trips: lath.Dataset, trips_table: pa.Table) -> None:
    expected = trips_table.filter((pc.field("price") > pa.scalar(12, trips_table["price"].type)) & (pc.field("from") == "Harbour"))
    found = trips.find("price > 12 AND \"from\" = 'Harbour'", ["started", "price"])
    assert found.count() == expected.num_rows > 0
    assert found.to_arrow()["started"].to_pylist() == expected["started"].to_pylist()
    assert trips.find("price > 12", limit=5).to_arrow().num_rows == 5
    numbered = trips.scan(["price"], "price > 12", file_name="file", row_number="row").to_arrow()
    first = pq.read_table(numbered["file"][0].as_py())
    assert first["price"][numbered["row"][0].as_py()] == numbered["price"][0]


def test_keys_are_looked_up(keyed: Path) -> None:
    data = lath.open(keyed)
    keys = data.scan(["key"]).to_arrow()["key"]
    wanted = [keys[0].as_py(), keys[-1].as_py(), -1]
    for form in (wanted, tuple(wanted), pa.array(wanted), pl.Series(wanted), pd.Series(wanted)):
        assert data.lookup("key", form).count() == 2
    assert data.lookup("key", (key for key in wanted), columns=["file"]).to_arrow().column_names == ["file"]
    assert data.lookup("key", keys, limit=7).to_arrow().num_rows == 7


def test_a_report_says_what_was_pruned(keyed: Path) -> None:
    data = lath.open(keyed)
    key = a_key(keyed)
    report = data.explain(lath.col("key") == key)
    assert report.rows_found == 1
    assert report.files == report.files_opened == 10
    assert report.row_groups == 40 and report.row_groups_left < 10
    assert report.row_groups_pruned == report.by_statistics.row_groups + report.by_bloom_filters.row_groups
    assert report.by_bloom_filters.row_groups > 20
    text = str(report)
    assert text.splitlines()[0].split() == ["files", "row", "groups", "pages", "rows", "time"]
    assert "pruned by Bloom filters" in text and text.splitlines()[-1].endswith("are summed over all threads")
    assert "<td" in report._repr_html_() and report.as_dict()["by_bloom_filters"]["row_groups"] > 20
    scan = data.find(f"key = {key}")
    assert scan.report is None
    scan.to_arrow()
    assert scan.report is not None and scan.report.by_bloom_filters == report.by_bloom_filters


def test_statistics_say_what_footers_know(trips: lath.Dataset, trips_table: pa.Table) -> None:
    statistics = trips.statistics()
    assert statistics.row_count == lath.Known(30_000, True)
    assert list(statistics.columns) == trips_table.column_names
    for name in ("price", "started", "from"):
        known = statistics.columns[name]
        values = trips_table[name]
        assert known.null_count == lath.Known(values.null_count, True)
        assert known.min is not None and known.max is not None
        assert known.min.value == pc.min(values).as_py() and known.max.value == pc.max(values).as_py()
    assert statistics.columns["rider"].min is None


def test_threads_of_python_read_side_by_side(trips: lath.Dataset) -> None:
    counts: list[int] = []
    scan = trips.scan(["price"], "price > 5")
    expected = scan.count()
    iterator = iter(trips.scan(["price"], batch_size=100))
    shared = [0]

    def read() -> None:
        counts.append(sum(len(batch) for batch in scan))
        for batch in iterator:
            shared[0] += len(batch)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [expected] * 8
    assert shared[0] == 30_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_process_reads_too(trips: lath.Dataset) -> None:
    assert trips.count("price > 12") > 0
    child = os.fork()
    if child == 0:
        found = sum(len(batch) for batch in trips.scan(["price"], "price > 12", threads=2))
        os._exit(0 if found == trips.count("price > 12") else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
@pytest.mark.thread_unsafe(reason="other threads take memory, too")
def test_freed_memory_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "wide.parquet"
    lath.write_table(pa.table({"number": pa.array(range(8_000_000), pa.int64())}), path)

    table = lath.open(path).scan(threads=1).to_arrow()
    assert table.num_rows == 8_000_000
    before = resident_bytes()
    del table
    lath.release_memory()
    assert before - resident_bytes() > 40_000_000


def test_a_dataset_is_used_like_a_table(trips: lath.Dataset) -> None:
    assert len(trips) == trips.num_rows == 30000
    assert trips.columns == trips.schema.names
    assert bool(trips) and bool(trips.find("price < 0")) and len(trips.find("price < 0")) == 0
    assert trips.head(3).to_arrow() == trips.to_arrow().slice(0, 3)
    assert trips.head(2, ["price"]).to_arrow().column_names == ["price"]
    assert sum(len(batch) for batch in trips) == 30000
    assert trips.scan(["price"], row_groups=[1]).count() < trips.scan(["price"]).count()


def test_notebooks_show_the_first_rows(trips: lath.Dataset) -> None:
    shown = trips._repr_html_()
    assert shown is not None and shown.count("<tr>") == 11 and "2025-01.parquet" in shown
    shown = trips.find("price > 12", ["price"])._repr_html_()
    assert shown is not None and "<th>price<br>" in shown and "the first 10 rows" in shown
    shown = lath.open(TRIPS).find("price < 0")._repr_html_()
    assert shown is not None and "the first 0 rows" in shown


def test_datasets_and_conditions_are_pickled(trips: lath.Dataset) -> None:
    again = pickle.loads(pickle.dumps(trips))
    assert (again.files, again.schema) == (trips.files, trips.schema)
    condition = (lath.col("price") > 12) & ~lath.col("from").isin(["Harbour"]) & lath.col("rider.plan").is_not_null()
    assert str(pickle.loads(pickle.dumps(condition))) == str(condition)
    assert trips.count(pickle.loads(pickle.dumps(condition))) == trips.count(condition) > 0
