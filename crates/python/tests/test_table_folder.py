"""The folder of a table with a primary key is the table, and never its plain files."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lath

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Rows 0 to 9 in a file; since then 3 was replaced, 4 deleted and 10 put."""
    folder = tmp_path / "people"
    with lath.Table.create(folder, SCHEMA, key=["id"]) as people:
        people.upsert(pa.table({"id": range(10), "name": [f"n{row}" for row in range(10)]}, SCHEMA))
    assert lath.read_table(folder).num_rows == 10, "before the first flush"
    with lath.Table.open(folder) as people:
        people.flush()
        people.upsert(pa.table({"id": [3, 10], "name": ["new", "n10"]}, SCHEMA))
        people.delete([4])
    return folder


NAMES = {**{row: f"n{row}" for row in (0, 1, 2, 5, 6, 7, 8, 9, 10)}, 3: "new"}


def test_the_folder_is_read_as_the_table(table: Path) -> None:
    rows = lath.read_table(table)
    assert dict(zip(rows["id"].to_pylist(), rows["name"].to_pylist())) == NAMES
    assert lath.read_table(table, columns=["name"], filters=[("id", "==", 3)])["name"].to_pylist() == ["new"]
    assert lath.sql(f"SELECT count(*) AS n FROM '{table}'").to_arrow().to_pylist() == [{"n": 10}]
    lazy = lath.scan_polars(table)
    assert lazy.filter(pl.col("id") > 8).select("name").collect()["name"].sort().to_list() == ["n10", "n9"]
    view = lath.arrow_dataset(table)
    assert duckdb.connect().execute("SELECT name FROM view WHERE id = 3").fetchall() == [("new",)]
    assert view.count_rows() == 10 and view.filter(pc.field("id") < 5).count_rows() == 4
    with pytest.raises(OSError, match="read by Lath alone"):
        view.replace_schema(view.schema).to_table()


def test_its_files_are_not_read_by_mistake(table: Path) -> None:
    for location in (table, table.parent, f"{table}/*.parquet"):
        with pytest.raises(lath.InvalidError, match="a table with a primary key.*plain_files"):
            lath.open(location)
    plain = lath.open(table, plain_files=True)
    assert (plain.count(), plain.count("id = 4")) == (10, 1)
    assert lath.sql("SELECT count(*) AS n FROM t", t=plain).to_arrow().to_pylist() == [{"n": 10}]
    with pytest.raises(lath.InvalidError, match="would not belong to it"):
        lath.write_table(pa.table({"id": [1]}), table / "more.parquet")
    with pytest.raises(lath.InvalidError, match="no option union_schemas"):
        lath.read_table(table, union_schemas=True)


@pytest.mark.parametrize("mark", ["_delta_log/0.json", "metadata/v1.metadata.json", ".hoodie/hoodie.properties"])
def test_tables_of_other_formats_are_refused(tmp_path: Path, mark: str) -> None:
    lath.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    (tmp_path / mark).parent.mkdir()
    (tmp_path / mark).write_text("{}")
    reads: list[Any] = [lath.open, lath.read_table, lath.scan_polars, lath.arrow_dataset]
    for read in reads:
        # Without a log or metadata, the folder is no table either.
        with pytest.raises(lath.Error, match="Delta Lake|Iceberg|Hudi|the log has neither|metadata"):
            read(tmp_path)
    assert lath.open(tmp_path, plain_files=True).count() == 1


