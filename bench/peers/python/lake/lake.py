"""Measures tables of Delta Lake and Iceberg: the `lath` command beside DuckDB, polars, deltalake and pyiceberg; prints a record in Markdown.

    lake.py LATH FOLDER [--quick]

LATH is the command, with SQL, and FOLDER is where the tables are, or are made. Every measurement is a process that has not read the table before, and
engines take turns. The command's time is that of its whole process; the time of a peer, and of Lath in Python if its package is installed beside
the peers, starts after the imports and ends with the rows, which are compared with the rows that are expected. Memory is the process's peak, less
the peak before the table was opened (for the command: less that of `lath --version`).
"""

import decimal
import importlib.util
import json
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import time
import traceback
import uuid

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from machine import machine

ROWS = 1_000
ROUNDS = 5

# A peer that takes longer is left out, and no further round starts after this time.
PEER_SECONDS = 120
WORK_SECONDS = 60


def schema():
    import pyarrow

    return pyarrow.schema([("id", pyarrow.int64()), ("amount", pyarrow.float64()), ("name", pyarrow.string())])


def rows_of(file, files):
    """Ids of a file are between the ids of all others, so that only Bloom filters and pages tell files apart."""
    import pyarrow

    ids = range(file, files * ROWS, files)
    columns = [ids, (row * 0.25 for row in range(ROWS)), (f"name {id * 7919 % 100_003}" for id in ids)]
    return pyarrow.table([list(column) for column in columns], schema=schema())


DELTA_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in [("id", "long"), ("amount", "double"), ("name", "string")]],
    }
)


def write_delta(path, adds, per_commit):
    """A log of some `add` actions, with a checkpoint by deltalake of all of them."""
    import deltalake

    os.makedirs(f"{path}/_delta_log")

    def commit(version, actions):
        with open(f"{path}/_delta_log/{version:020}.json", "w") as file:
            file.writelines(json.dumps(action) + "\n" for action in actions)

    metadata = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": DELTA_SCHEMA,
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    commit(0, [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}])
    for version, start in enumerate(range(0, len(adds), per_commit), 1):
        commit(version, [{"add": add} for add in adds[start : start + per_commit]])
    deltalake.DeltaTable(path).create_checkpoint()


def add_of(path, size, ids, names):
    statistics_of_file = {
        "numRecords": ROWS,
        "minValues": {"id": ids[0], "amount": 0.0, "name": names[0]},
        "maxValues": {"id": ids[1], "amount": (ROWS - 1) * 0.25, "name": names[1]},
        "nullCount": {"id": 0, "amount": 0, "name": 0},
    }
    return {
        "path": path,
        "partitionValues": {},
        "size": size,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": json.dumps(statistics_of_file),
    }


def iceberg_catalog(path):
    from pyiceberg.catalog.sql import SqlCatalog

    os.makedirs(path)
    catalog = SqlCatalog("bench", uri=f"sqlite:///{path}/catalog.db", warehouse=f"file://{path}")
    catalog.create_namespace("n")
    return catalog


def make_needles(folder, files):
    """The same files as a table of Delta Lake and of Iceberg."""
    import pyarrow.parquet

    target = f"{folder}/needles-{files}"
    if os.path.exists(f"{target}/complete"):
        return target
    shutil.rmtree(target, ignore_errors=True)
    catalog = iceberg_catalog(f"{target}/iceberg")
    table = catalog.create_table("n.t", schema=schema(), properties={"format-version": "2"})
    data = f"{iceberg_table(target)}/data"
    os.makedirs(data)
    os.makedirs(f"{target}/delta")
    adds = []
    for file in range(files):
        rows, path = rows_of(file, files), f"{data}/{file:05}.parquet"
        pyarrow.parquet.write_table(rows, path)
        os.link(path, f"{target}/delta/{file:05}.parquet")
        names = sorted(rows["name"].to_pylist())
        adds.append(add_of(f"{file:05}.parquet", os.path.getsize(path), [file, file + files * (ROWS - 1)], [names[0], names[-1]]))
    for start in range(0, files, 1_000):
        table.add_files([f"file://{data}/{file:05}.parquet" for file in range(start, min(start + 1_000, files))])
    write_delta(f"{target}/delta", adds, 100)
    open(f"{target}/complete", "w").close()
    return target


