"""Measures queries on workers: two workers of one thread each against one process of two threads, what workers cost a small query, files
behind a slow server, and the same queries by Ballista and by
datafusion-distributed over DataFusion's own reader; prints a record in Markdown.

    cluster.py LATH FOLDER [--quick] [--scale=N]

LATH is the command, and FOLDER is where the tables of TPC-H are, or are made: at scale 10, 1 with --quick, or N. Everything runs on this machine.
The systems take turns. The time of Lath is that of a whole process for each query; the time of Ballista begins when its session is connected. The
answers of all systems are compared, numbers to nine digits. Ballista is left out if it cannot be loaded: its wheels need glibc 2.39.
datafusion-distributed is left out if it is not built.
"""

import contextlib
import csv
import datetime
import http.server
import io
import math
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from machine import free_port, machine, wait_for

ROUNDS = 3
TABLES = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
NUMBERS = "orderkey partkey suppkey linenumber quantity extendedprice discount tax"
DATES = "shipdate commitdate receiptdate"
TEXTS = "returnflag linestatus shipinstruct shipmode comment"
DISTRIBUTED = pathlib.Path(__file__).parents[2] / "distributed/target/release/distributed-peer"
QUERIES = pathlib.Path(__file__).parents[4] / "crates/sql/tests/tpch"
FILES = 200
LATENCY = 0.02
BYTES_PER_SECOND = 50e6
# Each query runs on workers, however little it reads.
ENVIRONMENT = {**os.environ, "LATH_CLUSTER_MIN_BYTES": "0"}


@contextlib.contextmanager
def workers(lath, count, allow, environment=ENVIRONMENT):
    """The addresses of workers of one thread."""
    command = [lath, "worker", "--threads", "1", "--allow", allow, "--listen", "0"]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(count)]
    try:
        # The first line begins with the address.
        yield ",".join(process.stdout.readline().split(" ")[0] for process in processes)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def run(lath, sql, *options, environment=ENVIRONMENT):
    """Seconds of a process, and its rows."""
    started = time.perf_counter()
    process = subprocess.run([lath, "sql", *options, "--format", "csv", sql], env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if process.returncode != 0:
        sys.exit(f"{sql} failed with {options}: {process.stderr}")
    return seconds, list(csv.reader(io.StringIO(process.stdout)))[1:]


def same(value):
    """A value as systems agree on it."""
    if value is None:
        return ""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()[:10]
    try:
        return f"{float(value):.9g}"
    except ValueError:
        return str(value)


def rows_of(rows):
    return sorted(tuple(same(value) for value in row) for row in rows)


class SlowObjects(http.server.BaseHTTPRequestHandler):
    """The objects of a bucket, as S3 serves them: each answer comes after a time, and each connection has a speed."""

    protocol_version = "HTTP/1.1"
    folder = None

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, has_body):
        time.sleep(LATENCY)
        url = urllib.parse.urlparse(self.path)
        parts = urllib.parse.unquote(url.path).strip("/").split("/", 1)
        if len(parts) == 1 or not parts[1]:
            return self.listing()
        path = os.path.join(self.folder, parts[1])
        if not os.path.isfile(path):
            self.send_response(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        size = os.path.getsize(path)
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        start, end = 0, size
        if asked and not asked[1]:
            start = max(0, size - int(asked[2]))
        elif asked:
            start, end = int(asked[1]), min(size, int(asked[2]) + 1 if asked[2] else size)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{os.stat(path).st_mtime_ns}"')
        self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.end_headers()
        if not has_body:
            return None
        with open(path, "rb") as file:
            file.seek(start)
            left, due = end - start, time.monotonic()
            while left:
                chunk = file.read(min(left, 1 << 17))
                left -= len(chunk)
                due += len(chunk) / BYTES_PER_SECOND
                time.sleep(max(0, due - time.monotonic()))
                self.wfile.write(chunk)

    def listing(self):
        names = sorted(os.listdir(self.folder))
        objects = "".join(
            f"<Contents><Key>{name}</Key><Size>{os.path.getsize(os.path.join(self.folder, name))}</Size>"
            f"<ETag>&quot;{os.stat(os.path.join(self.folder, name)).st_mtime_ns}&quot;</ETag>"
            "<LastModified>2025-01-01T00:00:00.000Z</LastModified><StorageClass>STANDARD</StorageClass></Contents>"
            for name in names
        )
        text = f"<?xml version='1.0'?><ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def serve_slowly(folder, port):
    SlowObjects.folder = folder
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), SlowObjects)
    server.daemon_threads = True
    server.serve_forever()


def ballista_executor(scheduler, port):
    import ballista

    executor = ballista.BallistaExecutor(bind_host="127.0.0.1", bind_port=port, scheduler_host="127.0.0.1", scheduler_port=scheduler, concurrent_tasks=2)
    executor.start()
    executor.wait_for_termination()


