"""Changes keyed tables whose files are in a bucket by the command, publishes them there, and says whether other readers find the rows that a dict has.

    bucket.py LATH MOTO_SERVER [CASES]

LATH is the command, MOTO_SERVER the program of moto's S3. A table is changed as in keyed.py, and published several times; after each time pyiceberg and
DuckDB read it from the bucket alone, and earlier snapshots are read again; another table is read as one of Delta Lake. In the end the table is dropped, after which the bucket is empty. Prints one
line a reader and fault; exits with 1 if there are faults.
"""

import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import pyarrow.fs
from keyed import KEYS, Case
from published import CONNECTION, DELTA_READERS
from pyiceberg.table import StaticTable

BUCKET = "lath"


def start(program):
    """Starts the server, with a bucket, and returns its process and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for _ in range(600):
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
            urllib.request.urlopen(request)
            return server, port
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("moto does not answer")


class InBucket(Case):
    """A table in a bucket."""

    formats = "iceberg"

    def __init__(self, lath, folder, seed, files):
        self.lath, self.folder, self.random = lath, folder, random.Random(seed)
        self.files = files
        self.database = folder / "database"
        self.types = {"count": pyarrow.int32(), "text": pyarrow.string(), "price": pyarrow.float64()}
        self.rows, self.added, self.steps, self.snapshots = {}, 0, [], []
        self.prefix = f"{BUCKET}/{seed}/table-000001"
        columns = self.file(self.random_rows(0))
        cold = ["--cold", f"s3://{BUCKET}/{seed}/"]
        self.run("table", "create", self.database, "--table", "t", "--key", "id", *cold, columns)
        self.run("table", "publish", self.database, "--table", "t", "--as", self.formats)

    def publish(self):
        self.run("table", "publish", self.database, "--table", "t", "--now")
        with self.files.open_input_stream(f"{self.prefix}/metadata/version-hint.text") as hint:
            number = hint.read().decode().strip()
        metadata = f"s3://{self.prefix}/metadata/v{number}.metadata.json"
        self.snapshots.append((metadata, ["id", *self.types], self.expected()))


class DeltaInBucket(InBucket):
    """A table that is published as one of Delta Lake, whose columns do not change."""

    formats = "delta"

    def step(self):
        choice = self.random.randrange(4)
        if choice < 2:
            rows = self.random_rows(self.random.choice([1, 20, 200]))
            self.run("table", "upsert", self.database, "--table", "t", self.file(rows))
            self.rows.update(rows)
        elif choice == 2:
            keys = [self.random.randrange(KEYS) for _ in range(10)]
            self.run("table", "delete", self.database, "--table", "t", *keys)
            self.rows = {key: row for key, row in self.rows.items() if key not in keys}
        else:
            self.run("table", "compact", self.database, "--table", "t")

    def publish(self):
        self.run("table", "publish", self.database, "--table", "t", "--now")
        # Of the newest version alone.
        self.snapshots = [(f"s3://{self.prefix}", ["id", *self.types], self.expected())]


def read_pyiceberg(path, columns, properties):
    table = StaticTable.from_metadata(path, properties).scan().to_arrow().sort_by("id")
    return list(zip(*(table.column(name).to_pylist() for name in columns)))


def read_duckdb(path, columns, _):
    names = ", ".join(f'"{name}"' for name in columns)
    return CONNECTION.execute(f"SELECT {names} FROM iceberg_scan('{path}') ORDER BY id").fetchall()


def main(lath, program, cases):
    server, port = start(program)
    try:
        return check(lath, port, cases)
    finally:
        server.kill()
        server.wait()


def check(lath, port, cases):
    endpoint = f"http://127.0.0.1:{port}"
    os.environ |= {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        # For delta-rs.
        "AWS_ALLOW_HTTP": "true",
    }
    properties = {"s3.endpoint": endpoint, "s3.access-key-id": "test", "s3.secret-access-key": "test", "s3.region": "us-east-1"}
    CONNECTION.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID 'test', SECRET 'test', REGION 'us-east-1', ENDPOINT '127.0.0.1:{port}', "
        "URL_STYLE 'path', USE_SSL false)"
    )
    files = pyarrow.fs.S3FileSystem(
        access_key="test", secret_key="test", region="us-east-1", endpoint_override=endpoint, scheme="http"
    )
    iceberg = {"pyiceberg": read_pyiceberg, "DuckDB": read_duckdb}
    delta = {f"{name} (Delta Lake)": lambda path, columns, _, read=read: read(path, columns) for name, read in DELTA_READERS.items()}
    faults, equal = 0, dict.fromkeys([*iceberg, *delta], 0)
    seed = int(os.environ.get("LATH_SEED", random.randrange(1 << 32)))
    for seed in range(seed, seed + cases):
        for kind, readers, rounds in ((InBucket, iceberg, 5), (DeltaInBucket, delta, 12)):
            with tempfile.TemporaryDirectory() as folder:
                case = kind(lath, pathlib.Path(folder), seed, files)
                faults += history(case, seed, rounds, readers, equal, properties)
                case.run("table", "check", case.database, "--table", "t")
                case.run("sql", "--database", case.database, "DROP TABLE t")
                left = files.get_file_info(pyarrow.fs.FileSelector(BUCKET, recursive=True))
                left = [file.path for file in left if file.type == pyarrow.fs.FileType.File]
                if left:
                    print(f"seed {seed}: the bucket has {left[:5]} after the table was dropped")
                    faults += 1
    for name, count in equal.items():
        print(f"{name}: {count} snapshots in a bucket are equal")
    return faults


def history(case, seed, rounds, readers, equal, properties):
    """Changes and publishes a table several times, and has readers read what is published. The number of faults; equal answers are counted."""
    faults = 0
    for _ in range(rounds):
        for _ in range(case.random.randrange(1, 5)):
            case.step()
        case.publish()
        for metadata, columns, expected in case.snapshots:
            for name, read in readers.items():
                what = f"seed {seed}, {metadata}, after {case.steps}"
                try:
                    found = [tuple(row) for row in read(metadata, columns, properties)]
                except Exception as error:
                    print(f"{name}: {what}: {type(error).__name__}: {str(error)[:300]}")
                    faults += 1
                    continue
                if found == expected:
                    equal[name] += 1
                else:
                    print(f"{name}: {what}: {len(found)} rows instead of {len(expected)}")
                    faults += 1
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5) > 0)
