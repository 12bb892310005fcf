"""SQL from Python: what is a table, what answers are, and what is ruled out."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

import lath
from conftest import REPOSITORY, TRIPS, a_key

QUERIES = [
    "SELECT count(*) AS rows, sum(minutes) AS minutes, min(started) AS first FROM trips",
    'SELECT "from", count(*) AS rows, max(price) AS price FROM trips WHERE minutes > 20 GROUP BY "from" ORDER BY "from"',
    "SELECT started, minutes, price FROM trips WHERE price > 12 ORDER BY price DESC, started LIMIT 20",
    'SELECT a."from" AS place, count(*) AS rows FROM trips a JOIN trips b ON a.started = b.started GROUP BY 1 ORDER BY 1',
    "SELECT count(*) AS rows FROM trips WHERE started < TIMESTAMP '2025-01-10' AND rider.plan = 'by minute'",
    "SELECT rider.plan AS plan, count(DISTINCT \"to\") AS places FROM trips GROUP BY 1 ORDER BY 1 NULLS LAST",
]


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_duckdb(query: str, trips: lath.Dataset, trips_table: pa.Table) -> None:
    connection = duckdb.connect()
    connection.register("trips", trips_table)
    expected = connection.execute(query).fetchall()
    answer = lath.sql(query, trips=trips).to_arrow()
    assert [tuple(row.values()) for row in answer.to_pylist()] == expected
    assert expected


def test_text_is_read_as_the_command_reads_it(tmp_path: Path) -> None:
    rows = "code,mixed,text,day\n007,9007199254740993,\"\",2024-01-31\n010,1.5,,2024-02-01\n"
    source, converted = tmp_path / "a.csv", tmp_path / "a.parquet"
    source.write_text(rows)
    subprocess.run([sys.executable, "-m", "lath", "convert", source, "-o", converted, "--quiet"], check=True)
    expected = pq.read_table(converted).to_pylist()
    assert [row["code"] for row in expected] == ["007", "010"]
    assert lath.sql(f"SELECT * FROM '{source}'").to_arrow().to_pylist() == expected
    assert lath.sql(f"SELECT * FROM '{converted}'").to_arrow().to_pylist() == expected


def test_answers_are_those_of_polars(trips: lath.Dataset, trips_table: pa.Table) -> None:
    frame = pl.DataFrame(trips_table)
    expected = frame.filter(pl.col("minutes") > 20).group_by("from").agg(pl.len().alias("rows")).sort("from")
    query = 'SELECT "from", count(*) AS rows FROM trips WHERE minutes > 20 GROUP BY "from" ORDER BY "from"'
    answer = lath.sql(query, trips=trips).to_polars()
    assert answer["from"].to_list() == expected["from"].to_list()
    assert answer["rows"].to_list() == expected["rows"].to_list() != []


def test_files_are_tables_by_their_names(trips: lath.Dataset) -> None:
    assert lath.sql(f"SELECT count(*) AS rows FROM '{TRIPS}'").to_arrow().to_pylist() == [{"rows": 30_000}]
    assert lath.sql("SELECT count(*) AS rows FROM trips", trips=TRIPS).to_arrow().to_pylist() == [{"rows": 30_000}]
    assert lath.sql("SELECT count(*) AS rows FROM t", t=trips.files[0]).to_arrow().to_pylist() == [{"rows": 10_000}]


ROWS = {"city": ["Oslo", "Bergen", None], "size": [3, 2, 1]}


ROWS_AS_SQL = "SELECT * FROM (VALUES ('Oslo', 3), ('Bergen', 2), (NULL, 1)) AS t (city, size)"


@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.table(ROWS),
        lambda: pa.table(ROWS).to_batches()[0],
        lambda: pa.RecordBatchReader.from_batches(pa.table(ROWS).schema, pa.table(ROWS).to_batches()),
        lambda: pl.DataFrame(ROWS),
        lambda: pd.DataFrame(ROWS),
        lambda: duckdb.connect().sql(ROWS_AS_SQL),
        lambda: lath.sql(ROWS_AS_SQL),
    ],
    ids=["pyarrow", "batch", "reader", "polars", "pandas", "duckdb", "lath"],
)
def test_rows_of_any_library_are_tables(make: Callable[[], Any]) -> None:
    rows = make()
    # Twice in one query: streams can be read once.
    query = "SELECT a.city, b.size FROM t a JOIN t b ON a.size = b.size ORDER BY b.size DESC"
    session = lath.Session()
    session.register("t", rows)
    for _ in range(2):
        assert session.sql(query).to_arrow().to_pydict() == ROWS


def test_a_dataset_is_read_with_its_options(tmp_path: Path) -> None:
    for year, column in [(2024, "a"), (2025, "b")]:
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({column: [year]}), tmp_path / f"year={year}/rows.parquet")
    data = lath.open(tmp_path, union_schemas=True, partition_types={"year": pa.int16()})
    answer = lath.sql("SELECT a, b, year, arrow_typeof(year) AS type FROM data ORDER BY year", data=data).to_arrow()
    assert answer.to_pylist() == [
        {"a": 2024, "b": None, "year": 2024, "type": "Int16"},
        {"a": None, "b": 2025, "year": 2025, "type": "Int16"},
    ]


def test_encrypted_files_are_read_with_the_keys_of_their_dataset(tmp_path: Path) -> None:
    path, key = tmp_path / "secret.parquet", b"0123456789012345"
    pq.write_table(pa.table({"id": [1, 2, 3]}), path, encryption_properties=pe.create_encryption_properties(key))
    data = lath.open(path, footer_key=key)
    assert lath.sql("SELECT sum(id) AS sum FROM data", data=data).to_arrow().to_pylist() == [{"sum": 6}]
    with pytest.raises(lath.EncryptedError):
        lath.sql(f"SELECT * FROM '{path}'").to_arrow()


def test_conditions_rule_out_row_groups(keyed: Path) -> None:
    key = a_key(keyed)
    result = lath.sql(f"SELECT file FROM data WHERE key = {key}", data=lath.open(keyed))
    assert result.to_arrow().to_pylist() == [{"file": "file 3"}]
    counters = result.counters
    assert counters["row_groups_pruned_bloom"] > 20 and counters["row_groups_read"] < 10
    assert counters["rows_found"] == 1
    plan = result.explain()
    assert f"predicate=\"key\" = {key}" in plan and re.search(r"row_groups_pruned_bloom=\d\d", plan)


def test_keys_of_a_join_rule_out_row_groups(keyed: Path) -> None:
    key = a_key(keyed)
    wanted = pa.table({"key": [key, -1], "name": ["there", "nowhere"]})
    query = "SELECT name, file FROM data JOIN wanted USING (key)"
    result = lath.sql(query, data=lath.open(keyed), wanted=wanted)
    assert result.to_arrow().to_pylist() == [{"name": "there", "file": "file 3"}]
    counters = result.counters
    assert sum(counters[f"row_groups_pruned_dynamically_{by}"] for by in ("statistics", "bloom", "dictionary")) > 20


def test_results_stream_and_are_read_once() -> None:
    result = lath.sql("SELECT value FROM generate_series(1, 1000000000000) AS t (value)")
    batches = iter(result)
    first = next(batches)
    assert isinstance(first, lath.Batch) and first.to_arrow()["value"][0].as_py() == 1
    batches.close()
    assert list(batches) == []
    with pytest.raises(lath.InvalidError, match="taken already"):
        result.to_arrow()
    result = lath.sql("SELECT value FROM generate_series(1, 100000) AS t (value)")
    reader = pa.RecordBatchReader.from_stream(result)
    assert sum(batch.num_rows for batch in reader) == 100_000
    with pytest.raises(lath.InvalidError, match="taken already"):
        iter(result)
    assert "were taken" in repr(result)


def test_results_go_to_other_libraries(trips: lath.Dataset) -> None:
    query = 'SELECT "from", price FROM trips WHERE price > 13.5'
    rows = trips.count("price > 13.5")

    def result() -> lath.Result:
        return lath.sql(query, trips=trips)

    table = result().to_arrow()
    assert table.num_rows == rows and table.schema.field("from").type == pa.string()
    assert result().to_polars().shape == result().to_pandas().shape == (rows, 2)
    assert pl.DataFrame(result()).height == rows
    answer = result()
    assert duckdb.connect().execute("SELECT count(*) FROM answer").fetchall() == [(rows,)]
    assert isinstance(result().schema, lath.Schema) and result().schema.names == ["from", "price"]
    assert pa.schema(result()).names == ["from", "price"]


def test_a_result_prints_its_first_rows_and_still_has_them() -> None:
    result = lath.sql("SELECT value, CASE WHEN value = 2 THEN NULL ELSE 'v<' END AS text FROM generate_series(1, 100) AS t (value)")
    lines = repr(result).splitlines()
    assert lines[0].split() == ["value", "text"] and lines[1].split() == ["Int64", "Utf8"]
    assert lines[3].split() == ["1", "v<"] and lines[4].split() == ["2", "NULL"] and len(lines) == 24
    assert lines[-1] == "the first 20 rows; there are more"
    html = result._repr_html_()
    assert html.count("<tr>") == 21 and "v&lt;" in html
    assert result.to_arrow()["value"].to_pylist() == list(range(1, 101))
    assert repr(lath.sql("SELECT 1 AS one")).splitlines()[-1] == "1 row"


def test_wide_results_are_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    columns = ", ".join(f"'{'x' * 70}' AS column_{at}" for at in range(5))
    lines = repr(lath.sql(f"SELECT {columns}")).splitlines()
    assert max(map(len, lines[:4])) <= 60 and "…" in lines[3]
    assert lines[-1] == "not shown: column_1, column_2, column_3, column_4"


def test_sessions_keep_tables_and_settings(trips: lath.Dataset) -> None:
    with lath.Session(threads=2, replacement_scans=False) as session:
        session.register("trips", trips)
        session.sql("CREATE VIEW expensive AS SELECT * FROM trips WHERE price > 12")
        assert session.tables == ["expensive", "trips"]
        assert session.sql("SELECT count(*) AS rows FROM expensive").to_arrow().to_pylist() == [
            {"rows": trips.count("price > 12")}
        ]
        session.register("trips", pa.table({"price": [20.0]}))
        assert session.sql("SELECT count(*) AS rows FROM trips").to_arrow().to_pylist() == [{"rows": 1}]
        session.deregister("trips")
        with pytest.raises(lath.NotFoundError):
            session.deregister("trips")
        with pytest.raises(lath.StatementError, match="no table"):
            session.sql("SELECT * FROM trips")
        last = session.sql("SET datafusion.execution.batch_size = 100; SELECT * FROM generate_series(1, 300)")
    # A result outlives its session.
    assert [len(batch) for batch in last] == [100, 100, 100]
    with pytest.raises(lath.InvalidError, match="closed"):
        session.sql("SELECT 1")


def test_a_table_stays_if_another_cannot_take_its_place(tmp_path: Path) -> None:
    with lath.Session() as session:
        session.register("t", pa.table({"n": [20]}))
        (tmp_path / "empty").mkdir()
        for source in tmp_path / "missing.parquet", tmp_path / "empty":
            with pytest.raises(lath.Error):
                session.register("t", source)
            assert session.sql("SELECT n FROM t").to_arrow().to_pydict() == {"n": [20]}


def test_rows_of_a_statement_before_the_last_are_not_lost() -> None:
    with pytest.raises(lath.InvalidError, match="line 2: the rows"):
        lath.sql("SET datafusion.execution.batch_size = 100;\nSELECT 1;\nSELECT 2")
    with pytest.raises(lath.InvalidError, match="no statement"):
        lath.sql(" -- nothing\n")


def test_files_are_written(tmp_path: Path, trips: lath.Dataset) -> None:
    path = tmp_path / "expensive.parquet"
    copied = lath.sql(f"COPY (SELECT price, started FROM trips WHERE price > 12) TO '{path}' (bloom 'started')", trips=trips)
    # It is done before anybody looks at the result.
    assert pq.read_table(path).num_rows == trips.count("price > 12")
    assert copied.to_arrow().to_pylist() == [{"count": trips.count("price > 12")}]
    with pytest.raises(lath.Error, match="exist"):
        lath.sql(f"COPY (SELECT 1 AS one) TO '{path}'")
    lath.sql(f"COPY (SELECT 1 AS one) TO '{path}' (overwrite true)")
    assert pq.read_table(path).to_pydict() == {"one": [1]}
    folder = tmp_path / "log"
    with lath.Session() as session:
        session.sql(f"CREATE EXTERNAL TABLE log (a BIGINT, b VARCHAR) STORED AS PARQUET PARTITIONED BY (b) LOCATION '{folder}/'")
        session.register("new", pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]}))
        session.sql("INSERT INTO log SELECT * FROM new")
        session.sql("INSERT INTO log VALUES (4, 'z')")
        assert session.sql("SELECT sum(a) AS sum, count(DISTINCT b) AS kinds FROM log").to_arrow().to_pylist() == [
            {"sum": 10, "kinds": 3}
        ]
    assert sorted(path.name for path in folder.iterdir()) == ["b=x", "b=y", "b=z"]


def test_tables_with_a_primary_key_are_changed(tmp_path: Path) -> None:
    with lath.Session(database=tmp_path / "shop") as shop:
        shop.sql("CREATE TABLE stock (item BIGINT PRIMARY KEY, name VARCHAR NOT NULL, count BIGINT)")
        shop.register("arrivals", pa.table({"item": [1, 2, 3], "name": ["nut", "bolt", "screw"], "count": [10, 20, None]}))
        inserted = shop.sql("INSERT INTO stock SELECT * FROM arrivals")
        assert inserted.to_arrow().to_pylist() == [{"count": 3}]
        with pytest.raises(lath.InvalidError, match="there is a row with"):
            shop.sql("INSERT INTO stock VALUES (2, 'pin', 1)")
        shop.sql("UPDATE stock SET count = count - 1 WHERE item IN (SELECT item FROM arrivals WHERE count > 10)")
        shop.sql("DELETE FROM stock WHERE name = 'nut'; INSERT OR REPLACE INTO stock VALUES (3, 'screw', 7)")
        with lath.Session(database=tmp_path / "shop", read_only=True) as reader:
            rows = reader.sql("SELECT item, count FROM stock ORDER BY item").to_arrow().to_pylist()
            assert rows == [{"item": 2, "count": 19}, {"item": 3, "count": 7}]
            with pytest.raises(lath.InvalidError):
                reader.sql("DELETE FROM stock")
        # A result keeps the database open.
        del inserted
        with lath.Session(database=tmp_path / "shop", wait=0) as other:
            with shop.transaction():
                shop.sql("DELETE FROM stock WHERE item = 2")
                with pytest.raises(lath.BusyError):
                    other.sql("INSERT INTO stock VALUES (4, 'pin', 1)")
            other.sql("INSERT INTO stock VALUES (4, 'pin', 1)")
        rows = shop.sql("SELECT item FROM stock ORDER BY item").to_arrow().to_pylist()
        assert rows == [{"item": 3}, {"item": 4}]


def test_transactions_are_blocks(tmp_path: Path) -> None:
    count = "SELECT count(*) AS rows FROM stock"
    with lath.Session(database=tmp_path / "shop") as shop:
        shop.sql("CREATE TABLE stock (item BIGINT PRIMARY KEY, count BIGINT)")
        with shop.transaction():
            assert shop.in_transaction
            shop.sql("INSERT INTO stock VALUES (1, 10), (2, 20)")
            # Rows that are still to be read stay as they are.
            before = shop.sql("SELECT * FROM stock ORDER BY item")
            with pytest.raises(lath.InvalidError, match="there is a row with"):
                shop.sql("INSERT INTO stock VALUES (3, 30), (1, 11)")
            shop.sql("DELETE FROM stock WHERE item = 1")
            assert shop.sql(count).to_arrow().to_pylist() == [{"rows": 1}]
            with lath.Session(database=tmp_path / "shop", read_only=True) as reader:
                assert reader.sql(count).to_arrow().to_pylist() == [{"rows": 0}]
            with pytest.raises(lath.InvalidError, match="open already"), shop.transaction():
                pass
        assert not shop.in_transaction
        assert before.to_arrow().to_pylist() == [{"item": 1, "count": 10}, {"item": 2, "count": 20}]
        # A result keeps the database open.
        del before
        assert shop.sql(count).to_arrow().to_pylist() == [{"rows": 1}]
        with pytest.raises(ZeroDivisionError), shop.transaction():
            shop.sql("DELETE FROM stock")
            1 / 0  # noqa: B018
        with shop.transaction():
            shop.sql("DELETE FROM stock; ROLLBACK")
        with shop.transaction(read_only=True), pytest.raises(lath.InvalidError, match="read-only"):
            shop.sql("DELETE FROM stock")
        # The end of the session undoes what is open.
        shop.sql("BEGIN; DELETE FROM stock")
    with lath.Session(database=tmp_path / "shop") as shop:
        assert shop.sql(count).to_arrow().to_pylist() == [{"rows": 1}]


def test_queries_run_on_workers(tmp_path: Path) -> None:
    rows = pa.table({"id": range(10_000), "name": [f"n{number % 7}" for number in range(10_000)]})
    lath.write_table(rows, tmp_path / "rows.parquet", row_group_size=500)
    query = "SELECT name, count(*) AS rows, sum(id) AS sum FROM rows GROUP BY name ORDER BY name"
    answers = []
    settings: list[dict[str, Any]] = [{}, {"cluster": ["local:2"], "cluster_min_bytes": 0}]
    for cluster in settings:
        with lath.Session(threads=2, **cluster) as session:
            session.register("rows", lath.open(tmp_path / "rows.parquet"))
            answer = session.sql(query)
            answers.append(answer.to_arrow().to_pylist())
            assert ("ClusterExec" in answer.explain()) == bool(cluster)
    assert answers[0] == answers[1] and len(answers[0]) == 7
    for wrong, message in (
        ({"cluster": []}, "HOST:PORT"),
        ({"cluster": ["here"]}, "HOST:PORT"),
        ({"cluster": ["local:0"]}, "local:4"),
        ({"cluster_token": "secret"}, "give its addresses"),
        ({"cluster_ca": "ca.pem"}, "give its addresses"),
        ({"cluster": ["https://127.0.0.1:9"], "cluster_ca": str(tmp_path / "rows.parquet")}, "BEGIN CERTIFICATE"),
        ({"cluster": ["127.0.0.1:9"], "cluster_token": "with space"}, "token"),
    ):
        with pytest.raises(ValueError, match=message):
            lath.Session(**wrong)
    # The port is reserved: no worker answers.
    with lath.Session(cluster=["127.0.0.1:9"], cluster_min_bytes=0) as session:
        session.register("rows", lath.open(tmp_path / "rows.parquet"))
        with pytest.raises(lath.Error, match="no worker of the cluster"):
            session.sql(query).to_arrow()


def test_a_closed_session_gives_its_database_back(tmp_path: Path) -> None:
    for number in range(20):
        with lath.Session(database=tmp_path / "shop") as shop:
            shop.sql("CREATE TABLE IF NOT EXISTS stock (item BIGINT PRIMARY KEY)")
            shop.sql(f"INSERT INTO stock VALUES ({number})")
        # Without the end of a block, dropping does it.
        again = lath.Session(database=tmp_path / "shop")
        assert again.sql("SELECT count(*) AS rows FROM stock").to_arrow().to_pylist() == [{"rows": number + 1}]
        del again


def test_tables_of_lath_are_read_beside_their_writer(tmp_path: Path, trips: lath.Dataset) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    people = lath.Table.create(tmp_path / "people", schema, ["id"])
    people.upsert(pa.table({"id": [1, 2], "name": ["Ada", "Grace"]}))
    with lath.Session() as session:
        session.register("people", people)
        session.register("again", tmp_path / "people")
        session.register("marks", pl.DataFrame({"id": [2, 1], "mark": [5, 4]}))
        query = "SELECT name, mark FROM people JOIN marks USING (id) ORDER BY mark"
        assert session.sql(query).to_arrow().to_pylist() == [{"name": "Ada", "mark": 4}, {"name": "Grace", "mark": 5}]
        people.upsert(pa.table({"id": [2, 3], "name": ["Hopper", "Barbara"]}))
        people.flush()
        for name in ("people", "again"):
            answer = session.sql(f"SELECT name FROM {name} WHERE id >= 2 ORDER BY id").to_arrow()
            assert answer["name"].to_pylist() == ["Hopper", "Barbara"]
        with pytest.raises(lath.InvalidError):
            session.sql("DELETE FROM people WHERE id = 1")
    people.close()


def test_mistakes_have_their_place(trips: lath.Dataset) -> None:
    with pytest.raises(lath.StatementError) as raised:
        lath.sql("SELECT minutes\nFROM trips WHERE pric > 3", trips=trips)
    mistake = raised.value
    assert (mistake.line, mistake.character, mistake.suggestions) == (2, 18, ("price",))
    assert str(mistake).splitlines() == [
        'line 2, column 18: there is no column "pric"; did you mean price?',
        "  FROM trips WHERE pric > 3",
        " " * 19 + "^^^^",
    ]
    with pytest.raises(lath.StatementError, match="did you mean trips?"):
        lath.sql("SELECT * FROM trip", trips=trips)
    with pytest.raises(lath.StatementError) as raised:
        lath.sql("SELECT 1; SELECT 1 +")
    assert isinstance(raised.value, ValueError) and raised.value.line == 1


def test_errors_have_their_kind(damaged: Path, tmp_path: Path) -> None:
    with pytest.raises(lath.CorruptError) as raised:
        lath.sql(f"SELECT sum(number) FROM '{damaged}'").to_arrow()
    assert raised.value.file == str(damaged) and raised.value.column == "number"
    with pytest.raises(lath.CorruptError):
        for batch in lath.sql("SELECT number FROM data", data=lath.open(damaged)):
            pass
    with pytest.raises(lath.NotFoundError):
        lath.sql(f"SELECT * FROM '{tmp_path}/none.parquet'")
    with pytest.raises(lath.InvalidError, match="(?i)divide by zero"):
        lath.sql("SELECT 1 / (value - 3) FROM generate_series(1, 5) AS t (value)").to_arrow()
    with pytest.raises(TypeError, match="give a dataset"):
        lath.sql("SELECT 1", t=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads"):
        lath.Session(threads=0)
    with pytest.raises(ValueError, match="read_only"):
        lath.Session(read_only=True)


def test_rows_before_an_error_are_no_result(damaged: Path) -> None:
    result = lath.sql(f"SELECT number FROM '{damaged}'")
    with pytest.raises(lath.CorruptError):
        repr(result)
    for read in (repr, lath.Result.to_arrow):
        with pytest.raises(lath.InvalidError, match="rows are missing"):
            read(result)
    result = lath.sql("SELECT 1 / (value - 20000) AS one FROM generate_series(1, 30000) AS t (value)")
    batches = pa.RecordBatchReader.from_stream(result)
    with pytest.raises(pa.ArrowInvalid, match="(?i)divide by zero"):
        batches.read_all()


@pytest.mark.parametrize("key", ["a.value % 1000", "arrow_cast(a.value % 100, 'Int16')", "repeat('x', 20) || (a.value % 1000)"])
def test_a_memory_limit_makes_sorts_spill(key: str) -> None:
    query = f"SELECT {key} AS key, a.value FROM generate_series(1, 1000000) AS a (value) ORDER BY key, value"
    with lath.Session(memory_limit=8 << 20, threads=1) as session:
        result = session.sql(query)
        last, rows = ("", -1), 0
        for batch in result:
            values = [column.to_pylist() for column in batch.to_arrow().columns]
            pairs = [(str(key).zfill(4), value) for key, value in zip(*values)]
            assert pairs == sorted(pairs) and last < pairs[0]
            last, rows = pairs[-1], rows + len(pairs)
        assert rows == 1_000_000
        spills = re.findall(r"spill_count=(\d+)", result.explain())
        assert sum(map(int, spills)) > 0


def test_distinct_counts_beyond_the_memory_limit_fail() -> None:
    # Joins go to disk; the values of several distinct counts cannot.
    counts = "SELECT count(DISTINCT value), count(DISTINCT value % 2999999) FROM generate_series(1, 3000000)"
    with lath.Session(memory_limit=8 << 20, threads=1) as session, pytest.raises(lath.LimitError):
        session.sql(counts).to_arrow()


def test_several_threads_use_one_session(trips: lath.Dataset) -> None:
    from concurrent.futures import ThreadPoolExecutor

    session = lath.Session()
    session.register("trips", trips)

    def count(minutes: int) -> int:
        rows = session.sql(f"SELECT count(*) AS rows FROM trips WHERE minutes > {minutes}").to_arrow()["rows"]
        return int(rows[0].as_py())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, range(20))) == [trips.count(f"minutes > {minutes}") for minutes in range(20)]


def test_without_the_package_for_sql_it_is_named() -> None:
    code = """
import sys
sys.modules["lath_sql"] = None
import lath
for call in ("lath.sql('SELECT 1')", "lath.Session()", "lath.open(sys.argv[1]).__datafusion_table_provider__(None)"):
    try:
        eval(call)
    except ImportError as error:
        assert "pip install lath[sql]" in str(error), error
    else:
        raise SystemExit(call)
"""
    subprocess.run([sys.executable, "-c", code, str(TRIPS)], check=True, timeout=60)


def test_another_version_of_the_package_for_sql_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from lath_sql import _lath_sql

    monkeypatch.setattr(_lath_sql, "__version__", "0.0.1")
    with pytest.raises(ImportError, match=r"pip install lath\[sql\]=="):
        lath.sql("SELECT 1")


def test_both_packages_name_the_same_version() -> None:
    version = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    main = tomllib.loads((REPOSITORY / "crates/python/pyproject.toml").read_text())["project"]
    of_sql = tomllib.loads((REPOSITORY / "crates/python-sql/pyproject.toml").read_text())["project"]
    assert main["optional-dependencies"]["sql"] == [f"lath-sql=={version}"]
    assert of_sql["dependencies"] == [f"lath=={version}"] and lath.__version__ == version