def ballista_scheduler(port):
    import ballista

    scheduler = ballista.BallistaScheduler(bind_host="127.0.0.1", bind_port=port)
    scheduler.start()
    scheduler.wait_for_termination()


@contextlib.contextmanager
def ballista_session(tables):
    """A session with an executor of two tasks, or why there is none."""
    try:
        import ballista
    except ImportError as error:
        yield None, str(error)
        return
    scheduler, context = free_port(), multiprocessing.get_context("spawn")
    processes = [context.Process(target=ballista_scheduler, args=(scheduler,), daemon=True)]
    processes[0].start()
    try:
        wait_for(scheduler)
        # A second executor on one machine is lost: "File exists".
        port = free_port()
        processes.append(context.Process(target=ballista_executor, args=(scheduler, port), daemon=True))
        processes[-1].start()
        wait_for(port)
        session = ballista.BallistaSessionContext(f"df://127.0.0.1:{scheduler}", cluster_config={"datafusion.execution.target_partitions": "2"})
        for name, path in tables.items():
            session.register_parquet(name, path)
        yield session, f"Ballista {ballista.__version__}"
    finally:
        for process in processes:
            process.kill()


def ask_ballista(session, sql):
    started = time.perf_counter()
    batches = session.sql(sql).collect()
    seconds = time.perf_counter() - started
    return seconds, [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@contextlib.contextmanager
def distributed_workers():
    """The addresses of two workers of datafusion-distributed, or None where it is not built."""
    if not DISTRIBUTED.exists():
        yield None
        return
    processes = [subprocess.Popen([DISTRIBUTED, "worker"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(2)]
    try:
        yield ",".join(process.stdout.readline().strip() for process in processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ask_distributed(folder, addresses, sql):
    """Seconds and rows of datafusion-distributed, with its filters in the reader or not, whichever is faster."""
    answers = []
    for pushdown in ["false", "true"]:
        process = subprocess.run([DISTRIBUTED, "ask", folder, addresses, "2", pushdown, sql], capture_output=True, text=True)
        if process.returncode != 0:
            raise RuntimeError(process.stderr.strip().splitlines()[-1])
        answers.append((float(process.stderr.strip().splitlines()[-1]), list(csv.reader(io.StringIO(process.stdout)))[1:]))
    return min(answers, key=lambda answer: answer[0])


def question(path, scale):
    """A query as it is for a scale: Q11 asks for a share of all that shrinks with it."""
    return path.read_text().replace("0.0001", f"{0.0001 / float(scale):.10f}")


def tpch(lath, folder, views, tables, scale):
    print("## TPC-H\n\nOne process of two threads, two workers of one thread, and peers: Ballista with an executor of two tasks, and two workers of")
    print("datafusion-distributed of one thread, over DataFusion's own reader, with filters in the reader or not, whichever is faster.\n")
    print("| query | one process | two workers | one process / workers | Ballista | Ballista / workers | datafusion-distributed | it / workers |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    totals, ratios = {}, {"one": [], "ballista": [], "distributed": []}
    with workers(lath, 2, str(folder)) as addresses, ballista_session(tables) as (session, what), distributed_workers() as distributed:
        peers = {}
        if session is not None:
            peers["ballista"] = lambda sql: ask_ballista(session, sql)
        if distributed is not None:
            peers["distributed"] = lambda sql: ask_distributed(folder, distributed, sql)
        for path in sorted(QUERIES.glob("q*.sql")):
            sql = question(path, scale)
            figures, problems = {"one": [], "workers": [], "ballista": [], "distributed": []}, {}
            for _ in range(ROUNDS):
                seconds, expected = run(lath, views + sql, "--threads", "2")
                figures["one"].append(seconds)
                seconds, rows = run(lath, views + sql, "--threads", "1", "--cluster", addresses)
                figures["workers"].append(seconds)
                if rows_of(rows) != rows_of(expected):
                    sys.exit(f"{path.name}: workers answer otherwise than one process")
                for name, ask in peers.items():
                    if name in problems:
                        continue
                    try:
                        seconds, rows = ask(sql)
                        figures[name].append(seconds)
                        if rows_of(rows) != rows_of(expected):
                            problems[name] = "other rows"
                    except Exception as error:
                        problems[name] = str(error).splitlines()[0][:60]
            median = {name: statistics.median(seconds) for name, seconds in figures.items() if seconds}
            for name, seconds in median.items():
                totals[name] = totals.get(name, 0) + seconds
            cells = [f"{median['one']:.2f} s", f"{median['workers']:.2f} s"]
            for name, found in ratios.items():
                ratio = median[name] / median["workers"] if name in median and name not in problems else None
                if ratio:
                    found.append(ratio)
                if name != "one":
                    cells.append(f"{median[name]:.2f} s" if ratio else problems.get(name, "–"))
                cells.append(f"{ratio:.2f}" if ratio else "")
            print(f"| {path.stem} | {' | '.join(cells)} |", flush=True)
    print(f"| sum | {totals['one']:.2f} s | {totals['workers']:.2f} s | {totals['one'] / totals['workers']:.2f} | {totals.get('ballista', 0):.2f} s | | {totals.get('distributed', 0):.2f} s | |")
    geometric = lambda values: f"{math.exp(statistics.fmean(map(math.log, values))):.2f} over {len(values)} queries" if values else "not run"
    print(f"\nGeometric means: one process / workers {geometric(ratios['one'])}; Ballista / workers {geometric(ratios['ballista'])} ({what}); datafusion-distributed / workers {geometric(ratios['distributed'])}.\n", flush=True)


def small(lath, folder, views):
    print("## Small queries\n\n| query | one process | with --cluster | difference |\n| --- | --- | --- | --- |", flush=True)
    # As users have it: what reads little runs at the coordinator.
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "LATH_CLUSTER_MIN_BYTES"}
    queries = {"select 1": "SELECT 1", "a needle": views + "SELECT * FROM lineitem WHERE l_orderkey = 4711"}
    with workers(lath, 2, str(folder)) as addresses:
        for name, sql in queries.items():
            figures = {"one": [], "workers": []}
            for _ in range(31):
                for place, options in [("one", []), ("workers", ["--cluster", addresses])]:
                    seconds, rows = run(lath, sql, *options, environment=environment)
                    figures[place].append(seconds * 1000)
            median = {place: statistics.median(values) for place, values in figures.items()}
            print(f"| {name} | {median['one']:.1f} ms | {median['workers']:.1f} ms | {median['workers'] - median['one']:.1f} ms |", flush=True)
    print()


def slow_server(lath, folder, lineitem):
    files = folder / "files"
    if not files.is_dir():
        _, [[rows]] = run(lath, f"SELECT count(*) FROM '{lineitem}'")
        subprocess.run([lath, "split", str(lineitem), "--rows", str(-(-int(rows) // FILES)), "-o", f"{files}/", "--quiet"], check=True)
    count, size = len(list(files.iterdir())), sum(path.stat().st_size for path in files.iterdir())
    print(f"## A slow server\n\n{count} files, {size / 1e6:.0f} MB, behind a server with {LATENCY * 1000:.0f} ms latency and {BYTES_PER_SECOND / 1e6:.0f} MB/s for each connection; a scan of all columns.\n")
    print("| computed by | seconds | against one worker |\n| --- | --- | --- |", flush=True)
    port = free_port()
    server = multiprocessing.get_context("spawn").Process(target=serve_slowly, args=(str(files), port), daemon=True)
    server.start()
    try:
        wait_for(port)
        environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
        # No footer has these sums.
        sums = [f"sum(l_{name})" for name in NUMBERS.split()] + [f"sum(extract(day FROM l_{name}))" for name in DATES.split()] + [f"sum(length(l_{name}))" for name in TEXTS.split()]
        sql = f"SELECT {', '.join(sums)} FROM 's3://bucket/'"
        figures, expected = {}, None
        for _ in range(ROUNDS):
            for count in [0, 1, 2, 4]:
                if count == 0:
                    seconds, rows = run(lath, sql, "--threads", "1", environment=environment)
                else:
                    with workers(lath, count, "s3://bucket", environment) as addresses:
                        seconds, rows = run(lath, sql, "--threads", "1", "--cluster", addresses, environment=environment)
                expected = expected or rows_of(rows)
                if rows_of(rows) != expected:
                    sys.exit(f"{count} workers answer otherwise than one process")
                figures.setdefault(count, []).append(seconds)
        median = {count: statistics.median(seconds) for count, seconds in figures.items()}
        for count, seconds in median.items():
            name = f"{count} workers of one thread" if count else "one process of one thread"
            print(f"| {name} | {seconds:.2f} s | {median[1] / seconds:.2f} × |", flush=True)
    finally:
        server.kill()


def main(lath, folder, options):
    scale = "1" if "--quick" in options else "10"
    for option in options:
        scale = option.removeprefix("--scale=") if option.startswith("--scale=") else scale
    folder = pathlib.Path(folder).absolute() / scale
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        if not (folder / f"{table}.parquet").exists():
            subprocess.run([lath, "gen", "tpch", "--sf", scale, "--table", table, "-o", f"{folder}/{table}.parquet", "--quiet"], check=True)
    tables = {table: f"{folder}/{table}.parquet" for table in TABLES}
    views = "".join(f"CREATE VIEW {table} AS SELECT * FROM '{path}'; " for table, path in tables.items())
    print(f"# Workers\n\n{machine()}. Tables of TPC-H at scale {scale}; medians of {ROUNDS} rounds; workers, coordinator and servers run on the same machine.\n")
    small(lath, folder, views)
    slow_server(lath, folder / "slow", folder / "lineitem.parquet")
    print()
    tpch(lath, folder, views, tables, scale)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
