"""Tables with a primary key."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import lath

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("price", pa.float64())])


def rows(*ids: int, name: str = "n") -> pa.Table:
    return pa.table(
        {"id": list(ids), "name": [f"{name}{it}" for it in ids], "price": [it / 2 for it in ids]}, schema=SCHEMA
    )


def new_table(tmp_path: Path) -> lath.Table:
    """A new table. No fixture makes it, so that tests on several threads have one each."""
    return lath.Table.create(tmp_path / "people", SCHEMA, ["id"], durability="off", background=False)


def test_rows_are_put_found_and_deleted(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.upsert(rows(1, 2, 3))
    table.upsert(pl.DataFrame(rows(3, 4, name="m")))
    table.flush()
    table.upsert(rows(5))
    assert table.schema.names == ["id", "name", "price"] and table.count() == 5
    row = table.get(3)
    assert row is not None and row.to_arrow().to_pylist() == [{"id": 3, "name": "m3", "price": 1.5}]
    assert table.get(17) is None
    found = table.get_many([5, 17, 1, 5])
    assert found.to_arrow()["id"].to_pylist() == [5, 1]
    assert table.get_many(pa.table({"id": [2, 4]})).num_rows == 2
    assert table.count("price > 1") == table.scan(where=lath.col("price") > 1).count() == 3
    assert sorted(table.scan(["name"]).to_arrow()["name"].to_pylist()) == ["m3", "m4", "n1", "n2", "n5"]
    assert pa.table(table.scan(limit=2)).num_rows == 2
    assert table.scan(["id"]).to_polars().height == sum(len(batch) for batch in table.scan()) == 5
    table.delete([1, 99])
    table.delete(pa.table({"id": [2]}))
    assert table.delete_where("name LIKE 'm%'") == 2
    assert table.count() == 1
    assert table.update(pa.table({"id": [5, 6], "price": [9.0, 9.0]})) == (1, 1)
    changed = table.get(5)
    assert changed is not None and changed.to_arrow()["price"].to_pylist() == [9.0]


def test_inserts_refuse_keys_that_are_there(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.insert(rows(1, 2))
    with pytest.raises(lath.InvalidError, match="use upsert"):
        table.insert(rows(3, 2))
    assert table.count() == 2
    # Several batches are one commit.
    both = pa.RecordBatchReader.from_batches(SCHEMA, [*rows(7).to_batches(), *rows(1).to_batches()])
    with pytest.raises(lath.InvalidError):
        table.insert(both)
    assert table.get(7) is None
    with pytest.raises(lath.InvalidError):
        table.upsert(pa.table({"id": [1]}))
    with pytest.raises(lath.InvalidError, match="where: "):
        table.count("colour = 3")
    with pytest.raises(lath.InvalidError, match="no column"):
        table.scan(["colour"])
    with pytest.raises(TypeError, match="not a list of keys"):
        table.delete("abc")


def test_snapshots_and_changes(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.keep_changes()
    start = table.snapshot().version
    table.upsert(rows(1, 2))
    before = table.snapshot()
    table.keep_snapshot("early")
    table.upsert(rows(2, name="new"))
    table.delete([1])
    assert before.count() == table.snapshot("early").count() == 2 and table.count() == 1
    old = before.get(2)
    assert old is not None and old.to_arrow()["name"].to_pylist() == ["n2"]
    changes = table.changes(start)
    kinds = changes.to_arrow().select(["_change", "id"]).to_pylist()
    assert kinds == [
        {"_change": "insert", "id": 1},
        {"_change": "insert", "id": 2},
        {"_change": "update", "id": 2},
        {"_change": "delete", "id": 1},
    ]
    assert list(table.changes(changes.resume_at)) == []
    assert table.snapshot_names() == ["early"]
    table.drop_snapshot("early")


def test_rows_expire(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("at", pa.timestamp("us"))])
    table = lath.Table.create(tmp_path / "visits", schema, ["id"], background=False)
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    times = [now - timedelta(days=2), now, None]
    table.upsert(pa.table({"id": [1, 2, 3], "at": times}, schema=schema))
    before = table.snapshot()
    assert table.ttl() is None
    table.set_ttl("at", 86400)
    assert table.ttl() == ("at", 86400.0)
    assert table.count() == 2 and table.get(1) is None and before.count() == 3
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [2, 3]
    table.insert(pa.table({"id": [1], "at": [now]}, schema=schema))
    table.set_ttl("at")
    assert table.get_many([1, 2, 3]).to_arrow()["id"].to_pylist() == [3]
    table.drop_ttl()
    assert table.count() == 1
    with pytest.raises(lath.Error, match="timestamps or dates"):
        table.set_ttl("id", 60)


def test_changes_are_followed_by_a_consumer(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.upsert(rows(1, 2))
    table.keep_changes()
    with pytest.raises(TypeError):
        table.follow()
    copy: dict[int, str] = {}
    for batch in table.follow("copy", bootstrap=True, timeout=0.01):
        copy |= {row["id"]: row["name"] for row in batch.to_arrow().to_pylist()}
    assert copy == {1: "n1", 2: "n2"}
    assert table.consumers() == {"copy": table.snapshot().version}
    table.delete([1])
    changes = table.consume("copy")
    assert changes.to_arrow()["_change"].to_pylist() == ["delete"]
    assert len(list(table.follow("copy", timeout=0))) == 1
    table.acknowledge("copy", changes.resume_at)
    assert list(table.follow("copy", timeout=0)) == []
    since = table.snapshot().version

    def write() -> None:
        for it in range(3, 8):
            table.upsert(rows(it))

    writer = threading.Thread(target=write)
    writer.start()
    found: list[int] = []
    for batch in table.follow(since=since):
        found += batch.to_arrow()["id"].to_pylist()
        if len(found) == 5:
            break
    writer.join()
    assert found == [3, 4, 5, 6, 7]
    with pytest.raises(lath.Error, match="already"):
        table.add_consumer("copy")
    table.drop_consumer("copy")
    assert table.consumers() == {}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_following_is_interrupted(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.upsert(rows(1))
    table.keep_changes()
    table.close()
    code = """
