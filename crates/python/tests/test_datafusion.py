"""Datasets as table providers of the package of DataFusion."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import datafusion
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import lath
from conftest import a_key


def counter(plan: str, name: str) -> int:
    """What a plan says of a counter, of all partitions."""
    return sum(map(int, re.findall(rf"\b{name}=(\d+)", plan)))


def analyzed(context: datafusion.SessionContext, query: str) -> str:
    rows = context.sql(f"EXPLAIN ANALYZE {query}").to_pydict()
    return "\n".join(rows["plan"])


def test_filters_rule_out_row_groups(keyed: Path) -> None:
    context, key = datafusion.SessionContext(), a_key(keyed)
    context.register_table("data", lath.open(keyed))
    query = f"SELECT file FROM data WHERE key = {key}"
    assert context.sql(query).to_pydict() == {"file": ["file 3"]}
    plan = analyzed(context, query)
    assert counter(plan, "row_groups_pruned_bloom") > 20 and counter(plan, "row_groups_read") < 10, plan
    assert counter(plan, "rows_found") == 1
    # Lath answers it exactly, so that nothing is filtered again.
    assert "FilterExec" not in plan, plan


def test_answers_are_those_of_files_that_datafusion_reads(keyed: Path) -> None:
    context, key = datafusion.SessionContext(), a_key(keyed)
    context.register_table("data", lath.open(keyed))
    context.register_dataset("everything", pads.dataset(keyed))
    for query in [
        f"SELECT count(*) AS rows FROM data WHERE key IN ({key}, -1, {key + 10}) AND file LIKE 'file%'",
        "SELECT count(*) AS rows FROM data",
        "SELECT file FROM data WHERE length(file) = 6 AND key % 7 = 3 ORDER BY key LIMIT 5",
        "SELECT file, count(*) AS rows, min(key) AS key FROM data WHERE key > 500 GROUP BY file ORDER BY file",
        "SELECT b.file FROM data a JOIN data b ON a.key = b.key + 10 WHERE a.key < 1000 ORDER BY b.key",
    ]:
        expected = context.sql(query.replace("FROM data", "FROM everything").replace("JOIN data", "JOIN everything"))
        assert context.sql(query).to_pydict() == expected.to_pydict(), query


def test_a_filter_with_a_function_of_the_session_stays_there(keyed: Path) -> None:
    context = datafusion.SessionContext()
    context.register_table("data", lath.open(keyed))
    is_third = datafusion.udf(
        lambda files: pa.array([file.as_py() == "file 3" for file in files]), [pa.string_view()], pa.bool_(), "volatile", "is_third"
    )
    context.register_udf(is_third)
    rows = context.sql("SELECT count(*) AS rows FROM data WHERE is_third(file)").to_pydict()
    assert rows == {"rows": [1000]}


def test_tables_outlive_what_they_were_made_of(trips: lath.Dataset) -> None:
    context = datafusion.SessionContext()
    context.register_table("trips", lath.open(trips.files))
    frame = context.sql("SELECT count(*) AS rows FROM trips WHERE minutes > 20")
    context.deregister_table("trips")
    gc.collect()
    assert frame.to_pydict() == {"rows": [trips.count("minutes > 20")]}


def test_a_schema_takes_datasets_too(trips: lath.Dataset) -> None:
    context = datafusion.SessionContext()
    context.catalog().schema().register_table("trips", trips)
    assert context.sql("SELECT count(*) AS rows FROM trips").to_pydict() == {"rows": [30_000]}


def test_errors_of_files_are_errors_of_the_query(damaged: Path) -> None:
    context = datafusion.SessionContext()
    context.register_table("data", lath.open(damaged))
    with pytest.raises(Exception, match="(?i)checksum|crc"):
        context.sql("SELECT sum(number) FROM data").collect()


def test_other_major_versions_are_refused(trips: lath.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datafusion, "__version__", "54.1.0")
    with pytest.raises(lath.UnsupportedError, match=r"built for DataFusion 55, and this is 54.*register_dataset"):
        datafusion.SessionContext().register_table("trips", trips)


def test_what_is_no_session_is_refused(trips: lath.Dataset) -> None:
    with pytest.raises(TypeError, match="neither a session"):
        trips.__datafusion_table_provider__(3)
