"""Reads tables of a REST catalog of Iceberg that vends credentials for its bucket, and says whether the command finds the rows that pyiceberg finds.

    vended.py LATH

LATH is the command. The bucket is in moto's S3, which checks signatures and policies; the credentials are of a role that may read one prefix, and are
made by moto's STS. The catalog is a small server over pyiceberg's catalog in SQLite. The environment of the command has no credentials. Prints one
line a fault and one at the end; exits with 1 if there are faults.
"""

import http.server
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

import boto3
import pyarrow as pa
from moto.server import ThreadedMotoServer
from pyiceberg.catalog.sql import SqlCatalog

REGION = "eu-north-1"
ROLE_POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::lake/own/*"},
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::lake"},
    ],
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The answers for tables, apart from what is vended.
    tables = {}
    # The fields that answers for tables get for clients that ask for credentials.
    vended = {}
    defaults = {}
    # Whether requests for credentials are denied.
    denies = False

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        parts = [urllib.parse.unquote(part) for part in self.path.removeprefix("/v1/").split("/")]
        match parts:
            case ["config"]:
                self.answer(200, {"defaults": self.defaults, "overrides": {}})
            case ["namespaces", namespace, "tables", table]:
                delegates = self.headers.get("x-iceberg-access-delegation") == "vended-credentials"
                if delegates and self.denies:
                    return self.answer(403, {"error": {"message": "no credentials for you", "type": "Forbidden", "code": 403}})
                self.answer(200, self.tables[namespace, table] | (self.vended if delegates else {}))
            case _:
                self.answer(404, {"error": {"message": f"no {self.path}", "type": "NotFound", "code": 404}})


def main(lath):
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    endpoint = "http://{}:{}".format(*moto.get_host_and_port())
    root = {"aws_access_key_id": "root", "aws_secret_access_key": "root", "endpoint_url": endpoint, "region_name": REGION}
    s3 = boto3.client("s3", **root)
    s3.create_bucket(Bucket="lake", CreateBucketConfiguration={"LocationConstraint": REGION})
    iam = boto3.client("iam", **root)
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    iam.put_role_policy(RoleName="reader", PolicyName="read", PolicyDocument=json.dumps(ROLE_POLICY))
    made = boto3.client("sts", **root).assume_role(RoleArn=role, RoleSessionName="catalog")["Credentials"]
    key, secret, token = made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"]
    faults, questions = [], 0
    with tempfile.TemporaryDirectory() as home:
        catalog = SqlCatalog(
            "c", uri=f"sqlite:///{home}/c.db",
            **{"s3.endpoint": endpoint, "s3.access-key-id": "root", "s3.secret-access-key": "root", "s3.region": REGION},
        )
        catalog.create_namespace("n")
        rows = pa.table({"id": pa.array(range(1000), pa.int64()), "name": [f"n{at % 7}" for at in range(1000)]})
        for name in ["own", "other"]:
            table = catalog.create_table(("n", name), rows.schema, location=f"s3://lake/{name}/t")
            table.append(rows)
            table.append(rows.slice(0, 10))
            table.delete("id = 5")
            table = catalog.load_table(("n", name))
            metadata = json.loads(table.metadata.model_dump_json())
            Handler.tables["n", name] = {"metadata-location": table.metadata_location, "metadata": metadata}
        expected = catalog.load_table(("n", "own")).scan().to_arrow().num_rows
        # From now on moto checks who asks.
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=b"0", method="POST", headers={"Content-Type": "text/plain"}))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"rest://127.0.0.1:{server.server_port}/n"
        bare = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LATH_"))}
        bare |= {"HOME": home, "AWS_EC2_METADATA_DISABLED": "true"}

        def ask(*arguments, environment=None):
            nonlocal questions
            questions += 1
            done = subprocess.run([lath, *arguments], env=bare | (environment or {}), capture_output=True, text=True, timeout=120)
            for hidden in (secret, token, key, "wrong-secret"):
                if hidden in done.stdout + done.stderr:
                    faults.append(f"{arguments}: the output has a credential")
            return done

        def check(what, done, wanted):
            if done.returncode != 0 or done.stdout.strip() != wanted:
                faults.append(f"{what}: {done.returncode}, {done.stdout.strip()!r} instead of {wanted!r}: {done.stderr.strip()}")

        def check_denied(what, done):
            if done.returncode == 0 or not done.stderr.strip():
                faults.append(f"{what}: {done.returncode}, {done.stdout.strip()!r}")

        keys = {"s3.access-key-id": key, "s3.secret-access-key": secret, "s3.session-token": token}
        place = {"s3.endpoint": endpoint, "s3.region": REGION, "s3.path-style-access": "true"}
        wrong = keys | {"s3.secret-access-key": "wrong-secret"}
        # Each way to say it.
        for what, defaults, vended in [
            ("config", {}, {"config": keys | place}),
            ("settings of the catalog", place, {"config": keys}),
            ("storage-credentials", {}, {"config": place, "storage-credentials": [{"prefix": "s3://lake/own/", "config": keys}]}),
            ("the longest prefix", {}, {"config": wrong | place, "storage-credentials": [
                {"prefix": "s3", "config": wrong}, {"prefix": "s3://lake/own", "config": keys}, {"prefix": "s3://lake/", "config": wrong},
            ]}),
        ]:
            Handler.defaults, Handler.vended = defaults, vended
            check(what, ask("count", f"{address}/own"), str(expected))
            found = ask("find", f"{address}/own", "--where", "id = 7", "--columns", "id")
            check(what, found, '{"id":7}\n{"id":7}')
            check(what, ask("count", f"{address}/own", environment={"AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "mine", "AWS_SESSION_TOKEN": "mine"}), str(expected))
            statement = f"ATTACH '{address.removesuffix('/n')}' AS lake; SELECT count(*) AS c FROM lake.n.own a JOIN lake.n.own b USING (id) WHERE id = 7"
            check(f"{what}, SQL", ask("sql", statement), '{"c":4}')
        Handler.defaults, Handler.vended = {}, {"config": keys | place}
        check_denied("an object that the role may not read", ask("count", f"{address}/other", "--where", "id = 7"))
        Handler.vended = {"config": wrong | place}
        check_denied("a wrong secret", ask("count", f"{address}/own", "--where", "id = 7"))
        Handler.vended = {"config": place}
        check_denied("no credentials", ask("count", f"{address}/own", "--where", "id = 7"))
        # An identity that gets no credentials has its own.
        Handler.denies = True
        own = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token, "AWS_ENDPOINT_URL": endpoint, "AWS_REGION": REGION}
        check("own credentials", ask("count", f"{address}/own", environment=own), str(expected))
        server.shutdown()
    moto.stop()
    for fault in faults:
        print(fault)
    print(f"{questions} questions to a catalog that vends credentials, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve())))
