"""Keyed tables of DuckDB, SQLite, Lance and delta-rs: table.py ENGINE FOLDER UPSERTS_BY_1 UPSERTS_BY_100 UPSERTS_BY_10000 ROWS

Prints figures as JSON, by the names in bench/table/src/main.rs. Rows are those of bench/table/src/rows.rs. Work that repeats ends after
MAX_SECONDS: rates are of what was done until then. Only DuckDB and SQLite sync before they return.

    table.py count-parquet GLOB

has DuckDB count the rows of Parquet files by their status, and prints milliseconds and counts.
"""

import datetime
import json
import os
import sqlite3
import statistics
import sys
import time

import numpy as np
import pyarrow as pa

STATUSES = np.array(["new", "paid", "packed", "sent", "delivered", "returned", "cancelled", "lost"])
U = np.uint64

MAX_SECONDS = 40


def mix(number):
    with np.errstate(over="ignore"):
        z = np.asarray(number, dtype=U) + U(0x9E3779B97F4A7C15)
        z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
        return z ^ (z >> U(31))


def ids(numbers):
    return (mix(numbers) >> U(1)).astype(np.int64)


def statuses(numbers, versions):
    numbers, versions = np.asarray(numbers, dtype=U), np.asarray(versions, dtype=U)
    return STATUSES[(mix(numbers ^ (versions << U(40))) % U(8)).astype(np.int64)]


def rows(numbers, version):
    numbers = np.asarray(numbers, dtype=U)
    low = mix(numbers) & U(0xFFFFFFFFFFFF)
    notes = [f"order {n} for customer {m:016x}" for n, m in zip(numbers.tolist(), low.tolist())]
    return pa.table({
        "id": ids(numbers),
        "count": (mix(numbers + U(version)) % U(1000)).astype(np.int64),
        "price": (mix(numbers) % U(100_000)).astype(np.float64) / 100,
        "at": pa.array(1_700_000_000_000_000 + numbers.astype(np.int64) * 1_000_000, pa.timestamp("us")),
        "status": statuses(numbers, version),
        "note": notes,
    })


def size_of(folder):
    return sum(
        os.stat(os.path.join(root, name)).st_blocks * 512 for root, _, names in os.walk(folder) for name in names
    )


def written_bytes():
    with open("/proc/self/io") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


class DuckDb:
    def __init__(self, folder):
        import duckdb

        self.connection = duckdb.connect(os.path.join(folder, "table.duckdb"))
        self.connection.execute(
            "CREATE TABLE t (id BIGINT PRIMARY KEY, count BIGINT, price DOUBLE, \"at\" TIMESTAMP, status VARCHAR, note VARCHAR)"
        )

    def load(self, batch):
        self.connection.execute("INSERT INTO t SELECT * FROM batch")

    def upsert(self, batch):
        # Ten times as fast here as ON CONFLICT.
        self.connection.begin()
        self.connection.execute("DELETE FROM t WHERE id IN (SELECT id FROM batch)")
        self.connection.execute("INSERT INTO t SELECT * FROM batch")
        self.connection.commit()

    def get(self, key):
        return self.connection.execute("SELECT * FROM t WHERE id = ?", [key]).fetchone()

    def group(self):
        return sorted(self.connection.execute("SELECT status, count(*) FROM t GROUP BY status").fetchall())

    def delete(self, keys):
        keys = pa.table({"id": keys})
        self.connection.execute("DELETE FROM t WHERE id IN (SELECT id FROM keys)")

    def settle(self):
        self.connection.execute("CHECKPOINT")

    def count(self):
        return self.connection.execute("SELECT count(*) FROM t").fetchone()[0]

    def close(self):
        self.connection.close()