def iceberg_table(target):
    return f"{target}/iceberg/n/t"


def make_plans(folder, files):
    """Tables that have logs alone: planning opens no data file."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    target = f"{folder}/plans-{files}"
    if os.path.exists(f"{target}/complete"):
        return target
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(f"{target}/delta")
    bounds = lambda file: ([file * ROWS, file * ROWS + ROWS - 1], [f"name {file * ROWS:012}", f"name {file * ROWS + ROWS - 1:012}"])
    write_delta(f"{target}/delta", [add_of(f"part-{file:05}-{uuid.uuid4()}.parquet", 20_000 + file % 977, *bounds(file)) for file in range(files)], 1_000)
    catalog = iceberg_catalog(f"{target}/iceberg")
    table = catalog.create_table("n.t", schema=schema(), properties={"format-version": "2"})
    number = lambda value: struct.pack("<q", value)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in range(files):
            ids, names = bounds(file)
            data_file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"{table.location()}/data/part-{file:05}-{uuid.uuid4()}.parquet",
                file_format=FileFormat.PARQUET,
                partition=Record(),
                record_count=ROWS,
                file_size_in_bytes=20_000 + file % 977,
                column_sizes={1: 8_000, 2: 8_000, 3: 4_000},
                value_counts={1: ROWS, 2: ROWS, 3: ROWS},
                null_value_counts={1: 0, 2: 0, 3: 0},
                nan_value_counts={2: 0},
                lower_bounds={1: number(ids[0]), 2: struct.pack("<d", 0.0), 3: names[0].encode()},
                upper_bounds={1: number(ids[1]), 2: struct.pack("<d", (ROWS - 1) * 0.25), 3: names[1].encode()},
                key_metadata=None,
                split_offsets=[4],
                equality_ids=None,
                sort_order_id=None,
            )
            data_file.spec_id = 0
            append.append_data_file(data_file)
    open(f"{target}/complete", "w").close()
    return target


def metadata_of(table):
    folder = f"{table}/metadata"
    return max(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".metadata.json"))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def duckdb_table(kind, table):
    """A connection, and the table as it is named in a query. The extensions come from packages, so that nothing is downloaded."""
    import importlib.metadata

    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": True, "threads": 2})
    for name in ["avro", "iceberg"] if kind == "iceberg" else ["delta"]:
        files = importlib.metadata.files(f"duckdb-extension-{name}")
        extension = next(str(file.locate()) for file in files if str(file).endswith(".duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
    return connection, f"iceberg_scan('{metadata_of(table)}')" if kind == "iceberg" else f"delta_scan('{table}')"


def peer(engine, kind, table, work, key):
    """Seconds, bytes of memory and the result of a peer."""
    if engine == "upsert":
        return upsert(kind, table, work, key)
    if engine == "DuckDB":
        connection, name = duckdb_table(kind, table)
        before, started = peak(), time.perf_counter()
        query = work.format(table=name) if work != "find" else f"SELECT id, amount, name FROM {name} WHERE id = {key}"
        found = connection.execute(query).fetchall()
        result = [[str(value) if isinstance(value, decimal.Decimal) else value for value in row] for row in found]
    elif engine == "lath in Python":
        import lath
        import pyarrow  # by to_arrow

        before, started = peak(), time.perf_counter()
        result = [list(row.values()) for row in lath.open(table).find(f"id = {key}").to_arrow().to_pylist()]
    elif engine == "polars":
        import polars

        before, started = peak(), time.perf_counter()
        frame = polars.scan_delta(table) if kind == "delta" else polars.scan_iceberg(metadata_of(table))
        result = [list(row) for row in frame.filter(polars.col("id") == key).collect().rows()]
    elif engine == "deltalake":
        import deltalake

        before, started = peak(), time.perf_counter()
        opened = deltalake.DeltaTable(table)
        columns = "id, amount, name" if work == "find" else "count(*)"
        query = f"SELECT {columns} FROM t WHERE id = {key}"
        found = deltalake.QueryBuilder().register("t", opened).execute(query).read_all()
        import pyarrow

        result = [list(row.values()) for row in pyarrow.table(found).to_pylist()]
        if work == "plan" and result == [[0]]:
            # No file is left, as the others say by no row.
            result = []
    else:
        from pyiceberg.table import StaticTable

        before, started = peak(), time.perf_counter()
        scan = StaticTable.from_metadata(metadata_of(table)).scan(row_filter=f"id = {key}")
        if work == "find":
            result = [list(row.values()) for row in scan.to_arrow().to_pylist()]
        else:
            result = list(scan.plan_files())
    return time.perf_counter() - started, peak() - before, result


def run_peer(*arguments):
    text = json.dumps(arguments)
    try:
        process = subprocess.run([sys.executable, __file__, "--peer", text], capture_output=True, text=True, timeout=PEER_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"{text}: more than {PEER_SECONDS} s", file=sys.stderr)
        return None
    if process.returncode != 0:
        print(f"{text}: {process.stderr}", file=sys.stderr)
        return None
    return json.loads(process.stdout)


def run_lath(arguments, lines):
    """Seconds, peak bytes, and the rows as lists."""
    started = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    # 1 says that there are no rows.
    assert process.returncode == (0 if lines else 1), arguments
    return seconds, usage.ru_maxrss * 1024, [list(json.loads(line).values()) for line in text.splitlines()]


def measure(engines, expected, name):
    """The median seconds and least memory of each engine; engines take turns. An engine that fails is left out, and said."""
    times = {engine: [] for engine in engines}
    memory = {}
    started = time.perf_counter()
    for _ in range(ROUNDS):
        if any(times.values()) and time.perf_counter() - started > WORK_SECONDS:
            break
        for engine, work in engines.items():
            done = work() if times[engine] is not None else None
            if done is None:
                times[engine] = None
                continue
            seconds, used, rows = done
            assert rows == expected, f"{name}: {engine} finds {rows}, and not {expected}"
            if times[engine] is not None:
                times[engine].append(seconds)
            memory[engine] = min(used, memory.get(engine, used))
    failed = [engine for engine, seconds in times.items() if seconds is None]
    return {engine: statistics.median(seconds) for engine, seconds in times.items() if seconds}, memory, failed


def show(name, times, failed, ours, peers):
    for own in ours:
        figures = [f"{engine} {seconds * 1e3:.1f} ms" for engine, seconds in times.items() if engine == own or engine not in ours]
        figures += [f"{engine} fails" for engine in failed]
        best = min(times[engine] for engine in peers if engine in times)
        print(f"| {name}, {own} | {'; '.join(figures)} | {best / times[own]:.1f} × the best peer |", flush=True)


def vector_of(rows):
    """A deletion vector of some rows, in the format of 64-bit Roaring bitmaps with arrays, and its file."""
    import zlib

    parts = {}
    for row in rows:
        parts.setdefault(row >> 16, []).append(row & 0xFFFF)
    heads = b"".join(struct.pack("<HH", key, len(low) - 1) for key, low in parts.items())
    offset, offsets = 8 + 8 * len(parts), b""
    for low in parts.values():
        assert len(low) <= 4096
        offsets += struct.pack("<I", offset)
        offset += 2 * len(low)
    arrays = b"".join(struct.pack(f"<{len(low)}H", *low) for low in parts.values())
    bitmap = struct.pack("<II", 12346, len(parts)) + heads + offsets + arrays
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    return len(vector), b"\1" + struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))


def make_lineitem(lath, folder):
    """lineitem of TPC-H, scale 1, in one file: as it is, and as a table without each twentieth row."""
    import deltalake
    import pyarrow.parquet

    target = f"{folder}/lineitem"
    if os.path.exists(f"{target}/complete"):
        return
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    subprocess.run([lath, "gen", "tpch", "--sf", "1", "--table", "lineitem", "-o", f"{target}/lineitem.parquet"], check=True, stdout=sys.stderr)
    file = pyarrow.parquet.ParquetFile(f"{target}/lineitem.parquet")
    size, rows = os.path.getsize(f"{target}/lineitem.parquet"), file.metadata.num_rows
    deltalake.DeltaTable.create(f"{target}/delta", file.schema_arrow)
    with open(f"{target}/delta/_delta_log/00000000000000000000.json") as log:
        actions = [json.loads(line) for line in log]
    for action in actions:
        if "protocol" in action:
            features = sorted({*action["protocol"].get("readerFeatures", []), "deletionVectors"})
            written = sorted({*action["protocol"].get("writerFeatures", []), "deletionVectors"})
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": written}
    os.link(f"{target}/lineitem.parquet", f"{target}/delta/lineitem.parquet")
    deleted = range(7, rows, 20)
    length, vector = vector_of(deleted)
    with open(f"{target}/delta/deleted.bin", "wb") as out:
        out.write(vector)
    descriptor = {
        "storageType": "p",
        "pathOrInlineDv": f"file://{target}/delta/deleted.bin",
        "offset": 1,
        "sizeInBytes": length,
        "cardinality": len(deleted),
    }
    add = {
        "path": "lineitem.parquet",
        "partitionValues": {},
        "size": size,
        "modificationTime": 1_700_000_000_000,
        "dataChange": True,
        "stats": json.dumps({"numRecords": rows, "tightBounds": False}),
        "deletionVector": descriptor,
    }
    with open(f"{target}/delta/_delta_log/00000000000000000000.json", "w") as log:
        log.writelines(json.dumps(action) + "\n" for action in [*actions, {"add": add}])
    open(f"{target}/complete", "w").close()


QUERIES = {
    "Q1": """SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), count(*) FROM {table} WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "Q6": """SELECT sum(l_extendedprice * l_discount) FROM {table} WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
        AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
}


def numbers(row):
    """Decimals of engines have different scales, and are compared as floats."""
    return [value if isinstance(value, str) and not value.replace(".", "").isdigit() else round(float(value), 2) for value in row]


def lineitem(lath, folder):
    target = f"{folder}/lineitem"
    for query, text in QUERIES.items():
        command = lambda table: run_lath([lath, "sql", text.format(table=f"'{target}/{table}'")], True)
        rounded = lambda done: (*done[:2], [numbers(row) for row in done[2]])
        expected = rounded(run_peer("DuckDB", "delta", f"{target}/delta", text, 0))[2]
        engines = {
            "lath": lambda: rounded(command("delta")),
            "DuckDB": lambda: rounded(run_peer("DuckDB", "delta", f"{target}/delta", text, 0)),
        }
        times, _, failed = measure(engines, expected, query)
        plain = statistics.median(command("lineitem.parquet")[0] for _ in range(ROUNDS))
        show(f"{query}, lineitem with 5 % deleted", times, failed, ["lath"], ["DuckDB"])
        print(f"| {query}, lineitem without deleted rows, lath | {plain * 1e3:.1f} ms | with deleted rows {times['lath'] / plain:.2f} × its time |", flush=True)


def needles(lath, folder, files):
    target = f"{folder}/needles-{files}"
    python = ["lath in Python"] if importlib.util.find_spec("lath") else []
    key = files * (ROWS // 2) + files // 3
    expected = [[key, ROWS // 2 * 0.25, f"name {key * 7919 % 100_003}"]]
    for kind, table in [("delta", f"{target}/delta"), ("iceberg", iceberg_table(target))]:
        catalog = f"{target}/{kind}.catalog"
        if not os.path.exists(catalog):
            subprocess.run([lath, "catalog", "add", table, "--key", "id", "--catalog", catalog], check=True, stdout=sys.stderr)
        find = ["find", "--where", f"id = {key}"]
        peers = ["DuckDB", "polars", "deltalake" if kind == "delta" else "pyiceberg"]
        engines = {
            "lath": lambda: run_lath([lath, *find, table], True),
            "lath with a catalog": lambda: run_lath([lath, *find, "--catalog", catalog], True),
            **{engine: lambda engine=engine: run_peer(engine, kind, table, "find", key) for engine in [*python, *peers]},
        }
        times, _, failed = measure(engines, expected, f"a key in {files} files")
        show(f"one key, {kind}, {files:,} files", times, failed, ["lath", *python, "lath with a catalog"], peers)


def plans(lath, folder, files):
    target = f"{folder}/plans-{files}"
    idle = min(idle_bytes(lath) for _ in range(3))
    for kind, table in [("delta", f"{target}/delta"), ("iceberg", iceberg_table(target))]:
        own = "deltalake" if kind == "delta" else "pyiceberg"
        engines = {
            "lath": lambda: run_lath([lath, "find", "--where", "id = -1", table], False),
            own: lambda: run_peer(own, kind, table, "plan", -1),
        }
        times, memory, failed = measure(engines, [], f"planning {files} files")
        show(f"planning, {kind}, {files:,} files", times, failed, ["lath"], [own])
        bytes_a_file = {"lath": (memory["lath"] - idle) / files, own: memory.get(own, 0) / files}
        print(f"| memory of it | {'; '.join(f'{engine} {bytes:.0f} bytes a file' for engine, bytes in bytes_a_file.items())} | |", flush=True)


def make_upserts(folder, rows, count):
    """Rows of a table, and rows of which ten in eleven replace one; all with a sum that floats represent exactly."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    target = f"{folder}/upserts-{rows}-{count}"
    if os.path.exists(f"{target}/complete"):
        return
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)

    def write(name, ids, amounts):
        names = pyarrow.array(ids % 100_003).cast(pyarrow.string())
        table = pyarrow.table([pyarrow.array(ids), pyarrow.array(amounts), names], schema=schema())
        pyarrow.parquet.write_table(table, f"{target}/{name}.parquet")

    random = numpy.random.default_rng(44)
    ids = numpy.arange(rows, dtype=numpy.int64)
    amounts = (ids % 1_000) * 0.25
    write("base", ids, amounts)
    changed = random.choice(rows * 11 // 10, count, replace=False).astype(numpy.int64)
    new = (changed % 777) * 0.5
    for name, number in [("changed", count), ("few", count // 1_000)]:
        write(name, changed[:number], new[:number])
        replaced = changed[:number][changed[:number] < rows]
        total = amounts.sum() - amounts[replaced].sum() + new[:number].sum()
        with open(f"{target}/{name}.json", "w") as file:
            json.dump([int(rows + number - len(replaced)), float(total)], file)
    open(f"{target}/complete", "w").close()


def upsert(engine, target, name, at_once):
    """Seconds of a peer that upserts some rows at once, and the number and the sum of the rows afterwards."""
    import pyarrow.compute
    import pyarrow.parquet

    base, changed = (pyarrow.parquet.read_table(f"{target}/{file}.parquet") for file in ["base", name])
    table = f"{target}/{engine}"
    shutil.rmtree(table, ignore_errors=True)
    if engine == "deltalake":
        import deltalake

        deltalake.write_deltalake(table, base)
        opened = deltalake.DeltaTable(table)
        started = time.perf_counter()
        for start in range(0, changed.num_rows, at_once):
            merge = opened.merge(changed.slice(start, at_once), "t.id = s.id", source_alias="s", target_alias="t")
            merge.when_matched_update_all().when_not_matched_insert_all().execute()
        seconds = time.perf_counter() - started
        found = opened.to_pyarrow_table(columns=["amount"])
    else:
        opened = iceberg_catalog(table).create_table("n.t", schema=schema(), properties={"format-version": "2"})
        opened.append(base)
        started = time.perf_counter()
        for start in range(0, changed.num_rows, at_once):
            opened.upsert(changed.slice(start, at_once), join_cols=["id"])
        seconds = time.perf_counter() - started
        found = opened.scan(selected_fields=("amount",)).to_arrow()
    shutil.rmtree(table)
    return seconds, 0, [[found.num_rows, pyarrow.compute.sum(found["amount"]).as_py()]]


def upserts(lath, folder, rows, count):
    target = f"{folder}/upserts-{rows}-{count}"
    expected = {}
    for name in ["changed", "few"]:
        with open(f"{target}/{name}.json") as file:
            expected[name] = [json.load(file)]
    table = f"{target}/lath"
    run = lambda *arguments: subprocess.run([lath, "table", *arguments], check=True, stdout=sys.stderr)
    # Rows of which readers see all or none: as many as the command commits at once unless told otherwise, all rows, and a few.
    own = {}
    for name, at_once in [("changed", 100_000), ("changed", count), ("few", count // 1_000)]:
        shutil.rmtree(table, ignore_errors=True)
        run("create", table, "--key", "id", f"{target}/base.parquet")
        run("publish", table, "--as", "iceberg", "--max-age", "1")
        number = count if name == "changed" else at_once
        started = time.perf_counter()
        run("upsert", table, f"{target}/{name}.parquet", "--batch", str(at_once))
        run("publish", table, "--now")
        own[at_once] = number / (time.perf_counter() - started)
        snapshots = len(json.load(open(metadata_of(table)))["snapshots"])
        _, _, found = run_peer("DuckDB", "iceberg", table, "SELECT count(*), sum(amount) FROM {table}", 0)
        assert found == expected[name], f"DuckDB finds {found} in the published table, and not {expected[name]}"
        shutil.rmtree(table)
        print(f"| {number:,} upserts into {rows:,} rows, {at_once:,} at once, published | lath {own[at_once]:,.0f} a second, {snapshots} snapshots | |", flush=True)
    for engine, name, at_once in [("deltalake", "changed", 100_000), ("deltalake", "changed", count), ("pyiceberg", "few", count // 1_000)]:
        work = f"upserts into {rows:,} rows, {at_once:,} at once"
        done = run_peer("upsert", engine, target, name, at_once)
        if done is None:
            print(f"| {work} | {engine} fails | |", flush=True)
            continue
        seconds, _, found = done
        assert found == expected[name], f"{engine} has {found}, and not {expected[name]}"
        number = count if name == "changed" else count // 1_000
        theirs = number / seconds
        print(f"| {number:,} {work} | {engine} {theirs:,.0f} a second | lath {own[at_once] / theirs:.1f} × |", flush=True)


def idle_bytes(lath):
    process = subprocess.Popen([lath, "--version"], stdout=subprocess.DEVNULL)
    return os.wait4(process.pid, 0)[2].ru_maxrss * 1024


def main(lath, folder, is_quick):
    global ROUNDS
    ROUNDS = 3 if is_quick else 5
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    print(f"# Tables of Delta Lake and Iceberg\n\n{machine()}. Medians of {ROUNDS} rounds, or of as many as begin within {WORK_SECONDS} s.\n")
    print("| work | figures | ratio |\n| --- | --- | --- |", flush=True)
    needle_files, plan_files = ([1_000], 10_000) if is_quick else ([1_000, 10_000], 100_000)
    upserted = (1_000_000, 100_000) if is_quick else (10_000_000, 1_000_000)
    # In another process: a process begins with the peak memory of the one that starts it.
    subprocess.run([sys.executable, __file__, "--make", lath, folder, json.dumps([needle_files, plan_files, upserted])], check=True)
    sections = [*((needles, files) for files in needle_files), (plans, plan_files), (lineitem,), (upserts, *upserted)]
    has_failed = False
    for section, *sizes in sections:
        try:
            section(lath, folder, *sizes)
        except Exception:
            # The others are measured all the same.
            traceback.print_exc()
            print(f"| {section.__name__} {sizes} fails | | |", flush=True)
            has_failed = True
    sys.exit(has_failed)


if __name__ == "__main__":
    if sys.argv[1] == "--peer":
        print(json.dumps(peer(*json.loads(sys.argv[2]))))
    elif sys.argv[1] == "--make":
        lath, folder, counts = sys.argv[2:]
        needle_files, plan_files, upserted = json.loads(counts)
        for files in needle_files:
            make_needles(folder, files)
        make_plans(folder, plan_files)
        make_lineitem(lath, folder)
        make_upserts(folder, *upserted)
    else:
        main(sys.argv[1], sys.argv[2], "--quick" in sys.argv[3:])
