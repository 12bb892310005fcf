"""Statements that change rows and tables."""

from suite import Suite

STOCK = ["CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR, d DECIMAL(10, 2))",
         "INSERT INTO t VALUES (1, 10, 'a', 1.50), (2, 20, NULL, 2.25), (3, NULL, 'c', NULL), (4, 40, '', 99999.99), (5, 50, 'e', 0)",
         "CREATE TABLE u (k INT PRIMARY KEY, m INT)", "INSERT INTO u VALUES (1, 100), (3, NULL), (7, 700)"]


def inserts():
    suite = Suite("INSERT, also where keys are there")
    suite.do(*STOCK)
    statements = ["INSERT INTO t VALUES (6, 60, 'f', 6.00)", "INSERT INTO t (id, s) VALUES (7, 'g')", "INSERT INTO t (s, id) VALUES ('h', 8)", "INSERT INTO t VALUES (1, 0, 'again', 0)", "INSERT INTO t VALUES (9, 1, 'x', 1), (9, 2, 'y', 2)", "INSERT INTO t (n) VALUES (1)",
                  "INSERT INTO t VALUES (NULL, 1, 'x', 1)", "INSERT INTO t VALUES (10, 'no number', 'x', 1)", "INSERT INTO t SELECT k + 10, m, 'u', NULL FROM u", "INSERT INTO t (id, n) SELECT id + 100, n FROM t WHERE n > 20", "INSERT INTO t SELECT * FROM t WHERE 1 = 0",
                  "INSERT INTO t VALUES (1, 0, 'replaced', 0) ON CONFLICT DO NOTHING", "INSERT INTO t VALUES (1, 5, 'z', 0) ON CONFLICT (id) DO UPDATE SET n = excluded.n", "INSERT INTO t VALUES (1, 5, 'z', 0), (200, 1, 'new', 1) ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n, s = excluded.s",
                  "INSERT INTO t VALUES (2, 7, 'z', 0) ON CONFLICT (id) DO UPDATE SET s = 'set' WHERE t.n > 100", "INSERT OR REPLACE INTO t VALUES (2, 22, 'two', 2.22)", "INSERT OR IGNORE INTO t VALUES (2, 0, 'ignored', 0), (201, 1, 'kept', 1)",
                  "INSERT INTO t VALUES (202, 1, 'a', 1.005)", "INSERT INTO t VALUES (203, 1, 'a', 123456789.00)", "INSERT INTO t (id, id) VALUES (1, 2)", "INSERT INTO t (id, nothing) VALUES (300, 2)", "INSERT INTO t VALUES (300)", "INSERT INTO nothing VALUES (300)",
                  "INSERT INTO t VALUES (204, 1 + 1, 'a' || 'b', 0.1 + 0.2)", "INSERT INTO t SELECT 205, max(n), min(s), sum(d) FROM t", "INSERT INTO t SELECT k, m, 's', 1 FROM u ON CONFLICT DO NOTHING", "INSERT INTO t VALUES (206, NULL, NULL, NULL)", "INSERT INTO t (id) VALUES (207), (208), (209)",
                  "INSERT INTO t WITH c AS (SELECT 210 AS k) SELECT k, 1, 'with', 1 FROM c", "INSERT INTO t (d, id) VALUES (1234567.25, 211)", "INSERT INTO t VALUES (212, 2147483647, 'max', 0)", "INSERT INTO t VALUES (213, 2147483648, 'over', 0)"]
    for statement in statements:
        suite.do(statement)
        suite.ask("SELECT * FROM t", "SELECT count(*), count(n), sum(id) FROM t")
    return suite