class SQLite:
    COLUMNS = ["id", "count", "price", "at", "status", "note"]

    def __init__(self, folder):
        self.connection = sqlite3.connect(os.path.join(folder, "table.sqlite"), isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        self.connection.execute("PRAGMA cache_size = -500000")
        self.connection.execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, count INTEGER, price REAL, \"at\" INTEGER, status TEXT, note TEXT) WITHOUT ROWID"
        )

    def tuples(self, batch):
        batch = batch.set_column(3, "at", batch["at"].cast(pa.int64()))
        return list(zip(*(batch[name].to_pylist() for name in self.COLUMNS)))

    def upsert(self, batch):
        self.connection.execute("BEGIN")
        self.connection.executemany("INSERT OR REPLACE INTO t VALUES (?, ?, ?, ?, ?, ?)", self.tuples(batch))
        self.connection.execute("COMMIT")

    load = upsert

    def get(self, key):
        return self.connection.execute("SELECT * FROM t WHERE id = ?", [key]).fetchone()

    def group(self):
        return sorted(self.connection.execute("SELECT status, count(*) FROM t GROUP BY status").fetchall())

    def delete(self, keys):
        self.connection.execute("BEGIN")
        self.connection.executemany("DELETE FROM t WHERE id = ?", [(key,) for key in keys.tolist()])
        self.connection.execute("COMMIT")

    def settle(self):
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def count(self):
        return self.connection.execute("SELECT count(*) FROM t").fetchone()[0]

    def close(self):
        self.connection.close()


def counted(statuses):
    counts = pa.table({"status": statuses}).group_by("status").aggregate([("status", "count")])
    return sorted(zip(counts["status"].to_pylist(), counts["status_count"].to_pylist()))


def only(table):
    return table.to_pylist()[0] if table.num_rows else None


