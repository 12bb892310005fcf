"""Changes tables of Delta Lake and Iceberg by random steps, and says where a search by a catalog of the table finds other rows than the writer.

    catalogs.py LATH [CASES [FIRST]]

LATH is the command. Each case is a table of each format, with its seed as its number, from FIRST on (0). The steps are the ones of delta.py and
iceberg.py; between them the catalog is made, refreshed and checked, and a table of Delta Lake moves with its catalog, or another one takes its
place. Searches are of the newest version, whether the catalog has read it or not, and of earlier ones. Prints one line a fault; exits with 1
if there are faults.
"""

import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa

import delta
import iceberg

STEPS = 10


class Searches:
    """Searches by the catalog of a table, and their faults."""

    def __init__(self, lath, duck, folder, seed, label):
        self.lath, self.duck, self.label = lath, duck, label
        self.random = random.Random(seed + 1)
        # In the folder of the table, where searches find it on their own, or elsewhere.
        self.table, self.file = folder, folder / "_lath_catalog"
        if label != "delta" or self.random.random() < 0.5:
            self.file = folder.parent / "table.catalog"
        self.is_made = False
        self.steps = []

    @property
    def is_within(self):
        return self.file.parent == self.table

    def run(self, *arguments):
        return subprocess.run([self.lath, *map(str, arguments)], capture_output=True, text=True)

    def fault(self, what):
        return f"{self.label}: {what}; steps: {', '.join(map(str, self.steps))}"

    def change(self, keys):
        """Makes the catalog, or refreshes and checks it."""
        if not self.is_made:
            if self.random.random() < 0.5:
                options = [option for key in keys for option in ("--key", key)]
                done = self.run("catalog", "add", self.table, *options, "--catalog", self.file)
                self.is_made = True
                self.steps.append("catalog")
                if done.returncode:
                    yield self.fault(f"add: {done.stderr.strip()}")
        elif self.random.random() < 0.35:
            self.steps.append("refresh")
            for command in ("refresh", "check"):
                done = self.run("catalog", command, self.file)
                if done.returncode:
                    yield self.fault(f"{command}: {done.stdout.strip()} {done.stderr.strip()}")

    def search(self, rows, at=None):
        """Compares searches with the rows of a version."""
        if not self.is_made or any(map(iceberg.has_empty_struct, rows.schema.types)):
            return
        self.duck.register("given", rows)
        self.duck.execute("CREATE OR REPLACE TEMP TABLE expected AS SELECT * FROM given").fetchall()
        names = [field.name for field in rows.schema if not pa.types.is_nested(field.type) and not pa.types.is_binary(field.type)]
        where = [self.table] if self.is_within else ["--catalog", self.file]
        version = [] if at is None else ["--at", at]
        for _ in range(3):
            condition = self.condition(self.random.choice(names), rows)
            [(expected,)] = self.duck.execute(f"SELECT count(*) FROM expected WHERE {condition}").fetchall()
            done = self.run("count", *where, *version, "--where", condition)
            if done.stdout.strip() != str(expected):
                yield self.fault(f"count, version {at}, {condition}: {done.stdout.strip()} {done.stderr.strip()}, expected {expected}")
            done = self.run("find", *where, *version, "--where", condition, "--format", "jsonl")
            if len(done.stdout.splitlines()) != expected:
                yield self.fault(f"find, version {at}, {condition}: {len(done.stdout.splitlines())} rows {done.stderr.strip()}, expected {expected}")
            if at is None:
                table = f"'{self.table}'" if self.is_within else f"read_catalog('{self.file}')"
                done = self.run("sql", f"SELECT count(*) FROM {table} WHERE {condition}", "--format", "csv")
                if done.stdout.splitlines()[-1:] != [str(expected)]:
                    yield self.fault(f"sql, {condition}: {done.stdout.strip()} {done.stderr.strip()}, expected {expected}")

    def condition(self, name, rows):
        quoted = '"' + name.replace('"', '""') + '"'
        values = [value for value in rows[name].to_pylist() if value is not None and value == value]
        literals = [text for value in values if (text := delta.literal(value))]
        if not literals or self.random.random() < 0.15:
            return f"{quoted} IS NULL"
        literal, draw = self.random.choice(literals), self.random.random()
        if draw < 0.1:
            return "TRUE"
        if draw < 0.2:
            return f"NOT ({quoted} < {literal})"
        return f"{quoted} {self.random.choice(['=', '=', '=', '<', '>=', '<>'])} {literal}"


