"""Reads tables of a REST catalog of Iceberg by the command, and says whether it finds the rows that pyiceberg finds.

    rest_client.py LATH

LATH is the command. The catalog is a small server over pyiceberg's catalog in SQLite: its namespaces have several levels, it sends lists in pages
of one, has a prefix, and asks for a token that it makes for an identity, or for a request that is signed for AWS. pyiceberg changes the tables.
Prints one line a fault and one at the end; exits with 1 if there are faults.
"""

import datetime
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

KEY, SECRET, SESSION = "AKIDEXAMPLE", "wJalr/XUtnFEMI+bPxRfiCY", "a/session+token="
IDENTITY, TOKEN = ("an id", "a secret:&="), "made-for-an-id"
NAMESPACES = {("plain",): "t", ("top", "a.b c", "é%2F"): "odd name/+ü"}


def signature(method, path, query, headers, signed, scope, moment):
    """Signature version 4, by its specification."""
    names = signed.split(";")
    canonical = "\n".join([
        method, urllib.parse.quote(path, safe="/-_.~"), query,
        *(f"{name}:{' '.join(headers[name].split())}" for name in names), "", signed, headers["x-amz-content-sha256"],
    ])
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    access = "open"
    catalog = None
    # The status of answers to an expired token, and the number of requests that a token is good for.
    expired, lifetime = 401, None
    # Tokens that were made, with the number of requests that they were used for.
    uses = {}
    # Connections of several threads would need several databases.
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def error(self, status, kind, message):
        self.answer(status, {"error": {"type": kind, "message": message, "code": status}})

    def is_allowed(self, path, query):
        header = self.headers.get("authorization", "")
        if self.access == "open":
            return True
        if self.access == "token":
            token = header.removeprefix("Bearer ")
            if not header.startswith("Bearer ") or token not in self.uses:
                return False
            self.uses[token] += 1
            return self.lifetime is None or self.uses[token] <= self.lifetime
        fields = dict(field.split("=", 1) for field in header.removeprefix("AWS4-HMAC-SHA256 ").split(", ") if "=" in field)
        key, _, scope = fields.get("Credential", "").partition("/")
        moment = self.headers.get("x-amz-date", "")
        signed = fields.get("SignedHeaders", "")
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return (
            key == KEY
            and scope == f"{date}/eu-north-1/glue/aws4_request"
            and headers.get("x-amz-security-token") == SESSION
            and {"host", "x-amz-date", "x-amz-security-token"} <= set(signed.split(";"))
            and hmac.compare_digest(fields.get("Signature", ""), signature("GET", path, query, headers, signed, scope, moment))
        )

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode(), strict_parsing=True)
        wanted = {"grant_type": ["client_credentials"], "client_id": [IDENTITY[0]], "client_secret": [IDENTITY[1]], "scope": ["catalog"]}
        if self.path == "/base/v1/oauth/tokens" and form == wanted:
            token = f"{TOKEN}-{len(self.uses)}"
            self.uses[token] = 0
            self.answer(200, {"access_token": token, "token_type": "bearer", "expires_in": 3600})
        else:
            secret = form.get("client_secret", [""])[0]
            self.answer(401, {"error": "invalid_client", "error_description": f"there is no such identity with {secret}"})

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if not self.is_allowed(path, query):
            return self.error(self.expired, "NotAuthorizedException", f"not authorized by {self.headers.get('authorization')}")
        parameters = {name: values[0] for name, values in urllib.parse.parse_qs(query).items()}
        parts = [urllib.parse.unquote(part) for part in path.removeprefix("/base/v1/").split("/")]
        levels = lambda text: tuple(text.split("\x1f"))
        try:
            with self.lock:
                match parts:
                    case ["config"]:
                        if parameters.get("warehouse") != "w":
                            return self.error(400, "BadRequestException", "which warehouse?")
                        self.answer(200, {"defaults": {"prefix": "p"}, "overrides": {}})
                    case ["p", "namespaces"]:
                        parent = levels(parameters["parent"]) if "parent" in parameters else ()
                        self.page("namespaces", self.catalog.list_namespaces(parent), parameters)
                    case ["p", "namespaces", namespace, "tables"]:
                        tables = self.catalog.list_tables(levels(namespace))
                        self.page("identifiers", [{"namespace": name[:-1], "name": name[-1]} for name in tables], parameters)
                    case ["p", "namespaces", namespace, "tables", table]:
                        loaded = self.catalog.load_table((*levels(namespace), table))
                        self.answer(200, {
                            "metadata-location": loaded.metadata_location,
                            "metadata": json.loads(loaded.metadata.model_dump_json()),
                            "config": {},
                        })
                    case _:
                        self.error(404, "NotFoundException", f"no {self.path}")
        except NoSuchNamespaceError as error:
            self.error(404, "NoSuchNamespaceException", str(error))
        except NoSuchTableError as error:
            self.error(404, "NoSuchTableException", str(error))

    def page(self, name, items, parameters):
        at = int(parameters.get("pageToken", 0))
        self.answer(200, {name: items[at : at + 1], "next-page-token": str(at + 1) if at + 1 < len(items) else None})


def encoded(namespace):
    return ".".join(urllib.parse.quote(level, safe="").replace(".", "%2E") for level in namespace)


