"""Writes objects by every command to servers of Azure, Google Cloud Storage and S3, and compares them with the local files of the same commands.

Azure is azurite, S3 is moto, and Google is google.py: fake-gcs-server (1.56.1) takes neither uploads in parts nor conditions, and writes by signed URLs
alone.

  stores.py LATH [azure] [google] [s3]

LATH_AZURITE and LATH_MOTO_SERVER name the programs of the servers. A server without a program is skipped with a message.
LATH_KILLS is the number of times that a writer of an object in S3 is killed: 30 unless it is set.
"""

import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

# Azurite's account, which is the same everywhere.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
CONNECTION = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={};BlobEndpoint=http://127.0.0.1:{}/devstoreaccount1;"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A process with the bucket `lath`."""

    def __init__(self, folder):
        self.port = free_port()
        self.process = subprocess.Popen(self.command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        deadline = time.monotonic() + 120
        while True:
            try:
                self.create()
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def close(self):
        self.process.kill()
        self.process.wait()


class Azure(Server):
    name, url, variable = "azure", "az://lath", "LATH_AZURITE"

    def command(self, folder):
        program = os.environ[self.variable]
        return ["node", program, "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", folder, "--silent", "--skipApiVersionCheck"]

    def create(self):
        from azure.storage.blob import BlobServiceClient

        socket.create_connection(("127.0.0.1", self.port)).close()
        service = BlobServiceClient.from_connection_string(CONNECTION.format(KEY, self.port), retry_total=0)
        self.container = service.get_container_client("lath")
        self.container.create_container()

    def environment(self):
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1",
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{self.port}",
        }

    def keys(self, prefix=""):
        return sorted(blob.name for blob in self.container.list_blobs(name_starts_with=prefix))

    def get(self, key):
        return self.container.download_blob(key).readall()

    def put(self, key, data):
        self.container.upload_blob(key, data, overwrite=True)

    def is_sending(self):
        return any(blob.size == 0 or blob.etag is None for blob in self.container.list_blobs(include=["uncommittedblobs"]) if blob.name not in self.keys())


class Google(Server):
    """The XML interface of Google, whose generations are compared."""

    name, url, variable = "google", "gs://lath", None
    token = json.dumps({"private_key": "none", "private_key_id": "none", "client_email": "none", "disable_oauth": True})

    def command(self, folder):
        return [sys.executable, str(pathlib.Path(__file__).resolve().parent / "google.py"), str(self.port)]

    def send(self, method, path, data=None):
        signature = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", data, {"Authorization": signature, "Content-Type": "application/octet-stream"}, method=method)
        for attempt in range(4):
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                # As clients do: moto counts its uploads while another thread changes them.
                if error.code < 500 or attempt == 3:
                    raise

    def create(self):
        self.send("GET", "lath?list-type=2")

    def environment(self):
        return {"GOOGLE_BASE_URL": f"http://127.0.0.1:{self.port}", "GOOGLE_SERVICE_ACCOUNT_KEY": self.token}

    def listed(self, query, name):
        text = self.send("GET", f"lath?{query}").decode()
        return [part.split(f"</{name}>")[0] for part in text.split(f"<{name}>")[1:]]

    def keys(self, prefix=""):
        return sorted(self.listed(f"list-type=2&prefix={urllib.parse.quote(prefix, '')}", "Key"))

    def get(self, key):
        return self.send("GET", f"lath/{urllib.parse.quote(key, '/')}")

    def put(self, key, data):
        self.send("PUT", f"lath/{urllib.parse.quote(key, '/')}", data)

    def is_sending(self):
        return bool(self.listed("uploads", "UploadId"))


class S3(Google):
    """moto, which compares ETags."""

    name, url, variable = "s3", "s3://lath", "LATH_MOTO_SERVER"

    def command(self, folder):
        return [os.environ[self.variable], "-H", "127.0.0.1", "-p", str(self.port)]

    def create(self):
        self.send("PUT", "lath")

    def environment(self):
        return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


