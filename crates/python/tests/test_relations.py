"""Results of SQL as relations, and tables by the names of variables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lath

GLOBAL = pa.table({"id": [1, 2, 3]})


def test_rows_are_fetched_as_tuples(capsys: pytest.CaptureFixture[str]) -> None:
    result = lath.sql("SELECT id, 'row ' || id AS name, id AS name FROM (VALUES (1), (2), (3), (4), (5)) t(id) ORDER BY id")
    assert result.columns == ["id", "name", "name"]
    result.show()
    assert "row 1" in capsys.readouterr().out
    assert result.fetchone() == (1, "row 1", 1)
    assert result.fetchmany(2) == [(2, "row 2", 2), (3, "row 3", 3)]
    assert result.fetchall() == [(4, "row 4", 4), (5, "row 5", 5)]
    assert (result.fetchall(), result.fetchone(), result.fetchmany(3)) == ([], None, [])
    assert lath.sql("SELECT 1 WHERE false").fetchone() is None


def test_the_rest_of_a_result_can_be_read_in_other_ways() -> None:
    query = "SELECT value AS id FROM range(10_000)"
    result = lath.sql(query)
    assert result.fetchmany(9_000)[-1] == (8_999,)
    assert result.arrow().num_rows == 1_000
    with pytest.raises(lath.InvalidError, match="taken already"):
        result.fetchone()
    assert lath.sql(query).df().shape == lath.sql(query).pl().shape == (10_000, 1)


def test_variables_are_tables_by_their_names(trips: lath.Dataset) -> None:
    frame = pd.DataFrame({"id": [1, 2]})
    other = pl.DataFrame({"id": [2, 3]})
    lazy = other.lazy().filter(pl.col("id") > 2)
    assert lath.sql("SELECT count(*) FROM frame JOIN other USING (id)").fetchall() == [(1,)]
    assert lath.sql("SELECT id FROM lazy").fetchall() == [(3,)]
    assert lath.sql("SELECT count(*) FROM GLOBAL").fetchall() == [(3,)]
    assert lath.sql("SELECT count(*) FROM trips WHERE price > 12").fetchone() == (trips.count("price > 12"),)
    scan = trips.find("price > 12")
    assert lath.sql("SELECT count(*) FROM scan").fetchone() == (trips.count("price > 12"),)
    # Names of the statement, and arguments, come first.
    assert lath.sql("WITH frame AS (SELECT 7 AS id) SELECT id FROM frame").fetchall() == [(7,)]
    assert lath.sql("SELECT id FROM frame", frame=other).fetchall() == [(2,), (3,)]
    assert frame is not None and lazy is not None


def test_a_session_reads_variables_as_they_are_then() -> None:
    frame = pa.table({"id": [1]})
    with lath.Session() as session:
        assert session.sql("SELECT * FROM frame").fetchall() == [(1,)]
        frame = pa.table({"id": [1, 2]})
        assert session.sql("SELECT count(*) FROM frame").fetchall() == [(2,)]
        assert session.tables == []
        session.register("frame", pa.table({"id": [7]}))
        assert session.sql("SELECT * FROM frame").fetchall() == [(7,)]
    assert frame.num_rows == 2


def test_statements_that_write_read_variables(tmp_path: Path) -> None:
    stock = pa.table({"item": [1, 2], "count": [10, 20]})
    with lath.Session(database=tmp_path / "shop") as session:
        session.sql("CREATE TABLE items (item BIGINT PRIMARY KEY, count BIGINT)")
        session.sql("INSERT INTO items SELECT * FROM stock; INSERT INTO items SELECT item + 2, count FROM stock")
        assert session.sql("SELECT sum(count) FROM items").fetchone() == (60,)
        session.sql(f"COPY (SELECT * FROM stock) TO '{tmp_path / 'stock.parquet'}'")
        # A table of the database is not hidden by a variable of its name.
        items = pa.table({"item": [9]})
        assert session.sql("SELECT count(*) FROM items").fetchone() == (4,)
    assert lath.open(tmp_path / "stock.parquet").count() == stock.num_rows and items.num_rows == 1


def test_variables_can_be_left_out_of_account() -> None:
    frame = pa.table({"id": [1]})
    with pytest.raises(lath.StatementError, match="frame"):
        lath.sql("SELECT * FROM frame", replacement_scans=False)
    with lath.Session(replacement_scans=False) as session, pytest.raises(lath.StatementError, match="frame"):
        session.sql("SELECT * FROM frame")
    path = "no table"
    with pytest.raises(lath.StatementError):
        lath.sql("SELECT * FROM path")
    assert frame.num_rows == 1 and path
