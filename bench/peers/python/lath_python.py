"""Measures the Python package `lath` beside pyarrow, polars, DuckDB and lmdb; prints a table in Markdown.

    lath_python.py FOLDER

FOLDER is where the data are, or are made: lineitem of TPC-H, scale 1, and 1,000 files of 100,000 rows. Each engine works in a process of its
own, turn by turn with the others; figures are the least of the rounds, and what engines find is compared.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
ROWS_WRITTEN = 2_000_000
STORE_KEYS = 500_000


def least(work, rounds):
    """Seconds of the fastest of some rounds, after one that is not counted, and the last result."""
    result, seconds = work(), []
    for _ in range(rounds):
        started = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - started)
    return min(seconds), result


def sum_of(table):
    import pyarrow.compute as pc

    modes = table["l_shipmode"].cast("string")
    return [table.num_rows, str(pc.sum(table["l_quantity"]).as_py()), pc.count_distinct(modes).as_py()]


def read(engine, threads, path):
    """To Arrow, strings with offsets or as views."""
    views = engine.endswith(", views")
    if engine.startswith("lath"):
        import lath

        strings = "views" if views else "offsets"
        work = lambda: lath.open(path).scan(threads=threads, strings=strings).to_arrow()
    elif engine == "pyarrow":
        import pyarrow
        import pyarrow.parquet as pq

        pyarrow.set_cpu_count(threads)
        work = lambda: pq.read_table(path, use_threads=threads > 1)
    else:
        import polars

        level = polars.CompatLevel.newest() if views else polars.CompatLevel.oldest()
        work = lambda: polars.read_parquet(path).to_arrow(compat_level=level)
    seconds, table = least(work, ROUNDS)
    return seconds, sum_of(table)


def find(engine, _, folder, keys):
    """The mean of one key each; all files are known to each engine before."""
    files = f"{folder}/*.parquet"
    if engine.startswith("lath"):
        import lath

        data = lath.open(folder)
    if engine == "lath":
        one = lambda key: data.find(lath.col("key") == key).to_arrow()["id"].to_pylist()
    elif engine == "lath, by polars":
        import polars

        frame = lath.scan_polars(data)
        one = lambda key: frame.filter(polars.col("key") == key).collect()["id"].to_list()
    elif engine == "lath, by DuckDB":
        import duckdb

        files_of_lath = lath.arrow_dataset(data)
        connection = duckdb.connect()
        connection.register("files", files_of_lath)
        one = lambda key: [row[0] for row in connection.execute("SELECT id FROM files WHERE key = ?", [key]).fetchall()]
    elif engine == "polars":
        import polars

        frame = polars.scan_parquet(files)
        one = lambda key: frame.filter(polars.col("key") == key).collect()["id"].to_list()
    else:
        import duckdb

        connection = duckdb.connect()
        connection.execute("SET parquet_metadata_cache = true")
        query = f"SELECT id FROM read_parquet('{files}') WHERE key = ?"
        one = lambda key: [row[0] for row in connection.execute(query, [key]).fetchall()]
    rounds = 5 if engine.startswith("lath") else 1
    seconds, found = least(lambda: [one(key) for key in keys], rounds)
    return seconds / len(keys), found


def count(engine, is_regular_expression, path):
    """Rows of which a string contains a word, or what a regular expression says, which Lath leaves to polars or pyarrow."""
    word, expression = "furiously", "[fq]u[^ ]*ly"
    condition = f"l_comment LIKE '%{word}%'"
    if engine.endswith("polars"):
        import polars

        comment = polars.col("l_comment").str
        condition = comment.contains(expression) if is_regular_expression else comment.contains(word, literal=True)
        work = lambda: polars.scan_parquet(path).filter(condition).select(polars.len()).collect().item()
    elif engine.endswith("pyarrow"):
        import pyarrow.compute as pc
        import pyarrow.dataset

        pyarrow.set_cpu_count(2)
        comment = pc.field("l_comment")
        condition = pc.match_substring_regex(comment, expression) if is_regular_expression else pc.match_substring(comment, word)
        # None of these functions takes views, which the schema in the file has.
        schema = pyarrow.dataset.dataset(path).schema
        place = schema.get_field_index("l_comment")
        schema = schema.set(place, schema.field(place).with_type(pyarrow.string()))
        work = lambda: pyarrow.dataset.dataset(path, schema=schema).count_rows(filter=condition)
    elif engine == "DuckDB":
        import duckdb

        connection = duckdb.connect(config={"threads": 2})
        if is_regular_expression:
            condition = f"regexp_matches(l_comment, '{expression}')"
        work = lambda: connection.execute(f"SELECT count(*) FROM '{path}' WHERE {condition}").fetchall()[0][0]
    if engine.startswith("lath"):
        import lath

        work = lambda: lath.open(path).count(condition)
    seconds, found = least(work, ROUNDS)
    return seconds, [found]


def write(engine, _, path):
    import pyarrow.parquet as pq

    table = pq.read_table(path).slice(0, ROWS_WRITTEN)
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/written.parquet"
        if engine == "lath":
            import lath

            seconds, _ = least(lambda: lath.write_table(table, target, compression="snappy"), 3)
        else:
            seconds, _ = least(lambda: pq.write_table(table, target, compression="snappy"), 3)
        size = os.path.getsize(target)
        return seconds, [sum_of(pq.read_table(target))], size


def store(engine, many, _):
    keys = [f"key {number * 7919 % STORE_KEYS:012}".encode() for number in range(STORE_KEYS)]
    values = [b"value " + key * 3 for key in keys]
    asked = keys[:: 5 if many else 11]
    with tempfile.TemporaryDirectory() as folder:
        if engine == "lath":
            import lath

            opened = lath.Store(f"{folder}/store.lath", durability="off")
            with opened.transaction() as transaction:
                transaction.update(zip(keys, values))
            snapshot = opened.snapshot()
            if many:
                work = lambda: [value for at in range(0, len(asked), 1000) for value in snapshot.get_many(asked[at : at + 1000])]
            else:
                get = snapshot.get
                work = lambda: [get(key) for key in asked]
        else:
            import lmdb

            opened = lmdb.open(f"{folder}/store", map_size=1 << 30, sync=False)
            with opened.begin(write=True) as transaction:
                transaction.cursor().putmulti(zip(keys, values))
            transaction = opened.begin()
            if many:
                cursor = transaction.cursor()
                work = lambda: [value for at in range(0, len(asked), 1000) for _, value in cursor.getmulti(asked[at : at + 1000])]
            else:
                get = transaction.get
                work = lambda: [get(key) for key in asked]
        seconds, found = least(work, ROUNDS)
        by_key = dict(zip(keys, values))
        assert found == [by_key[key] for key in asked], f"{engine} finds other values"
    return len(asked) / seconds, [len(found)]


WORK = {"read": read, "find": find, "count": count, "write": write, "store": store}


def run(work, engine, parameter, *arguments):
    """Does work in a process of its own."""
    threads = parameter if work == "read" else 2
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    text = json.dumps([work, engine, parameter, *arguments])
    return json.loads(subprocess.run([sys.executable, __file__, "--work", text], env=environment, check=True, capture_output=True, text=True).stdout)


def same(results, name):
    first = next(iter(results.values()))[1]
    for engine, result in results.items():
        assert result[1] == first, f"{name}: {engine} finds {result[1]}, and not {first}"


def import_seconds(module):
    def once(code):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - started

    return min(once(f"import {module}") for _ in range(20)) - min(once("pass") for _ in range(20))


def row(name, figures, ratio):
    print("|", " | ".join([name, "; ".join(figures), ratio]), "|", flush=True)


def lineitem_of(folder):
    path = f"{folder}/lineitem.parquet"
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([sys.executable, "-m", "lath", "gen", "tpch", "--sf", "1", "--table", "lineitem", "-o", path], check=True, stdout=sys.stderr)
    return path


def rewritten_of(folder, lineitem):
    """The file as pyarrow writes it unless told otherwise: Snappy, and dictionaries."""
    path = f"{folder}/lineitem-by-pyarrow.parquet"
    if not os.path.exists(path):
        import pyarrow.parquet as pq

        pq.write_table(pq.read_table(lineitem), f"{path}.unfinished")
        os.rename(f"{path}.unfinished", path)
    return path


def needles_of(folder):
    """1,000 files of 100,000 rows, two row groups each, with a random text of 16 characters as the key."""
    path = f"{folder}/needles"
    if os.path.exists(path):
        return path
    import duckdb
    import lath

    unfinished = f"{path}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(unfinished)
    query = "SELECT substr(md5(CAST(range AS VARCHAR)), 1, 16) AS key, range AS id, sin(range) AS amount, 'name ' || range % 5000 AS name FROM range(?, ?)"
    for file in range(1_000):
        rows = duckdb.sql(query, params=[file * 100_000, (file + 1) * 100_000]).to_arrow_table()
        lath.write_table(
            rows,
            f"{unfinished}/{file:04}.parquet",
            row_group_size=50_000,
            compression="snappy",
            use_dictionary=["id", "amount", "name"],
            bloom_filter_options={"key": True},
        )
    os.rename(unfinished, path)
    return path


def main(folder):
    lineitem, needles = lineitem_of(folder), needles_of(folder)
    print("| work | figures | ratio |\n| --- | --- | --- |", flush=True)
    imports = {module: import_seconds(module) for module in ["lath", "pyarrow", "polars", "duckdb"]}
    row("import", [f"{name} {seconds * 1e3:.0f} ms" for name, seconds in imports.items()], f"{imports['lath'] * 1e3:.0f} ms (goal 30 ms)")
    files = {"lineitem": lineitem, "lineitem as pyarrow writes it": rewritten_of(folder, lineitem)}
    strings = {"strings with offsets": ["lath", "pyarrow", "polars"], "strings as views": ["lath, views", "polars, views"]}
    for (file, path), threads, (kind, engines) in itertools.product(files.items(), [1, 2], strings.items()):
        results = {engine: run("read", engine, threads, path) for engine in engines}
        same(results, "lineitem")
        best = min(results[engine][0] for engine in engines[1:])
        figures = [f"{engine} {result[0] * 1e3:.0f} ms" for engine, result in results.items()]
        row(f"{file} to Arrow, {kind}, {threads} threads", figures, f"{best / results[engines[0]][0]:.2f} × the best (goal 1.8 ×)")
    keys = subprocess.run(
        [sys.executable, "-c", "import sys, pyarrow.parquet as pq, glob\nfor file in sorted(glob.glob(sys.argv[1] + '/*.parquet'))[::100]:\n print(pq.read_table(file, columns=['key'])['key'][777].as_py())", needles],
        check=True, capture_output=True, text=True,
    ).stdout.split()
    results = {engine: run("find", engine, 0, needles, keys) for engine in ["lath", "lath, by polars", "lath, by DuckDB", "polars", "DuckDB"]}
    same(results, "needles")
    for engine, peer, goal in [("lath", "polars", ""), ("lath, by polars", "polars", " (goal 20 ×)"), ("lath, by DuckDB", "DuckDB", " (goal 3 ×)")]:
        figures = [f"{name} {results[name][0] * 1e3:.2f} ms" for name in [engine, peer]]
        row("one key in 1,000 files, warm", figures, f"{results[peer][0] / results[engine][0]:.1f} ×{goal}")
    peers = ["polars", "DuckDB", "pyarrow"]
    for is_regular_expression, name, ours in [
        (False, "comments that contain a word", ["lath", "lath, by polars"]),
        (True, "comments that contain a regular expression", ["lath, by polars", "lath, by pyarrow"]),
    ]:
        results = {engine: run("count", engine, is_regular_expression, files["lineitem as pyarrow writes it"]) for engine in [*ours, *peers]}
        same(results, name)
        figures = [f"{engine} {result[0] * 1e3:.0f} ms" for engine, result in results.items()]
        best = min(results[engine][0] for engine in peers)
        row(f"count {name}", figures, f"{best / results[ours[0]][0]:.2f} × the best")
    results = {engine: run("write", engine, 0, lineitem) for engine in ["lath", "pyarrow"]}
    same(results, "written")
    figures = [f"{engine} {result[0] * 1e3:.0f} ms, {result[2] / 1e6:.0f} MB" for engine, result in results.items()]
    row(f"write {ROWS_WRITTEN:,} rows of lineitem, Snappy", figures, f"{results['pyarrow'][0] / results['lath'][0]:.2f} × (goal 1.5 ×)")
    for many, name, goal in [(False, "gets one by one", 2), (True, "`get_many` of 1,000", 5)]:
        results = {engine: run("store", engine, many, "") for engine in ["lath", "lmdb"]}
        if many:
            one_by_one = run("store", "lmdb", False, "")
            results["lmdb, one by one"] = one_by_one
        figures = [f"{engine} {result[0] / 1e6:.2f} M/s" for engine, result in results.items()]
        row(f"store of {STORE_KEYS:,} keys: {name}", figures, f"{results['lath'][0] / results['lmdb'][0]:.2f} × (goal {goal} ×)")


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work, engine, parameter, *arguments = json.loads(sys.argv[2])
        print(json.dumps(WORK[work](engine, parameter, *arguments)))
    else:
        main(sys.argv[1])