def numbered_lake(folder: Path, files: int) -> None:
    """A table of Delta Lake with ten numbers in each of its files, whose log has their bounds."""
    (folder / "_delta_log").mkdir(parents=True)
    schema = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
    actions: list[dict[str, object]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "t",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {},
            }
        },
    ]
    for at in range(files):
        ids = range(at * 10, at * 10 + 10)
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), folder / f"{at}.parquet")
        bounds = {"numRecords": 10, "minValues": {"id": ids[0]}, "maxValues": {"id": ids[-1]}, "nullCount": {"id": 0}}
        size = (folder / f"{at}.parquet").stat().st_size
        add = {"path": f"{at}.parquet", "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
        actions.append({"add": {**add, "stats": json.dumps(bounds)}})
    (folder / "_delta_log" / f"{0:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def test_a_search_of_a_lake_lists_few_files_and_leaves_the_others(tmp_path: Path) -> None:
    numbered_lake(tmp_path, 5)
    firsts: list[Callable[[lath.Dataset], bool]] = [
        lambda lake: lake.find("id = 17").to_arrow()["id"].to_pylist() == [17],
        lambda lake: lake.count("id < 12") == 12,
        lambda lake: lake.lookup("id", [3, 41]).to_arrow()["id"].to_pylist() == [3, 41],
        lambda lake: lake.schema.names == ["id"],
        lambda lake: lake.statistics().row_count == lath.Known(50, True),
        lambda lake: lake.to_arrow().num_rows == 50,
    ]
    for first in firsts:
        lake = lath.open(tmp_path)
        assert first(lake)
        # The first search has no influence.
        assert (lake.count(), len(lake.files), lake.statistics().row_count) == (50, 5, lath.Known(50, True))
        assert lake.find("id > 47").to_arrow()["id"].to_pylist() == [48, 49]
        assert lake.find("id = -1").to_arrow().num_rows == 0
        assert lake.to_arrow()["id"].to_pylist() == list(range(50))
    session = lath.Session()
    session.register("t", lath.open(tmp_path))
    for condition, expected in [("id = 17", 1), ("id >= 45", 5), ("TRUE", 50), ("id = 17", 1)]:
        query = f"SELECT count(*) AS n, (SELECT count(*) FROM t) AS everything FROM t WHERE {condition}"
        assert session.sql(query).to_arrow().to_pylist() == [{"n": expected, "everything": 50}]
    # A later commit is of a later version.
    lake = lath.open(tmp_path)
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text(
        json.dumps({"remove": {"path": "1.parquet", "deletionTimestamp": 1, "dataChange": True}})
    )
    assert (lake.count("id = 17"), lake.count()) == (1, 50)
    assert (lath.open(tmp_path).count("id = 17"), lath.open(tmp_path).count()) == (0, 40)
    assert "5 files" in repr(lake)


def test_tables_are_made_of_lakes_and_files(tmp_path: Path) -> None:
    numbered_lake(tmp_path / "lake", 3)
    sources: list[Any] = [tmp_path / "lake", str(tmp_path / "lake"), lath.open(tmp_path / "lake"), lath.open(tmp_path / "lake", at=0)]
    (tmp_path / "plain").mkdir()
    files = [shutil.copy(tmp_path / "lake" / f"{it}.parquet", tmp_path / "plain") for it in range(3)]
    for at, source in enumerate([*sources, files, tmp_path / "plain"]):
        calls: list[int] = []
        table, counts = lath.Table.import_from(
            tmp_path / f"t{at}", source, ["id"], copy=at == 1, progress=lambda rows, total: calls.append(rows), background=False
        )
        with table:
            assert counts == {"rows": 30, "files": 3, "linked": 0 if at == 1 else 3, "rewritten": []}
            assert table.count("id BETWEEN 5 AND 14") == 10 and calls[-1] == 30
            table.upsert(pa.table({"id": [7, 99]}, schema=pa.schema([pa.field("id", pa.int64(), nullable=False)])))
            assert table.count() == 31
    pq.write_table(pa.table({"id": [1, 1]}), tmp_path / "twice.parquet")
    with pytest.raises(lath.Error, match="two rows have the key"):
        lath.Table.import_from(tmp_path / "no", tmp_path / "twice.parquet", ["id"])
    assert not (tmp_path / "no").exists()


def test_the_folder_of_a_table_of_delta_lake_is_its_rows(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    metadata = {"id": "x", "schemaString": json.dumps({"type": "struct", "fields": [field]}), "partitionColumns": [], "configuration": {}}
    commits: list[list[dict[str, object]]] = [
        [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}, {"add": {"path": "a.parquet", "size": 1}}],
        [{"remove": {"path": "a.parquet"}}, {"add": {"path": "b.parquet", "size": 1}}],
    ]
    lath.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    lath.write_table(pa.table({"id": [3]}), tmp_path / "b.parquet")
    for version, actions in enumerate(commits):
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (tmp_path / "_delta_log" / f"{version:020}.json").write_text(text)
    assert lath.open(tmp_path).to_arrow().to_pylist() == [{"id": 3}]
    assert lath.open(tmp_path, at=0).count("id = 2") == 1
    assert lath.open(tmp_path, at=datetime(2200, 1, 1, tzinfo=timezone.utc)).count() == 1
    assert lath.sql("SELECT id FROM t", t=lath.open(tmp_path, at=0)).to_arrow().to_pylist() == [{"id": 1}, {"id": 2}]
    view = lath.arrow_dataset(tmp_path)
    assert view.to_table(filter=pc.field("id") > 0).to_pylist() == [{"id": 3}]
    assert duckdb.connect().execute("SELECT sum(id) FROM view").fetchall() == [(3,)]
    assert lath.scan_polars(tmp_path).collect()["id"].to_list() == [3]
    # A reader that opens the files itself would read deleted rows.
    with pytest.raises(OSError, match="read by Lath alone"):
        view.replace_schema(view.schema).to_table()
    with pytest.raises(lath.InvalidError, match="latest version is 1"):
        lath.open(tmp_path, at=2)
    with pytest.raises(lath.InvalidError, match="at chooses a version"):
        lath.open(tmp_path / "a.parquet", at=0)
    assert lath.open(tmp_path, plain_files=True).count() == 3


TOKEN = "s3cret-token"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[str]:
    """The address of a REST catalog of Iceberg with the published table `public.people`, whose requests need a token."""
    table = lath.Table.create(tmp_path / "people", SCHEMA, key=["id"], background=False)
    table.upsert(pa.table({"id": range(10), "name": [f"n{row}" for row in range(10)]}, SCHEMA))
    metadata = table.publish()["metadata"]
    names = [{"namespace": ["public"], "name": "people"}]
    loaded = {"metadata-location": str(metadata), "metadata": json.loads(Path(metadata).read_text())}
    answers = {
        "/v1/config": {"defaults": {}, "overrides": {}},
        "/v1/namespaces": {"namespaces": [["public"]]},
        "/v1/namespaces?parent=public": {"namespaces": []},
        "/v1/namespaces/public/tables": {"identifiers": names},
        "/v1/namespaces/public/tables/people": loaded,
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            header = self.headers.get("authorization")
            answer: Any = answers.get(self.path)
            status = 200 if answer is not None else 404
            if header != f"Bearer {TOKEN}":
                status, answer = 401, {"error": {"message": f"not allowed by {header}"}}
            body = json.dumps(answer or {"error": {"message": "there is no such thing"}}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    table.close()


def test_tables_of_rest_catalogs_are_read_by_their_locations(catalog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    location = f"rest://{catalog}/public/people"
    monkeypatch.setenv("LATH_REST_URI", f"http://{catalog}")
    monkeypatch.setenv("LATH_REST_TOKEN", TOKEN)
    assert sorted(lath.open(location).to_arrow()["id"].to_pylist()) == list(range(10))
    assert lath.open(location).count("id > 6") == 3
    session = lath.Session()
    session.sql(f"ATTACH 'rest://{catalog}' AS lake")
    assert session.sql("SELECT max(name) AS m FROM lake.public.people WHERE id < 5").to_arrow().to_pylist() == [{"m": "n4"}]
    assert session.sql("SHOW TABLES FROM lake").to_arrow()["table_name"].to_pylist() == ["people"]
    with pytest.raises(lath.Error, match="there is no such thing"):
        lath.open(f"rest://{catalog}/public/missing")
    monkeypatch.setenv("LATH_REST_TOKEN", "wr0ng-token")
    with pytest.raises(lath.Error, match="LATH_REST_TOKEN") as failed:
        lath.open(location)
    assert "wr0ng-token" not in str(failed.value)
