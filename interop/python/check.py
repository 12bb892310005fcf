"""Reads pairs of files with other people's readers, and says whether each pair holds the same table.

    check.py FOLDER

FOLDER has CASE.lath.parquet and CASE.reference.parquet, the same table as written by Lath and by the `parquet` crate.
A reader that cannot read the reference, or says that something is not implemented, does not know the types or encodings in
it; one that reads it and not Lath's file, or reads another table from it, has found a fault. Prints one line a reader and fault; exits with 1 if there are faults.
"""

import pathlib
import re
import sys

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq


def same_arrow(found, expected):
    # NaN is not equal to itself, but is printed the same.
    schema = pa.schema([without_views(field) for field in expected.schema], expected.schema.metadata)
    return found.schema.equals(schema) and (found.equals(expected) or printed(found) == printed(expected))


def without_views(field):
    """The field as Lath stores it: pyarrow tests no condition on views."""
    kind = field.type
    lists = {pa.types.is_list: pa.list_, pa.types.is_large_list: pa.large_list, pa.types.is_list_view: pa.list_view, pa.types.is_large_list_view: pa.large_list_view}
    make = next((make for test, make in lists.items() if test(kind)), None)
    if pa.types.is_string_view(kind):
        kind = pa.string()
    elif pa.types.is_binary_view(kind):
        kind = pa.binary()
    elif pa.types.is_dictionary(kind):
        kind = pa.dictionary(kind.index_type, without_views(pa.field("", kind.value_type)).type, kind.ordered)
    elif pa.types.is_struct(kind):
        kind = pa.struct([without_views(kind.field(at)) for at in range(kind.num_fields)])
    elif pa.types.is_map(kind):
        kind = pa.map_(without_views(kind.key_field), without_views(kind.item_field), kind.keys_sorted)
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(without_views(kind.value_field), kind.list_size)
    elif make is not None:
        kind = make(without_views(kind.value_field))
    return field.with_type(kind)


def printed(table):
    return [printed_column(column) for column in table.columns]


def printed_column(column):
    try:
        return repr(column.to_pylist())
    except (OverflowError, ValueError):  # dates that Python does not have; this prints what lies below nulls, too
        return column.combine_chunks().to_string(window=10**9, container_window=10**9)


def read_duckdb(path):
    with duckdb.connect() as connection:
        result = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        return [column[:2] for column in result.description], result.fetchall()


READERS = {
    "pyarrow": (pa.__version__, pq.read_table, same_arrow),
    "duckdb": (duckdb.__version__, read_duckdb, lambda a, b: repr(a) == repr(b)),
    "polars": (polars.__version__, polars.read_parquet, lambda a, b: a.schema == b.schema and a.equals(b, null_equal=True)),
}


def is_lacking(what):
    """Whether a reader's message is that it does not know a type or an encoding."""
    return re.search("not (yet )?(implemented|supported)|is only supported for", what, re.IGNORECASE)


def compare(same, found, expected):
    """Whether two tables are the same; None if the reader cannot even compare one of them with itself."""
    try:
        return same(found, expected)
    except BaseException as error:  # polars panics at structs of some decimals
        if isinstance(error, KeyboardInterrupt):
            raise
    try:
        same(expected, expected)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None
    return False


def main(folder):
    references = sorted(folder.glob("*.reference.parquet"))
    if not references:
        sys.exit(f"check.py: no cases in {folder}")
    faults = 0
    for name, (version, read, same) in READERS.items():
        equal, unknown = 0, []
        for reference in references:
            case = reference.name.removesuffix(".reference.parquet")
            try:
                expected = read(reference)
            except BaseException as error:  # polars panics with a BaseException
                if isinstance(error, KeyboardInterrupt):
                    raise
                unknown.append(case)
                continue
            try:
                found = read(folder / f"{case}.lath.parquet")
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                what = str(error).splitlines()[0]
                if is_lacking(what):
                    unknown.append(case)
                else:
                    print(f"{name}: {case}: cannot read Lath's file: {what}")
                    faults += 1
                continue
            is_same = compare(same, found, expected)
            if is_same is None:
                unknown.append(case)
            elif is_same:
                equal += 1
            else:
                print(f"{name}: {case}: reads another table from Lath's file")
                faults += 1
        note = f"; does not know what is in {', '.join(unknown)}" if unknown else ""
        print(f"{name} {version}: {equal} of {len(references)} equal{note}")
        if equal == 0:
            print(f"{name}: read nothing at all")
            faults += 1
    return faults


if __name__ == "__main__":
    sys.exit(1 if main(pathlib.Path(sys.argv[1])) else 0)