import lath
table = lath.Table.open("people")
try:
    for batch in table.follow("copy", bootstrap=True):
        print(batch.num_rows, flush=True)
except KeyboardInterrupt:
    print("interrupted")
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert child.stdout is not None
    assert child.stdout.readline() == "1\n"
    os.kill(child.pid, signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted\n"
    assert child.returncode == 0


def test_history(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    assert table.history() == []
    table.keep_history(age=3600, commits=10)
    table.upsert(rows(1, 2))
    version = table.snapshot().version
    table.delete([1])
    history = table.history()
    assert [kept for kept, _ in history] == [version - 1, version, version + 1]
    assert all(time.tzinfo is not None for _, time in history)
    assert [table.snapshot(version=kept).count() for kept, _ in history] == [0, 2, 1]
    assert [table.snapshot(time=time).count() for _, time in history] == [0, 2, 1]
    with pytest.raises(lath.InvalidError, match="is the newest"):
        table.snapshot(version=version + 2)
    with pytest.raises(TypeError, match="give one of name, version and time"):
        table.snapshot("x", version=version)
    table.drop_history()
    with pytest.raises(lath.InvalidError, match="earlier states can be read once the history is kept"):
        table.snapshot(version=version)


def test_a_table_is_published_for_readers_of_iceberg(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    assert table.publication() is None
    with pytest.raises(lath.Error, match="not set to be published"):
        table.publish_now()
    table.upsert(rows(1, 2, 3))
    published = table.publish(keep=600, max_age=3600)
    assert (published["rows"], published["files"]) == (3, 1)
    table.delete([2])
    published = table.publish_now()
    newest = table.publication()
    assert newest is not None and newest["snapshots"] == 2 and newest["metadata"] == published["metadata"]
    assert newest["version"] == published["version"]
    assert sorted(lath.open(published["metadata"]).to_arrow()["id"].to_pylist()) == [1, 3]
    assert newest["mapped"] == {}
    with pytest.raises(ValueError, match="keep=-1"):
        table.publish(keep=-1)
    ports = lath.Table.create(tmp_path / "ports", pa.schema([("id", pa.int64()), ("port", pa.uint16())]), ["id"])
    with pytest.raises(lath.Error, match="column port: Iceberg has no type for the values of UInt16"):
        ports.publish()
    assert ports.publish(map_types=True)["mapped"] == {"port": "Int32"}
    table.stop_publishing()
    assert table.publication() is None and not published["metadata"].exists()


def test_a_table_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    with pytest.raises(lath.NotFoundError, match="has no table"):
        lath.Table.open(folder)
    with lath.Table.create(folder, SCHEMA, ["id"]) as table:
        table.upsert(rows(*range(100)))
        assert table.flush() == {"rows": 100, "files": 1}
        assert set(table.compact()) == {"merges", "files_before", "files_after", "rows"}
        table.sync()
    with pytest.raises(lath.InvalidError, match="closed"):
        table.count()
    with pytest.raises(lath.ExistsError, match="already"):
        lath.Table.create(folder, SCHEMA, ["id"])
    again = lath.Table.open(folder, read_only=True)
    assert again.count() == 100 and again.folder == folder
    with pytest.raises(lath.InvalidError, match="read-only"):
        again.upsert(rows(1))


def test_keys_of_several_columns(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("city", pa.string(), False), pa.field("day", pa.date32(), False), ("n", pa.int32())])
    table = lath.Table.create(tmp_path / "t", schema, ["city", "day"], background=False)
    data = pa.table({"city": ["Oslo", "Oslo", "Bergen"], "day": [1, 2, 1], "n": [1, 2, 3]}, schema=schema)
    table.upsert(data)
    days = data["day"].to_pylist()
    row = table.get(("Oslo", days[1]))
    assert row is not None and row.to_arrow()["n"].to_pylist() == [2]
    assert table.get_many([("Bergen", days[0]), ("Bergen", days[1])]).num_rows == 1
    with pytest.raises(lath.InvalidError, match="2 key columns"):
        table.get("Oslo")


def test_a_table_is_what_a_dict_would_be(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    model: dict[int, str] = {}
    for step in range(60):
        ids = sorted(chance.sample(range(40), chance.randrange(1, 8)))
        match chance.randrange(4):
            case 0 | 1:
                table.upsert(rows(*ids, name=f"s{step}_"))
                model.update({it: f"s{step}_{it}" for it in ids})
            case 2:
                table.delete(ids)
                model = {key: value for key, value in model.items() if key not in ids}
            case _:
                table.flush()
                table.compact()
        found = table.scan(["id", "name"]).to_arrow().to_pylist()
        assert {row["id"]: row["name"] for row in found} == model and len(found) == len(model) == table.count()
        some = table.get_many(ids).to_arrow()["id"].to_pylist()
        assert some == [it for it in ids if it in model]


def test_files_are_in_a_bucket(endpoint: str, tmp_path: Path) -> None:
    folder, url = tmp_path / "people", "s3://lath/python tables/people"
    with lath.Table.create(folder, SCHEMA, ["id"], cold=f"{url}/", durability="off", background=False) as table:
        table.upsert(rows(1, 2, 3))
        assert table.flush() == {"rows": 3, "files": 1}
        assert table.cold == url and table.folder == folder and not (folder / "_data").exists()
        table.upsert(rows(3, 4, name="m"))
        published = table.publish(formats=["iceberg", "delta"])
        assert published["metadata"] == f"{url}/metadata/v1.metadata.json"
        publication = table.publication()
        assert publication is not None and publication["metadata"] == published["metadata"]
    with lath.Table.open(folder, disk_cache_bytes=0, read_only=True) as table:
        assert table.scan().to_arrow().sort_by("id")["name"].to_pylist() == ["n1", "n2", "m3", "m4"]
    with pytest.raises(lath.Error, match="another URL"):
        lath.Table.create(tmp_path / "other", SCHEMA, ["id"], cold=url)
    with pytest.raises(lath.Error, match="not a URL such as"):
        lath.Table.create(tmp_path / "another", SCHEMA, ["id"], cold="people")
    lake = lath.open(url)
    assert lake.to_arrow().sort_by("id")["id"].to_pylist() == [1, 2, 3, 4]
    with lath.Table.open(folder) as table:
        assert table.remove_objects() > 0
    with lath.Table.create(tmp_path / "near", SCHEMA, ["id"]) as table:
        assert table.cold is None and table.remove_objects() == 0