def main(lath):
    faults = reads = 0

    def run(*command, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LATH_REST_"))}
        done = subprocess.run([lath, *command], capture_output=True, text=True, env=clean | environment)
        return done.returncode, done.stdout, done.stderr

    def expect(what, is_right, found):
        nonlocal faults, reads
        reads += 1
        if not is_right:
            faults += 1
            print(f"{what}: {found}")

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/lake")
        rows = pa.table({"id": pa.array(range(100), pa.int64()), "text": [f"é{n}" for n in range(100)]})
        for number, (namespace, name) in enumerate(NAMESPACES.items()):
            # pyiceberg's catalog in SQLite joins levels by dots.
            flat = f"n{number}"
            catalog.create_namespace(flat)
            table = catalog.create_table((flat, "t"), rows.schema, location=f"file://{folder}/lake/{flat}")
            for start in (0, 40):
                table.append(rows.slice(start, 60))
        flats = {namespace: f"n{number}" for number, namespace in enumerate(NAMESPACES)}

        class Names:
            """The tables of the catalog under the names that clients ask for."""

            def list_namespaces(self, parent):
                below = {name[: len(parent) + 1] for name in NAMESPACES if name[: len(parent)] == parent and len(name) > len(parent)}
                return sorted(below)

            def list_tables(self, namespace):
                if namespace not in NAMESPACES:
                    return []
                return [(*namespace, NAMESPACES[namespace])]

            def load_table(self, name):
                if NAMESPACES.get(name[:-1]) != name[-1]:
                    raise NoSuchTableError(f"no table {name}")
                return catalog.load_table((flats[name[:-1]], "t"))

        Handler.catalog = Names()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}/base"
        uri = {"LATH_REST_URI": f"http://{place}"}
        access = {
            "open": {},
            "token": {**uri, "LATH_REST_CREDENTIAL": ":".join(IDENTITY)},
            "signed": {**uri, "LATH_REST_SIGV4": "glue/eu-north-1", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": SESSION},
        }
        for kind, environment in access.items():
            Handler.access = kind
            for namespace, name in NAMESPACES.items():
                location = f"rest://{place}/{encoded(namespace)}/{urllib.parse.quote(name, safe='')}?warehouse=w"
                found = run("count", location, "--where", "id >= 30", **environment)
                expect(f"{kind}: count of {namespace}", found[:2] == (0, "90\n"), found)
                first = catalog.load_table((flats[namespace], "t")).snapshots()[0].snapshot_id
                found = run("count", location, "--at", str(first), **environment)
                expect(f"{kind}: the first snapshot of {namespace}", found[:2] == (0, "60\n"), found)
            attach = f"ATTACH 'rest://{place}?warehouse=w' AS lake; "
            found = run("sql", attach + "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'lake' "
                        "AND table_schema <> 'information_schema' ORDER BY table_name", "--format", "json", **environment)
            names = found[0] == 0 and {(row["table_schema"], row["table_name"]) for row in json.loads(found[1])}
            wanted = {("plain", "t"), ("top.a%2Eb c.é%252F", "odd name/+ü")}
            expect(f"{kind}: names", names == wanted, found)
            found = run("sql", attach + "SHOW TABLES FROM lake", "--format", "json", **environment)
            names = found[0] == 0 and {(row["table_schema"], row["table_name"]) for row in json.loads(found[1])}
            expect(f"{kind}: shown names", names == wanted, found)
            found = run("sql", attach + "SHOW TABLES FROM lake.plain; SELECT sum(id) AS s FROM lake.plain.t", "--format", "csv", **environment)
            expect(f"{kind}: a namespace", found[0] == 0 and found[1].endswith("s\n5940\n"), found)
            found = run("sql", attach + 'SELECT count(*) AS n FROM lake.top."a%2Eb c"."é%252F"."odd name/+ü"', "--format", "csv", **environment)
            expect(f"{kind}: levels", found[:2] == (0, "n\n120\n"), found)
            found = run("sql", attach + 'SELECT count(DISTINCT text) AS n FROM lake."top.a%2Eb c.é%252F"."odd name/+ü"', "--format", "csv", **environment)
            expect(f"{kind}: an attached table", found[:2] == (0, "n\n100\n"), found)
        location = f"rest://{place}/plain/t?warehouse=w"
        # A token is good for three requests, of the eight that these statements take.
        Handler.access, Handler.lifetime = "token", 3
        for Handler.expired in (401, 419):
            made = len(Handler.uses)
            text = attach + "SHOW TABLES FROM lake; SELECT count(*) AS n FROM lake.plain.t; SELECT count(*) AS n FROM lake.plain.t"
            found = run("sql", text, "--format", "csv", **access["token"])
            expect(f"a token that expires ({Handler.expired})", found[0] == 0 and found[1].endswith("n\n120\nn\n120\n"), found)
            expect("tokens", len(Handler.uses) > made + 1, Handler.uses)
        Handler.expired, Handler.lifetime = 401, None
        wrong = {
            "another secret": ("token", {**uri, "LATH_REST_CREDENTIAL": "an id:0th3r"}, "there is no such identity"),
            "no token": ("token", {}, "LATH_REST_URI"),
            "another key": ("signed", {**access["signed"], "AWS_SECRET_ACCESS_KEY": "0th3r"}, "answers 401"),
        }
        for what, (kind, environment, message) in wrong.items():
            Handler.access = kind
            found = run("count", location, **environment)
            secrets = ("0th3r", IDENTITY[1], SECRET, SESSION)
            expect(what, found[0] == 4 and message in found[2] and not any(secret in found[2] for secret in secrets), found)
        Handler.access = "open"
        for what, location, message in (
            ("no such table", f"rest://{place}/plain/u?warehouse=w", "no table"),
            ("no warehouse", f"rest://{place}/plain/t", "which warehouse?"),
        ):
            found = run("count", location)
            expect(what, found[0] == 2 and message in found[2], found)
        server.shutdown()
    print(f"pyiceberg's catalog: {reads} questions, {faults} faults")
    return faults


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
