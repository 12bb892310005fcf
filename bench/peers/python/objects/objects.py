"""Measures how objects are written: the `lath` command to a file and to moto's S3, and boto3, which uploads the finished file; prints a record in
Markdown.

    objects.py LATH FOLDER [--quick]

LATH is the command, and FOLDER is where lineitem of TPC-H is, or is made: at scale 10, or 1 with --quick. The server runs on the same machine and takes
its share of the processor; the uploads by boto3 are its limit. Every measurement is a process, and they take turns. Memory is the peak of the
process. Each object is compared with the file of the same command.
"""

import hashlib
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from machine import free_port, machine, wait_for

ROUNDS = 3
MIB = 1 << 20


def upload(path, url, key, streams):
    """Uploads a file, as a process of its own."""
    import boto3
    from boto3.s3.transfer import TransferConfig

    config = TransferConfig(multipart_chunksize=8 * MIB, max_concurrency=streams, use_threads=streams > 1)
    client = boto3.client("s3", endpoint_url=url, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    started = time.perf_counter()
    client.upload_file(path, "lath", key, Config=config)
    print(time.perf_counter() - started)


def measured(command, environment):
    """Seconds and the peak of memory of a process, and what it prints."""
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if process.returncode != 0:
        sys.exit(f"{command} failed: {process.returncode}")
    return seconds, usage.ru_maxrss / 1024, text


def digest(chunks):
    hasher = hashlib.sha256()
    for chunk in chunks:
        hasher.update(chunk)
    return hasher.hexdigest()


def file_digest(path):
    with open(path, "rb") as file:
        return digest(iter(lambda: file.read(8 * MIB), b""))


def main(lath, folder, is_quick):
    import boto3

    scale = 1 if is_quick else 10
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    lineitem = f"{folder}/lineitem-{scale}.parquet"
    if not os.path.exists(lineitem):
        subprocess.run([lath, "gen", "tpch", "--sf", str(scale), "--table", "lineitem", "-o", lineitem, "--quiet"], check=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    # Large objects are in files, and not in the server's memory.
    environment = {**os.environ, "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
    moto = os.path.join(os.path.dirname(sys.executable), "moto_server")
    server = subprocess.Popen([moto, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder})
    try:
        wait_for(port)
        client = boto3.client("s3", endpoint_url=url, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
        client.create_bucket(Bucket="lath")
        print(f"# Writing objects\n\n{machine()}. lineitem at scale {scale}; medians of {ROUNDS} rounds. The server (moto) runs on the same machine.\n")
        print("| work | to a file | to an object | local / object | boto3, one stream | boto3, four | memory, file | memory, object |\n| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
        works = {
            "generate, as Parquet": ["gen", "tpch", "--sf", str(scale), "--table", "lineitem", "--quiet", "-o"],
            "rewrite": ["rewrite", lineitem, "--quiet", "-o"],
            "rewrite, uncompressed": ["rewrite", lineitem, "--codec", "uncompressed", "--quiet", "-o"],
            "to CSV": ["convert", lineitem, "--quiet", "-o"],
        }
        for name, command in works.items():
            figures = {"file": [], "object": [], "one": [], "four": []}
            memory = {"file": 0, "object": 0}
            key = "work.csv" if "CSV" in name else "work.parquet"
            local = f"{folder}/{key}"
            for _ in range(ROUNDS):
                for place, target in [("file", local), ("object", f"s3://lath/{key}")]:
                    seconds, peak, _ = measured([lath, *command, target, "--force"], environment)
                    figures[place].append(seconds)
                    memory[place] = max(memory[place], peak)
                answer = client.get_object(Bucket="lath", Key=key)["Body"]
                if digest(answer.iter_chunks(8 * MIB)) != file_digest(local):
                    sys.exit(f"{name}: the object differs from the file")
                client.delete_object(Bucket="lath", Key=key)
                for streams, place in [(1, "one"), (4, "four")]:
                    _, _, text = measured([sys.executable, __file__, "--upload", local, url, "upload", str(streams)], environment)
                    figures[place].append(float(text))
                    client.delete_object(Bucket="lath", Key="upload")
            size = os.path.getsize(local)
            os.remove(local)
            median = {place: statistics.median(seconds) for place, seconds in figures.items()}
            cells = [f"{median[place]:.2f} s" for place in ["file", "object"]]
            rates = [f"{median[place]:.2f} s, {size / MIB / median[place]:.0f} MiB/s" for place in ["one", "four"]]
            print(f"| {name}, {size / MIB:.0f} MiB | {cells[0]} | {cells[1]} | {median['file'] / median['object']:.2f} | {rates[0]} | {rates[1]} | {memory['file']:.0f} MiB | {memory['object']:.0f} MiB |", flush=True)
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--upload":
        upload(*sys.argv[2:5], int(sys.argv[5]))
    else:
        main(sys.argv[1], sys.argv[2], "--quick" in sys.argv[3:])