def updates():
    suite = Suite("UPDATE and DELETE")
    suite.do(*STOCK)
    statements = ["UPDATE t SET n = n + 1", "UPDATE t SET s = 'big' WHERE d = 99999.99", "UPDATE t SET d = d * 2 WHERE n > 20", "UPDATE t SET n = NULL WHERE id = 2", "UPDATE t SET n = 0 WHERE n IS NULL", "UPDATE t SET s = upper(s), n = id WHERE s IS NOT NULL", "UPDATE t SET n = (SELECT m FROM u WHERE k = t.id)",
                  "UPDATE t SET n = 5 WHERE id IN (SELECT k FROM u WHERE m IS NOT NULL)", "UPDATE t SET n = 6 WHERE id NOT IN (SELECT m FROM u)", "UPDATE t SET n = 7 WHERE NOT EXISTS (SELECT 1 FROM u WHERE k = t.id)", "UPDATE t SET id = id + 1", "UPDATE t SET id = 3 WHERE id = 2", "UPDATE t SET id = NULL WHERE id = 2",
                  "UPDATE t SET s = s || '!' WHERE s LIKE '%a%'", "UPDATE t SET n = CASE WHEN id > 3 THEN 1 ELSE 2 END", "UPDATE t SET n = id, s = CAST(n AS VARCHAR)", "UPDATE t SET nothing = 1", "UPDATE t SET n = 'x'", "UPDATE t SET n = n", "UPDATE t SET n = 9 WHERE 1 = 0", "UPDATE t SET d = 0.1 + 0.2 WHERE d IS DISTINCT FROM 0 AND id = 4",
                  "UPDATE t SET n = m FROM u WHERE u.k = t.id", "DELETE FROM t WHERE d <> 199999.98 AND id > 5", "DELETE FROM t WHERE s IS DISTINCT FROM 'a' AND id = 3", "INSERT INTO t VALUES (20, 1, 'a', 1), (21, 2, 'b', 2), (22, 3, 'c', 3), (23, NULL, NULL, NULL)", "DELETE FROM t WHERE n NOT IN (SELECT m FROM u)",
                  "DELETE FROM t WHERE id IN (SELECT k + 13 FROM u)", "DELETE FROM t WHERE n = 2 AND d = 2.00", "DELETE FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.m = t.n)", "DELETE FROM t WHERE n IS NULL", "DELETE FROM t WHERE NULL", "DELETE FROM t WHERE nothing = 1", "DELETE FROM t WHERE (id, n) < (21, 5)", "DELETE FROM t",
                  "INSERT INTO t VALUES (1, 1, 'back', 1), (2, 2, 'two', 2), (3, 3, 'three', 3), (4, NULL, NULL, NULL)",
                  "UPDATE t SET n = u.m + t.n FROM u WHERE u.k = t.id AND t.n < 3", "UPDATE t SET n = x.m, s = 'from' FROM (SELECT k, max(m) AS m FROM u GROUP BY k) AS x WHERE x.k = t.id", "UPDATE t SET d = u.m FROM u JOIN (SELECT 1 AS one) AS o ON o.one = 1 WHERE t.id = u.k AND u.m IS NOT NULL", "UPDATE t AS a SET n = 77 FROM u AS b WHERE b.k = a.id AND a.s = 'from'",
                  "UPDATE t SET n = 5 WHERE (id, s) IN (SELECT k, 'from' FROM u)", "DELETE FROM t USING u WHERE u.k = t.id AND t.n = 5", "DELETE FROM t USING u, (SELECT 4 AS four) AS f WHERE f.four = t.id AND u.k > 0"]
    for statement in statements:
        suite.do(statement)
        suite.ask("SELECT * FROM t", "SELECT count(*), sum(n), sum(d) FROM t", "SELECT count(*) FROM t WHERE n > 1")
    return suite