def delta_faults(lath, duck, folder, seed):
    case = delta.Case(lath, folder, seed)
    case.write(mode="error")
    searches = Searches(lath, duck, case.folder, seed, "delta")
    draw = searches.random
    keys = draw.choice([["id"], ["s"], ["id", "s"], ["id,s"], []])
    for step in range(STEPS):
        try:
            case.step()
            searches.steps.append(case.table().version())
        except Exception as error:
            if not is_refusal(error):
                raise
            searches.steps.append("refused")
        draw_step = draw.random()
        if draw_step < 0.05 and searches.is_within:
            moved = case.folder.with_name(f"moved{step}")
            shutil.move(case.folder, moved)
            case.folder = searches.table = moved
            searches.file = moved / "_lath_catalog"
            searches.steps.append("moved")
        elif 0.05 <= draw_step < 0.1:
            for path in list(case.folder.iterdir()):
                if not path.name.startswith("_lath_catalog"):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            place = case.folder
            case = delta.Case(lath, folder, seed)
            case.random, case.folder = random.Random(seed * 7 + step), place
            case.write(mode="error")
            searches.steps.append("another table")
        yield from searches.change(keys)
        latest = case.table().version()
        for version in {latest, draw.randrange(latest + 1)}:
            try:
                _, rows = case.expected(version)
            except Exception as error:
                # The version cannot be read any more.
                if not is_refusal(error):
                    raise
                continue
            if rows is not None:
                rows = pa.Table.from_pylist(list(map(case.as_read, rows.to_pylist())), schema=rows.schema)
                yield from searches.search(rows, None if version == latest else version)


def is_refusal(error):
    return type(error).__name__ in ("DeltaError", "DeltaProtocolError", "TableNotFoundError") or isinstance(error, (ValueError, OSError))


def iceberg_faults(lath, duck, folder, seed):
    case = iceberg.Case(folder, seed)
    location = pathlib.Path(case.table.metadata_location.removeprefix("file://")).parent.parent
    searches = Searches(lath, duck, location, seed, "iceberg")
    searches.file = folder / "table.catalog"
    searches.steps = case.steps
    draw = searches.random
    key = draw.choice(["id", "name", "day", None])
    for _ in range(STEPS):
        case.step()
        table = case.table
        if not table.snapshots():
            continue
        yield from searches.change([key] if key in table.schema().column_names else [])
        scans = [(None, table.scan())]
        if draw.random() < 0.4:
            snapshot = draw.choice(table.snapshots()).snapshot_id
            scans.append((snapshot, table.scan(snapshot_id=snapshot)))
        for at, scan in scans:
            try:
                rows = scan.to_arrow()
            except Exception as error:
                # Some of pyiceberg's faults.
                case.steps.append(f"pyiceberg failed ({type(error).__name__})")
                continue
            yield from searches.search(rows, at)


def main():
    lath, cases, first = sys.argv[1], int((sys.argv + ["20"])[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    duck = duckdb.connect()
    duck.execute("SET TimeZone = 'UTC'")
    faults = 0
    for seed in range(first, first + cases):
        for check in (delta_faults, iceberg_faults):
            with tempfile.TemporaryDirectory() as folder:
                for fault in check(lath, duck, pathlib.Path(folder), seed):
                    faults += 1
                    print(f"case {seed}: {fault}", flush=True)
    print(f"catalogs: {cases} tables of each format, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