class Lance:
    """With an index of the key, which is brought up to date by `settle` alone."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "table.lance")
        self.table = None

    def load(self, batch):
        import lance

        self.table = lance.write_dataset(batch, self.path, mode="append" if self.table else "create")

    def upsert(self, batch):
        self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(batch)

    def get(self, key):
        return only(self.table.to_table(filter=f"id = {key}"))

    def group(self):
        return counted(self.table.to_table(columns=["status"])["status"])

    def delete(self, keys):
        self.table.delete(f"id IN ({','.join(map(str, keys.tolist()))})")

    def settle(self):
        self.table.optimize.compact_files()
        if self.table.list_indices():
            self.table.optimize.optimize_indices()
        else:
            self.table.create_scalar_index("id", "BTREE")
        self.table.cleanup_old_versions(older_than=datetime.timedelta(0))

    def count(self):
        return self.table.count_rows()

    def close(self):
        self.table = None


class DeltaRs:
    def __init__(self, folder):
        self.path = os.path.join(folder, "delta")
        self.table = None

    def load(self, batch):
        from deltalake import DeltaTable, write_deltalake

        write_deltalake(self.path, batch, mode="append")
        self.table = DeltaTable(self.path)

    def upsert(self, batch):
        merge = self.table.merge(batch, "old.id = new.id", source_alias="new", target_alias="old")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def get(self, key):
        return only(self.table.to_pyarrow_table(filters=[("id", "=", key)]))

    def group(self):
        return counted(self.table.to_pyarrow_table(columns=["status"])["status"])

    def delete(self, keys):
        self.table.delete(f"id IN ({','.join(map(str, keys.tolist()))})")

    def settle(self):
        self.table.optimize.compact()
        self.table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    def count(self):
        return self.table.to_pyarrow_dataset().count_rows()

    def close(self):
        self.table = None


ENGINES = {"duckdb": DuckDb, "sqlite": SQLite, "lance": Lance, "delta-rs": DeltaRs}


def median_get(engine, numbers, is_there):
    keys = ids(numbers).tolist()
    times = []
    for _ in range(2):
        times = []
        for key in keys:
            started = time.perf_counter()
            row = engine.get(key)
            times.append(time.perf_counter() - started)
            assert (row is not None) == is_there, key
            if sum(times) > MAX_SECONDS / 4:
                break
    return statistics.median(times) * 1e6


def group(engine, numbers, versions):
    names, counts = np.unique(statuses(numbers, versions), return_counts=True)
    expected = list(zip(names.tolist(), counts.tolist()))
    least = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        found = engine.group()
        least = min(least, time.perf_counter() - started)
        assert found == expected, (found, expected)
    return least * 1e3


def load(make, folder, base):
    os.makedirs(folder, exist_ok=True)
    engine = make(folder)
    seconds = 0
    for start in range(0, base, 100_000):
        batch = rows(np.arange(start, min(start + 100_000, base)), 0)
        started = time.perf_counter()
        engine.load(batch)
        seconds += time.perf_counter() - started
    engine.settle()
    assert engine.count() == base
    return engine, base / seconds


def count_parquet(pattern):
    import duckdb

    connection = duckdb.connect()
    least = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        counts = connection.execute(f"SELECT status, count(*) FROM read_parquet('{pattern}') GROUP BY status ORDER BY 1").fetchall()
        least = min(least, time.perf_counter() - started)
    print(json.dumps([least * 1e3, counts]))


def main():
    name, folder = sys.argv[1:3]
    if name == "count-parquet":
        return count_parquet(folder)
    by_1, by_100, by_10000, base = map(int, sys.argv[3:])
    figures = {}
    engine, figures["load"] = load(ENGINES[name], os.path.join(folder, "1"), base)
    figures["base_bytes"] = size_of(folder) / 1e6
    figures["cold"] = median_get(engine, mix(np.arange(2000)) % U(base), True)
    figures["absent"] = median_get(engine, base + (1 << 40) + np.arange(2000), False)
    figures["group"] = group(engine, np.arange(base), np.zeros(base))

    end = base
    for work, per_commit, upserts in [("upsert_1", 1, by_1), ("upsert_100", 100, by_100), ("upsert_10000", 10_000, by_10000)]:
        seconds, size, done = 0, 0, 0
        written = written_bytes()
        for commit in range(upserts // per_commit):
            if seconds > MAX_SECONDS:
                break
            row = np.arange(per_commit)
            old = mix(commit * per_commit + row) % U(base)
            # DuckDB rejects a batch with a repeated key; Lath gets a few of them.
            batch = rows(np.unique(np.where((row + commit) % 2 == 0, old, (end + row).astype(U))), 1)
            end += per_commit
            size += batch.nbytes
            started = time.perf_counter()
            engine.upsert(batch)
            seconds += time.perf_counter() - started
            done += per_commit
        figures[work] = done / seconds
        if per_commit == 1:
            figures["hot"] = median_get(engine, mix(np.arange(0, done, 2)) % U(base), True)
        if per_commit == 10_000:
            figures["written"] = (written_bytes() - written) / size
    engine.close()

    engine, _ = load(ENGINES[name], os.path.join(folder, "2"), base)
    folder = os.path.join(folder, "2")
    everything = np.arange(base).astype(U)
    is_updated = mix(everything ^ U(0xABCD)) % U(10) == 0
    numbers = everything[is_updated]
    # Each merge of delta-rs reads the whole table, and too many rows at once exceed the memory.
    seconds, at_once = 0, 50_000 if name == "delta-rs" else 10_000
    for start in range(0, len(numbers), at_once):
        batch = rows(numbers[start : start + at_once], 1)
        started = time.perf_counter()
        engine.upsert(batch)
        seconds += time.perf_counter() - started
    figures["update"] = seconds
    figures["group_updated"] = group(engine, everything, is_updated)
    figures["updated_bytes"] = size_of(folder) / 1e6
    engine.settle()
    figures["group_compacted"] = group(engine, everything, is_updated)
    figures["compacted_bytes"] = size_of(folder) / 1e6
    keys = ids(everything[mix(everything ^ U(0x1234)) % U(100) == 0])
    started = time.perf_counter()
    engine.delete(keys)
    figures["delete"] = time.perf_counter() - started
    assert engine.count() == base - len(keys)
    engine.close()
    print(json.dumps(figures))


main()
