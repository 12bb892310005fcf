"""Each member of a dataset of pyarrow, called in a process of its own, which has to end by itself."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import lath

#: Expressions to evaluate for each member of ``pyarrow.dataset.Dataset``. ``view`` is Lath's dataset, ``other`` pyarrow's of the same files, ``few``
#: a filter that Lath tests, and ``left`` one that is left to pyarrow.
MEMBERS = {
    "count_rows": "(view.count_rows(), view.count_rows(few)) == (other.count_rows(), other.count_rows(few))",
    "filter": "view.filter(few).filter(left).to_table().num_rows == other.count_rows(few & left) > 0",
    "get_fragments": "sum(part.count_rows(few) for part in view.get_fragments()) == other.count_rows(few)",
    "head": "view.head(5).num_rows == 5 and view.head(3, filter=left).num_rows == 3",
    "join": "view.join(view, 'id', right_suffix='_2').count_rows() == other.count_rows()",
    "join_asof": "view.filter(few).sort_by('id').join_asof(pads.InMemoryDataset(near), 'id', 'day', 1).count_rows() == 30",
    "partition_expression": "str(view.partition_expression) == str(other.partition_expression)",
    "replace_schema": "view.replace_schema(view.schema).count_rows() == other.count_rows()",
    "scanner": "view.scanner(filter=few).to_table().num_rows == other.count_rows(few)",
    "schema": "view.schema.names == other.schema.names",
    "sort_by": "view.sort_by([('id', 'descending')]).head(1)['id'][0].as_py() == 2999",
    "take": "view.take([1, 5]).equals(other.take([1, 5]))",
    "to_batches": "sum(batch.num_rows for batch in view.to_batches(filter=few)) == other.count_rows(few)",
    "to_table": "view.to_table(['name'], few).num_columns == 1 and view.to_table({'half': pc.field('id') / 2})['half'][8].as_py() == 4",
    "_get_fragments": "len(list(view._get_fragments(None))) == 3",
    "_scan_options": "view._scan_options == {}",
    "_scanner_options": "view._scanner_options({}) == {}",
}
#: Ways to leave a scan before its end, and to use a dataset without its members.
OTHER_USES = {
    "abandoned batches": "next(view.to_batches()).num_rows > 0",
    "abandoned batches of a filter": "next(view.to_batches(filter=left)).num_rows > 0",
    "abandoned scanner": "view.scanner().to_reader().read_next_batch().num_rows > 0",
    "abandoned scanner of a filter": "next(view.scanner(filter=left).to_batches()).num_rows > 0",
    "head of a scanner": "view.scanner(filter=left).head(2).num_rows == 2",
    "union": "pads.dataset([view, view]).count_rows() == 2 * other.count_rows()",
    "union with pyarrow's": "pads.dataset([view, other]).to_table(filter=few).num_rows == 2 * other.count_rows(few)",
    "Scanner.from_dataset": "pads.Scanner.from_dataset(view, filter=few).count_rows() == other.count_rows(few)",
    "pyarrow's join": "other.join(view, 'id', right_suffix='_2').count_rows() == other.count_rows()",
    "pickle": "pickle.loads(pickle.dumps(view.filter(few))).count_rows() == other.count_rows(few)",
    "DuckDB's LIMIT": "len(duckdb.sql('SELECT * FROM view LIMIT 2').fetchall()) == 2",
    "polars": "pl.scan_pyarrow_dataset(view).filter(pl.col('id') < 30).head(2).collect().height == 2",
}

PROGRAM = """
import pickle, sys
import lath, pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as pads

folder, call = sys.argv[1:]
if "duckdb" in call: import duckdb
if "pl." in call: import polars as pl
view = lath.arrow_dataset(folder)
other = pads.dataset(folder, partitioning=pads.partitioning(pa.schema([view.schema.field("day")]), flavor="hive"))
few = pc.field("id") < 30
left = pc.bit_wise_and(pc.field("id"), 7) == 3
near = pa.table({"id": pa.array(range(3000), pa.int64()), "day": pa.array([0] * 3000, view.schema.field("day").type), "more": range(3000)})
assert eval(call), call
"""


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of a partitioned dataset with 3,000 rows."""
    folder = tmp_path_factory.mktemp("days")
    for day in range(3):
        file = folder / f"day={day}" / "rows.parquet"
        file.parent.mkdir()
        ids = range(1000 * day, 1000 * (day + 1))
        pq.write_table(pa.table({"id": ids, "name": [f"n{row}" for row in ids]}), file, row_group_size=100)
    return folder


def test_every_member_answers_in_a_process_that_ends(days: Path) -> None:
    members = [name for name in dir(pads.Dataset) if not name.startswith("__")]
    assert [name for name in members if name not in MEMBERS] == [], "members without a call here"

    def run(item: tuple[str, str]) -> str | None:
        name, call = item
        command = [sys.executable, "-c", PROGRAM, str(days), call]
        try:
            process = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return f"{name}: the process did not end"
        return f"{name}: {process.returncode}: {process.stderr}" if process.returncode else None

    with ThreadPoolExecutor(4) as pool:
        wrong = [found for found in pool.map(run, [*MEMBERS.items(), *OTHER_USES.items()]) if found is not None]
    assert not wrong, "\n".join(wrong)


def test_a_filtered_dataset_hands_its_filter_on(days: Path) -> None:
    view = lath.arrow_dataset(days).filter(pc.field("id") >= 2000)
    assert duckdb.connect().execute("SELECT count(*), min(day) FROM view WHERE id < 2010").fetchall() == [(10, 2)]
    assert view.report is not None and view.report.row_groups_pruned > 10
    assert view.head(2)["id"].to_pylist() == [2000, 2001]
    with pytest.raises(ValueError, match="filtered"):
        next(view.get_fragments())