def definitions():
    suite = Suite("CREATE, ALTER and DROP")
    steps = [
        ("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR)", "SELECT * FROM t"), ("CREATE TABLE t (id INT PRIMARY KEY)", "SELECT count(*) FROM t"), ("CREATE TABLE IF NOT EXISTS t (other INT PRIMARY KEY)", "SELECT count(*) FROM t"),
        ("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, NULL)", "SELECT * FROM t"), ("INSERT INTO t VALUES (3, NULL, 'x')", "SELECT * FROM t"), ("INSERT INTO t (id, s) VALUES (3, 'x')", "SELECT * FROM t"), ("UPDATE t SET n = NULL", "SELECT * FROM t"),
        ("ALTER TABLE t ADD COLUMN c INT", "SELECT * FROM t"), ("ALTER TABLE t ADD COLUMN c INT", "SELECT * FROM t"), ("ALTER TABLE t ADD COLUMN e TINYINT DEFAULT 300", "SELECT * FROM t"), ("ALTER TABLE t ADD COLUMN f DATE DEFAULT 'no date'", "SELECT * FROM t"), ("ALTER TABLE t ADD COLUMN g INT DEFAULT 7", "SELECT * FROM t"),
        ("ALTER TABLE t RENAME COLUMN c TO c2", "SELECT id, c2 FROM t"), ("ALTER TABLE t RENAME COLUMN nothing TO c3", "SELECT id, c2 FROM t"), ("ALTER TABLE t DROP COLUMN c2", "SELECT * FROM t"), ("ALTER TABLE t DROP COLUMN nothing", "SELECT * FROM t"), ("ALTER TABLE t DROP COLUMN id", "SELECT count(*) FROM t"),
        ("ALTER TABLE t ALTER COLUMN n TYPE BIGINT", "SELECT id, n FROM t"), ("INSERT INTO t (id, n) VALUES (4, 3000000000)", "SELECT id, n FROM t"), ("UPDATE t SET n = n + 1 WHERE id = 4", "SELECT id, n FROM t WHERE n > 2147483648"),
        ("CREATE VIEW big AS SELECT id, n FROM t WHERE n > 1", "SELECT * FROM big"), ("INSERT INTO t (id, n) VALUES (5, 50)", "SELECT * FROM big"), ("CREATE VIEW big AS SELECT 1", "SELECT * FROM big"), ("CREATE OR REPLACE VIEW big AS SELECT id FROM t WHERE n > 10", "SELECT * FROM big"), ("DROP VIEW big", "SELECT * FROM big"),
        ("CREATE TABLE w (a INT, b VARCHAR, PRIMARY KEY (a, b))", "SELECT * FROM w"), ("INSERT INTO w VALUES (1, 'x'), (1, 'y'), (2, 'x')", "SELECT * FROM w WHERE a = 1"), ("INSERT INTO w VALUES (1, 'y')", "SELECT count(*) FROM w"), ("INSERT INTO w VALUES (1, NULL)", "SELECT count(*) FROM w"),
        ("CREATE TABLE q (id INT PRIMARY KEY, e INT UNIQUE)", "SELECT * FROM q"), ("INSERT INTO q VALUES (1, 1), (2, NULL), (3, NULL)", "SELECT * FROM q"), ("INSERT INTO q VALUES (4, 1)", "SELECT * FROM q"), ("UPDATE q SET e = 1 WHERE id = 2", "SELECT * FROM q"), ("UPDATE q SET e = e + 1", "SELECT * FROM q"),
        ("CREATE INDEX qi ON q (e)", "SELECT id FROM q WHERE e = 2"), ("CREATE INDEX qi ON q (e)", "SELECT id FROM q WHERE e = 2"), ("DROP INDEX qi", "SELECT id FROM q WHERE e = 2"), ("DROP TABLE nothing", "SELECT count(*) FROM q"), ("DROP TABLE IF EXISTS nothing", "SELECT count(*) FROM q"), ("DROP TABLE q", "SELECT * FROM q"),
        ("CREATE TABLE b (id INT PRIMARY KEY, id INT)", "SELECT 1"), ("CREATE TABLE b (id NOTHING PRIMARY KEY)", "SELECT 1"), ("CREATE TABLE b (id INT PRIMARY KEY, PRIMARY KEY (id))", "SELECT 1"), ("CREATE TABLE b (PRIMARY KEY (nothing))", "SELECT 1"),
        ("CREATE TABLE big (id BIGINT PRIMARY KEY, v DOUBLE)", "SELECT count(*) FROM big"), ("INSERT INTO big SELECT id, n FROM t", "SELECT * FROM big"), ("TRUNCATE big", "SELECT count(*) FROM big") if False else ("DELETE FROM big", "SELECT count(*) FROM big"),
    ]
    for statement, query in steps:
        suite.do(statement)
        suite.ask(query)
    return suite


def merges():
    suite = Suite("MERGE")
    suite.do(*STOCK)
    statements = ["MERGE INTO t USING u ON t.id = u.k WHEN MATCHED THEN UPDATE SET n = u.m", "MERGE INTO t USING u ON t.id = u.k WHEN NOT MATCHED THEN INSERT (id, n) VALUES (u.k, u.m)", "MERGE INTO t USING u ON t.id = u.k WHEN MATCHED AND u.m IS NULL THEN DELETE",
                  "MERGE INTO t USING (SELECT 4 AS k, 1 AS m UNION ALL SELECT 9, 9) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET n = t.n + s.m WHEN NOT MATCHED THEN INSERT (id, n, s) VALUES (s.k, s.m, 'new')",
                  "MERGE INTO t USING (SELECT 4 AS k) s ON t.id = s.k WHEN MATCHED AND t.n > 1000 THEN DELETE WHEN MATCHED THEN UPDATE SET s = 'kept'", "MERGE INTO t USING (VALUES (5), (50)) s(k) ON t.id = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.k)"]
    for statement in statements:
        suite.do(statement)
        suite.ask("SELECT * FROM t")
    return suite


AREAS = {"inserts": inserts, "updates": updates, "definitions": definitions, "merges": merges}