class Suite:
    def __init__(self, lath, server, folder):
        self.lath, self.server, self.folder = lath, server, folder
        self.environment = {**os.environ, **server.environment(), "XDG_CACHE_HOME": str(folder / "cache")}

    def run(self, *arguments, code=0, part=""):
        done = subprocess.run([self.lath, *map(str, arguments)], env=self.environment, capture_output=True, text=True)
        assert done.returncode == code, f"{arguments}: {done.returncode}, expected {code}: {done.stderr}"
        assert part in done.stderr, f"{arguments}: expected {part!r}: {done.stderr}"
        return done.stdout

    def path(self, name):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def url(self, key):
        return f"{self.server.url}/{key}"

    def inputs(self):
        self.small, self.large = self.path("small.parquet"), self.path("large.parquet")
        for path, rows in [(self.small, 5_000), (self.large, 1_000_000)]:
            self.run("sql", f"COPY (SELECT value AS id, md5(value::varchar) AS text FROM generate_series(1, {rows}) ORDER BY value) TO '{path}'")

    def every_command(self):
        commands = {
            "convert.csv": ["convert", self.small, "-o"],
            "convert.jsonl": ["convert", self.small, "-o"],
            "convert.arrow": ["convert", self.small, "-o"],
            "find.parquet": ["find", self.small, "--where", "id < 100", "-o"],
            "rewrite.parquet": ["rewrite", self.small, "-o"],
            "merge.parquet": ["merge", self.small, self.small, "-o"],
            "odd/a b+c%25#d é.parquet": ["rewrite", self.small, "-o"],
        }
        commands["many.csv"] = ["convert", self.large, "-o"]
        commands["many.parquet"] = ["rewrite", self.large, "--codec", "uncompressed", "-o"]
        for key, command in commands.items():
            self.run(*command, self.path(key))
            self.run(*command, self.url(key))
            local = self.path(key).read_bytes()
            assert self.server.get(key) == local, key
            assert len(local) > 9 << 20 or not key.startswith("many"), key
            if key.endswith(".parquet"):
                assert self.run("count", self.url(key)) == self.run("count", self.path(key)), key
        assert set(commands) <= set(self.server.keys())
        assert self.run("count", self.url("odd")) == "5000\n"
        self.run("sql", f"COPY (SELECT id FROM '{self.small}' ORDER BY id DESC) TO '{self.url('copy.csv')}'")
        assert self.server.get("copy.csv").startswith(b"id\n5000\n4999\n")

    def replacing(self):
        copy = f"COPY (SELECT 1 AS one) TO '{self.url('kept.csv')}'"
        self.server.put("kept.csv", b"kept")
        self.run("sql", copy, code=4, part="already")
        assert self.server.get("kept.csv") == b"kept"
        self.run("sql", f"{copy} (overwrite true)")
        assert self.server.get("kept.csv") == b"one\n1\n"
        self.run("rewrite", self.small, "-o", self.url("kept.csv"), "-q", code=2, part="--force")
        damaged = self.path("damaged.parquet")
        content = bytearray(self.small.read_bytes())
        content[len(content) // 3] ^= 255
        damaged.write_bytes(content)
        done = subprocess.run([self.lath, "convert", str(damaged), "-o", self.url("kept.csv"), "--force"], env=self.environment, capture_output=True)
        assert done.returncode == 3, done
        assert self.server.get("kept.csv") == b"one\n1\n"
        # In place, by the version that was read.
        for name in ["small", "large"]:
            source = self.path(f"{name}.parquet")
            copy = self.path(f"in/{name}.parquet")
            copy.write_bytes(source.read_bytes())
            self.server.put(f"in/{name}.parquet", source.read_bytes())
            for place in [copy, self.url(f"in/{name}.parquet")]:
                self.run("rewrite", "--in-place", place, "--where", "id >= 1000", "--codec", "uncompressed")
            assert self.server.get(f"in/{name}.parquet") == copy.read_bytes(), name

    def several(self):
        self.run("split", self.small, "--rows", "700", "-o", f"{self.path('split')}/")
        self.run("split", self.small, "--rows", "700", "-o", self.url("split/"))
        expected = {path.name: path.read_bytes() for path in self.path("split").iterdir()}
        assert {key.rsplit("/")[-1]: self.server.get(key) for key in self.server.keys("split/")} == expected and len(expected) == 8
        self.run("gen", "tpch", "--sf", "0.001", "-o", self.url("tpch"))
        assert len(self.server.keys("tpch/")) == 8
        text = f"COPY (SELECT id, id % 7 AS seven, 'a b/' || (id % 2) AS two FROM '{self.small}') TO '{{}}' PARTITIONED BY (seven, two)"
        self.run("sql", text.format(self.path("copied")))
        self.run("sql", text.format(self.url("copied")))
        assert len(self.server.keys("copied/")) == 14
        rows = "SELECT seven, two, id FROM '{}' ORDER BY id"
        assert self.run("sql", rows.format(self.url("copied"))) == self.run("sql", rows.format(self.path("copied")))
        self.run("sql", text.format(self.url("copied")), code=2, part="has objects")
        create = f"CREATE EXTERNAL TABLE t (id BIGINT, day DATE) STORED AS PARQUET PARTITIONED BY (day) LOCATION '{self.url('table/')}'"
        insert = f"INSERT INTO t SELECT id, DATE '2026-01-01' + CAST(id % 3 AS INT) FROM '{self.small}'"
        answer = self.run("sql", "--format", "csv", f"{create}; {insert}; {insert}; SELECT count(*), count(DISTINCT day) FROM t")
        assert answer.endswith("10000,3\n"), answer
        assert len(self.server.keys("table/")) == 6

    def catalogs(self):
        remote, local = self.url("cat/lake.catalog"), self.path("lake.catalog")
        for catalog in [remote, local]:
            self.run("catalog", "add", self.url("split/"), "--catalog", catalog, "--key", "id")
        for rest in [["find", "--where", "id = 2500", "--catalog"], ["catalog", "list"], ["catalog", "stats"]]:
            assert self.run(*rest, remote) == self.run(*rest, local), rest
        race = self.url("cat/race.catalog")
        keys = self.server.keys("split/")
        self.run("catalog", "add", self.url(keys[0]), "--catalog", race)
        children = [(key, subprocess.Popen([self.lath, "catalog", "add", self.url(key), "--catalog", race], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)) for key in keys[1:]]
        expected = [self.url(keys[0])]
        for key, child in children:
            errors = child.communicate()[1]
            if child.returncode == 0:
                expected.append(self.url(key))
            else:
                assert child.returncode == 4 and "another program has changed" in errors, errors
        listed = sorted(line.split("\t")[-1] for line in self.run("catalog", "list", race).splitlines())
        assert listed == sorted(expected) and len(expected) > 1, (listed, expected)
        print(f"  catalogs: {len(expected) - 1} of {len(children)} writers at once won")

    def backups(self):
        table = self.path("shop")
        self.run("table", "create", table, self.small, "--key", "id")
        self.run("table", "delete", table, "--where", "id < 1500")
        url = self.url("backups/monday")
        self.run("table", "backup", table, url)
        self.run("table", "backup", table, url, code=2, part="has a backup already")
        assert "intact" in self.run("table", "check", url)
        self.run("table", "backup", url, self.path("restored"))
        assert self.run("table", "scan", self.path("restored")) == self.run("table", "scan", table)
        store = self.path("store.lath")
        self.run("kv", "put", store, "sky", "blue")
        self.run("kv", "backup", store, self.url("store.lath"))
        self.run("kv", "backup", store, self.url("store.lath"), code=2, part="exists")
        self.run("kv", "backup", self.url("store.lath"), self.path("store2.lath"))
        assert self.run("kv", "get", self.path("store2.lath"), "sky") == "blue\n"

    def interrupted(self):
        text = "COPY (SELECT value, md5(value::varchar) AS text FROM generate_series(1, 1000000000000)) TO '{}' (codec uncompressed)"
        for name in ["TERM", "KILL"]:
            child = subprocess.Popen([self.lath, "sql", text.format(self.url(f"endless-{name}.parquet"))], env=self.environment, stderr=subprocess.DEVNULL)
            while not self.server.is_sending():
                assert child.poll() is None
                time.sleep(0.1)
            child.send_signal(getattr(signal, f"SIG{name}"))
            assert child.wait() != 0
            assert f"endless-{name}.parquet" not in self.server.keys()
            print(f"  {name}: parts left: {self.server.is_sending()}")

    def killed(self):
        """Kills a writer at any time: the object is the old or the new one, and the command lists what is left."""
        if self.server.name != "s3":
            return
        rounds = int(os.environ.get("LATH_KILLS", "30"))
        versions = []
        for codec in ["uncompressed", "zstd"]:
            self.run("rewrite", self.large, "--codec", codec, "-o", self.path(f"{codec}.parquet"))
            versions.append(self.path(f"{codec}.parquet").read_bytes())
        url = self.url("killed.parquet")
        if self.server.is_sending():
            # The last step killed a process.
            self.run("uploads", self.server.url, "--abort", "--older-than", "0s")
        self.server.put("killed.parquet", versions[0])
        started = time.monotonic()
        self.run("rewrite", self.large, "--codec", "zstd", "--force", "-o", url)
        longest = (time.monotonic() - started) * 1.1
        choices = random.Random(rounds)
        outcomes = {"old": 0, "new": 0}
        for _ in range(rounds):
            self.server.put("killed.parquet", versions[0])
            child = subprocess.Popen([self.lath, "rewrite", str(self.large), "--codec", "zstd", "--force", "-q", "-o", url], env=self.environment)
            time.sleep(choices.uniform(0, longest))
            child.kill()
            child.wait()
            found = self.server.get("killed.parquet")
            assert found in versions, f"{len(found)} bytes are neither the old object nor the new one"
            outcomes["old" if found == versions[0] else "new"] += 1
            done = subprocess.run([self.lath, "uploads", self.server.url, "--json", "--abort", "--older-than", "0s"], env=self.environment, capture_output=True, text=True)
            listed = [json.loads(line) for line in done.stdout.splitlines()]
            assert all(entry["url"] == url and entry["aborted"] for entry in listed), done
            assert done.returncode == (0 if listed else 1), done
            assert not self.server.is_sending()
        print(f"  killed {rounds} times: {outcomes}")

    def errors(self):
        self.run("convert", self.small, "-o", f"{self.server.url}-none/x.csv", code=4)
        self.run("count", self.url("none.parquet"), code=4, part="no such object")
        if self.server.name != "s3":
            self.run("uploads", self.server.url, code=2, part="S3")


def main():
    lath, *names = sys.argv[1:]
    servers = {server.name: server for server in [Azure, Google, S3]}
    failed = False
    for name in names or servers:
        kind = servers[name]
        if kind.variable and not os.environ.get(kind.variable):
            print(f"SKIPPED: {name}: {kind.variable} names no server")
            continue
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            server = kind(folder)
            try:
                suite = Suite(os.path.abspath(lath), server, pathlib.Path(folder) / "suite")
                suite.inputs()
                for step in [suite.every_command, suite.replacing, suite.several, suite.catalogs, suite.backups, suite.interrupted, suite.killed, suite.errors]:
                    try:
                        step()
                        print(f"{name}: {step.__name__}: passed")
                    except (AssertionError, urllib.error.URLError) as error:
                        failed = True
                        print(f"{name}: {step.__name__}: FAILED: {error!r}"[:2000])
            finally:
                server.close()
            print(f"{name}: {time.monotonic() - started:.0f} s")
    sys.exit(failed)


main()
