"""Changes keyed tables whose files are in a bucket by the command, publishes them there, and says whether other readers find the rows that a dict has.

    bucket.py LATH MOTO_SERVER [CASES]

LATH is the command, MOTO_SERVER the program of moto's S3. A table is changed as in keyed.py, and published several times; after each time pyiceberg and
DuckDB read it from the bucket alone, and earlier snapshots are read again. In the end the table is dropped, after which the bucket is empty. Prints one
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
from keyed import Case
from published import CONNECTION
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
        self.run("table", "publish", self.database, "--table", "t", "--as", "iceberg")

    def publish(self):
        self.run("table", "publish", self.database, "--table", "t", "--now")
        with self.files.open_input_stream(f"{self.prefix}/metadata/version-hint.text") as hint:
            number = hint.read().decode().strip()
        metadata = f"s3://{self.prefix}/metadata/v{number}.metadata.json"
        self.snapshots.append((metadata, ["id", *self.types], self.expected()))


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
    }
    properties = {"s3.endpoint": endpoint, "s3.access-key-id": "test", "s3.secret-access-key": "test", "s3.region": "us-east-1"}
    CONNECTION.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID 'test', SECRET 'test', REGION 'us-east-1', ENDPOINT '127.0.0.1:{port}', "
        "URL_STYLE 'path', USE_SSL false)"
    )
    files = pyarrow.fs.S3FileSystem(
        access_key="test", secret_key="test", region="us-east-1", endpoint_override=endpoint, scheme="http"
    )
    readers = {"pyiceberg": read_pyiceberg, "DuckDB": read_duckdb}
    faults, equal = 0, dict.fromkeys(readers, 0)
    seed = int(os.environ.get("LATH_SEED", random.randrange(1 << 32)))
    for seed in range(seed, seed + cases):
        with tempfile.TemporaryDirectory() as folder:
            case = InBucket(lath, pathlib.Path(folder), seed, files)
            for _ in range(5):
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5) > 0)
