"""Nulls, casts, numbers, texts, dates and intervals, precedence, rows."""

import itertools
import random

from suite import Suite


def nulls():
    suite = Suite("Three-valued logic")
    suite.do("CREATE TABLE l (id INT PRIMARY KEY, p BOOLEAN, q BOOLEAN, n INT)",
             "INSERT INTO l VALUES (1, true, true, 1), (2, true, false, 2), (3, true, NULL, NULL), (4, false, true, 0), (5, false, false, NULL), (6, false, NULL, 5), (7, NULL, true, 6), (8, NULL, false, NULL), (9, NULL, NULL, -1)")
    conditions = ["p AND q", "p OR q", "NOT p", "NOT (p AND q)", "NOT p OR q", "p = q", "p <> q", "p IS TRUE", "p IS NOT TRUE", "p IS FALSE", "p IS NOT FALSE", "p IS NULL", "p IS NOT NULL",
                  "p IS DISTINCT FROM q", "p IS NOT DISTINCT FROM q", "p IS DISTINCT FROM q AND n > 1", "p IS NOT DISTINCT FROM q OR n = 5", "n IS DISTINCT FROM 1 AND p", "n IN (1, 2)", "n NOT IN (1, 2)", "n IN (1, NULL)",
                  "n NOT IN (1, NULL)", "n BETWEEN 0 AND 2", "n NOT BETWEEN 0 AND 2", "n BETWEEN NULL AND 2", "n NOT BETWEEN NULL AND 2", "n = NULL", "n <> NULL", "(n = 1) IS NULL", "NOT (n > 1)",
                  "n > 1 OR n <= 1", "n > 1 AND p", "coalesce(p, q)", "coalesce(p, false) OR coalesce(q, false)", "CASE WHEN p THEN q ELSE NOT q END", "CASE p WHEN true THEN q WHEN false THEN true END",
                  "nullif(p, q) IS NULL", "nullif(n, 1) = 2", "(p OR q) IS NOT TRUE", "(p AND q) IS UNKNOWN", "p IS NOT UNKNOWN", "n + 1 > 2 OR p IS NULL", "NOT (n IN (0, 5, NULL))", "n IS NOT NULL AND n <> 2", "NULL", "NULL OR true",
                  "NULL AND false", "NOT NULL", "NULL IS NULL", "p > q", "p >= q", "NOT p IS NULL", "NOT p = q", "p IS NULL = q IS NULL", "p AND NOT q OR q AND NOT p"]
    for condition in conditions:
        suite.ask(f"SELECT id FROM l WHERE {condition}", f"SELECT id, {condition} FROM l")
    suite.ask("SELECT count(n), count(*), sum(n) FROM l WHERE NOT (n > 1)", "SELECT max(n) FROM l WHERE n IN (SELECT NULL)", "SELECT id FROM l WHERE n = (SELECT NULL)", "SELECT greatest(n, 1), least(n, 1) FROM l WHERE id <= 3")
    suite.ordered("SELECT n FROM l ORDER BY n NULLS FIRST, id", "SELECT n FROM l ORDER BY n DESC NULLS LAST, id", "SELECT p, q FROM l ORDER BY p NULLS FIRST, q NULLS LAST, id")
    return suite


def casts():
    suite = Suite("Casts: exact, rounded, or an error")
    suite.values("CAST(1 AS BIGINT)", "CAST('12' AS INT)", "CAST(' 12 ' AS INT)", "CAST('-7' AS SMALLINT)", "CAST('x' AS INT)", "CAST('' AS INT)", "CAST('1.5' AS INT)", "CAST(300 AS TINYINT)", "CAST(-129 AS TINYINT)",
                 "CAST(127 AS TINYINT)", "CAST(32768 AS SMALLINT)", "CAST(2147483648 AS INT)", "CAST(-1 AS BIGINT)", "CAST('9223372036854775807' AS BIGINT)", "CAST('9223372036854775808' AS BIGINT)", "CAST(1.5 AS DOUBLE)",
                 "CAST('1.5' AS DOUBLE)", "CAST('abc' AS DOUBLE)", "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "CAST('1e3' AS DOUBLE)", "CAST(0.1 AS FLOAT)", "CAST(1e40 AS FLOAT)", "CAST(2 AS DECIMAL(10, 2))",
                 "CAST('2.345' AS DECIMAL(10, 2))", "CAST('2.344' AS DECIMAL(10, 2))", "CAST('-2.345' AS DECIMAL(10, 2))", "CAST(99999 AS DECIMAL(4, 0))", "CAST('12345.67' AS DECIMAL(5, 2))", "CAST(true AS INT)", "CAST(0 AS BOOLEAN)",
                 "CAST(2 AS BOOLEAN)", "CAST('true' AS BOOLEAN)", "CAST('f' AS BOOLEAN)", "CAST('maybe' AS BOOLEAN)", "CAST('2024-02-29' AS DATE)", "CAST('2023-02-29' AS DATE)", "CAST('2024-13-01' AS DATE)", "CAST('no date' AS DATE)",
                 "CAST('2024-01-02 03:04:05' AS TIMESTAMP)", "CAST('2024-01-02' AS TIMESTAMP)", "CAST('2024-01-02 03:04:05.123456' AS TIMESTAMP)", "CAST('2024-01-02 25:00:00' AS TIMESTAMP)", "CAST(TIMESTAMP '2024-01-02 03:04:05' AS DATE)",
                 "CAST(DATE '2024-01-02' AS TIMESTAMP)", "CAST(DATE '2024-01-02' AS VARCHAR)", "CAST(12 AS VARCHAR)", "CAST(-1.50 AS VARCHAR)", "CAST(true AS VARCHAR)", "CAST(NULL AS INT)", "CAST(NULL AS VARCHAR) IS NULL", "'5' || 6",
                 "1 = '1'", "'10' > 9", "DATE '2024-01-02' = '2024-01-02'", "'2024-01-02' < DATE '2024-02-01'", "1::VARCHAR || 'x'", "'7'::INT + 1", "-'7'::INT", "- 2::INT", "CAST(1.0 AS INT)", "CAST(-0.4 AS INT)", "CAST(1e10 AS BIGINT)",
                 "CAST(CAST('nan' AS DOUBLE) AS INT)", "TRY_CAST('x' AS INT)", "TRY_CAST('7' AS INT)", "TRY_CAST('2024-02-30' AS DATE)", "TRY_CAST(300 AS TINYINT)", "CAST('00012' AS INT)", "CAST('+5' AS INT)", "CAST(12345678901234567890 AS DOUBLE)",
                 "CAST('0.1' AS DECIMAL(38, 37))", "CAST(1 AS DECIMAL(38, 38))", "CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0))", "CAST('100000000000000000000000000000000000000' AS DECIMAL(38, 0))")
    suite.do("CREATE TABLE k (id INT PRIMARY KEY, s VARCHAR, n BIGINT, d DECIMAL(8, 3), f DOUBLE)",
             "INSERT INTO k VALUES (1, '12', 12, 12.500, 0.5), (2, '-3', 300, -0.125, 1e10), (3, '007', -1, 99999.999, -2.5), (4, NULL, NULL, NULL, NULL)")
    for kind in ["TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "VARCHAR", "BOOLEAN"]:
        for column in ["s", "n", "d"]:
            if kind in ("VARCHAR",) or (column, kind) in [("s", "BOOLEAN"), ("d", "BOOLEAN")]:
                continue
            if column == "d" and "INT" in kind:
                suite.ask(f"SELECT id, CAST({column} AS {kind}) FROM k WHERE id = 2")
                continue
            suite.ask(f"SELECT id, CAST({column} AS {kind}) FROM k")
            suite.ask(f"SELECT id, TRY_CAST({column} AS {kind}) FROM k")
    suite.ask("SELECT id FROM k WHERE s = 12", "SELECT id FROM k WHERE n = '12'", "SELECT id FROM k WHERE d = '12.5'", "SELECT id FROM k WHERE n IN ('12', '300')", "SELECT id FROM k WHERE CAST(s AS INT) > 0", "SELECT id FROM k WHERE n = 12.0",
              "SELECT id FROM k WHERE n = 12.5", "SELECT id FROM k WHERE n < 12.5", "SELECT id FROM k WHERE f = 0.5", "SELECT id FROM k WHERE d > 12", "SELECT id, n + 0.5 FROM k", "SELECT id, coalesce(n, 0.5) FROM k",
              "SELECT id, CASE WHEN id = 1 THEN n ELSE d END FROM k")
    return suite


def decimals():
    suite = Suite("Decimals: literals are exact")
    suite.do("CREATE TABLE m (id INT PRIMARY KEY, d DECIMAL(18, 2), e DECIMAL(9, 4), b DECIMAL(38, 10), n INT, f DOUBLE)",
             "INSERT INTO m VALUES (1, 99999.99, 0.0001, 1234567890.0123456789, 3, 0.1), (2, 5, -2.5000, -0.0000000001, 7, 2.5), (3, 1234567.25, 99999.9999, 99999999999999999999.5, 0, -1e5), (4, NULL, NULL, NULL, NULL, NULL), (5, -0.01, 0, 0, -4, 0.25)")
    for literal, operator in itertools.product(["1234567.25", "99999.99", "5", "5.0", "5.000", "-0.01", "0.0001", "99999.990", "99999.991", "1e5", "'99999.99'"], ["=", "<>", "<", ">=", "IS DISTINCT FROM"]):
        suite.ask(f"SELECT id FROM m WHERE d {operator} {literal}")
    suite.ask("SELECT id FROM m WHERE d IN (5, 99999.99)", "SELECT id FROM m WHERE d NOT IN (5, 99999.99)", "SELECT id FROM m WHERE d BETWEEN -0.01 AND 99999.99", "SELECT id FROM m WHERE e = 0.0001", "SELECT id FROM m WHERE e < 0.00011",
              "SELECT id FROM m WHERE b = 1234567890.0123456789", "SELECT id FROM m WHERE b = 1234567890.012345678", "SELECT id FROM m WHERE b < -0.00000000005", "SELECT id FROM m WHERE b > 99999999999999999999.4", "SELECT id FROM m WHERE d = e",
              "SELECT id FROM m WHERE n = 7.0", "SELECT id FROM m WHERE n > 2.5", "SELECT id FROM m WHERE f = 0.25", "SELECT id FROM m WHERE f < 0.3", "SELECT id FROM m WHERE d + 0.01 = 100000.00", "SELECT id FROM m WHERE d * 2 = 10",
              "SELECT id FROM m WHERE -d = 0.01", "SELECT id FROM m WHERE d = CAST(5 AS DOUBLE)", "SELECT id FROM m WHERE abs(d) = 0.01", "SELECT id FROM m WHERE round(d, 1) = 100000.0", "SELECT id FROM m WHERE d = (SELECT max(d) FROM m)",
              "SELECT sum(d), min(d), max(d), count(d) FROM m", "SELECT sum(e) FROM m", "SELECT sum(d * n) FROM m WHERE id < 3", "SELECT id, d + e FROM m", "SELECT id, d - 0.005 FROM m", "SELECT id, d * 1.5 FROM m", "SELECT id, d + n FROM m", "SELECT id, -d FROM m",
              "SELECT id, d * e FROM m", "SELECT id, abs(e) FROM m", "SELECT id, d > e FROM m", "SELECT id, coalesce(d, 0.5) FROM m", "SELECT id, CASE WHEN n > 0 THEN d ELSE 0.125 END FROM m", "SELECT d FROM m UNION SELECT 0.125", "SELECT id, nullif(d, 5.00) FROM m",
              "SELECT id, greatest(d, 1.5) FROM m WHERE d IS NOT NULL", "SELECT id, CAST(d AS INT) FROM m WHERE id = 2", "SELECT id, CAST(d AS DOUBLE) FROM m", "SELECT id, round(e, 2) FROM m WHERE id = 3", "SELECT id, d % 2 FROM m WHERE id IN (2, 3)",
              "SELECT DISTINCT d * 0 FROM m", "SELECT count(*) FROM m a JOIN m b ON a.d = b.e + 7.5", "SELECT id FROM m WHERE d < 0.0 OR d > 1234567.0", "SELECT id, floor(d), ceil(d) FROM m")
    suite.ordered("SELECT id FROM m ORDER BY d NULLS LAST", "SELECT id FROM m ORDER BY e DESC NULLS FIRST", "SELECT id FROM m ORDER BY b NULLS LAST")
    suite.values("0.1 + 0.2 = 0.3", "0.1 + 0.2", "1.10", "1.5 * 1.5", "0.1 * 3 = 0.3", "1.005 * 100", "100 * 1.1 = 110", "-0.5 + 0.5", "1.0 = 1", "2.50 = 2.5", "0.3 IN (0.1 + 0.2)", "99999999999999.99", "12345678901234567890.123", "0.000000000000000000001",
                 "123456789.123456789 + 0.000000001", "9999999999999999 + 0.1", "CAST(0.1 AS DECIMAL(5, 3)) = 0.1", "1.5 > 1.49999999999999999999", "3.0 - 2.9 = 0.1", "round(2.5)", "round(-2.5)", "round(2.345, 2)", "abs(-1.25)", "floor(-1.5)",
                 "ceil(1.2)", "sqrt(2.25)", "power(1.5, 2)", "1.5 % 1", "7.5 / 2.5", "1 / 4.0", "1.0 / 8", "greatest(1.1, 1.10001)", "coalesce(NULL, 1.25)", "CASE WHEN true THEN 1 ELSE 1.5 END", "least(1, 0.5)", "1e2", "1.5e1", ".5", "5.", "-.5",
                 "0.1::DOUBLE + 0.2::DOUBLE = 0.3::DOUBLE", "CAST(1 AS DOUBLE) * 0.1", "2 * 1.25 = 2.5", "1.10 || ''" if False else "1.25 + 1")
    return suite


def overflow():
    suite = Suite("Results that do not fit are wider or an error")
    suite.do("CREATE TABLE v (id INT PRIMARY KEY, t TINYINT, s SMALLINT, i INT, n BIGINT, d DECIMAL(38, 0))",
             "INSERT INTO v VALUES (1, 127, 32767, 2147483647, 9223372036854775807, 99999999999999999999999999999999999999), (2, -128, -32768, -2147483648, -9223372036854775807, -1), (3, 1, 1, 1, 1, 1)")
    for column in ["i", "n"]:
        suite.ask(f"SELECT {column} + 1 FROM v WHERE id = 3", f"SELECT {column} * 2 FROM v WHERE id = 3", f"SELECT {column} - 1 FROM v WHERE id = 1", f"SELECT -{column} FROM v WHERE id = 1", f"SELECT avg({column}) FROM v WHERE id = 3")
    suite.ask("SELECT n + 1 FROM v WHERE id = 1", "SELECT n - 2 FROM v WHERE id = 2", "SELECT n * 2 FROM v WHERE id = 1", "SELECT n * n FROM v WHERE id = 1", "SELECT id FROM v WHERE n + 1 > 0", "SELECT sum(i) FROM v", "SELECT sum(s) FROM v WHERE id < 3",
              "SELECT id FROM v WHERE n = 9223372036854775807", "SELECT id FROM v WHERE n > 9223372036854775806", "SELECT id FROM v WHERE i < 2147483648", "SELECT id FROM v WHERE i = 4294967296", "SELECT id FROM v WHERE t = 255", "SELECT id FROM v WHERE t < 200",
              "SELECT id FROM v WHERE n < 9223372036854775808", "SELECT max(n), min(n) FROM v", "SELECT sum(t) FROM v", "SELECT count(*) FROM v WHERE d > 0", "SELECT id FROM v WHERE d = 99999999999999999999999999999999999999")
    suite.do("UPDATE v SET n = n + 1", "UPDATE v SET i = i * 1000000 WHERE id = 1", "INSERT INTO v VALUES (4, 128, 0, 0, 0, 0)", "INSERT INTO v VALUES (5, 0, 0, 2147483648, 0, 0)", "UPDATE v SET id = id + 2147483645")
    suite.ask("SELECT * FROM v")
    suite.values("9223372036854775807", "-9223372036854775808", "9223372036854775807 + 1", "9223372036854775807 * 9223372036854775807", "CAST(9223372036854775807 AS BIGINT) + CAST(1 AS BIGINT)", "CAST(100 AS TINYINT) * CAST(2 AS TINYINT)",
                 "CAST(-128 AS TINYINT) - CAST(1 AS TINYINT)", "5 / 0 IS NULL" if False else "6 / 3", "7 % 3", "-7 % 3", "abs(-5)", "CAST(1 AS BIGINT) - CAST(-9223372036854775807 AS BIGINT)")
    return suite


def texts():
    suite = Suite("Texts: LIKE, functions, comparison")
    suite.do("CREATE TABLE x (id INT PRIMARY KEY, s VARCHAR)", "INSERT INTO x VALUES (1, 'abc'), (2, 'ABC'), (3, ''), (4, NULL), (5, 'a%c'), (6, 'a_c'), (7, 'straße'), (8, ' pad '), (9, 'it''s'), (10, 'naïve café')")
    for pattern in ["'a%'", "'%c'", "'%b%'", "'_b_'", "''", "'%'", "'a!%c' ESCAPE '!'", "'a!_c' ESCAPE '!'", "'%é'", "'_____e'", "NULL", "s"]:
        suite.ask(f"SELECT id FROM x WHERE s LIKE {pattern}", f"SELECT id FROM x WHERE s NOT LIKE {pattern}")
    for pattern in ["'a%'", "'%C'", "'STRASSE'"]:
        suite.ask(f"SELECT id FROM x WHERE s ILIKE {pattern}")
    functions = ["upper(s)", "lower(s)", "length(s)", "trim(s)", "ltrim(s)", "rtrim(s)", "substr(s, 2)", "substr(s, 1, 2)", "replace(s, 'a', 'xx')", "reverse(s)", "concat(s, '!')", "s || '!'", "left(s, 2)", "right(s, 2)", "strpos(s, 'b')",
                 "repeat(s, 2)", "starts_with(s, 'a')", "position('c' IN s)", "lpad(s, 5, '*')", "rpad(s, 5, '*')", "ascii(s)", "coalesce(s, '?')", "nullif(s, '')", "s = 'abc'", "s < 'b'", "s > ''", "s IN ('abc', '')", "s BETWEEN 'a' AND 'b'",
                 "substring(s FROM 2 FOR 2)", "split_part(s, 'b', 1)", "concat_ws('-', s, 'z')", "bit_length(s)", "octet_length(s)" if False else "length(s) * 2", "overlay(s PLACING 'ZZ' FROM 2 FOR 1)" if False else "translate(s, 'ab', 'xy')", "initcap(s)" if False else "upper(lower(s))"]
    for function in functions:
        suite.ask(f"SELECT id, {function} FROM x")
    suite.ask("SELECT min(s), max(s) FROM x", "SELECT count(DISTINCT lower(s)) FROM x", "SELECT s FROM x WHERE s = ''", "SELECT id FROM x WHERE s IS NULL OR s = ''", "SELECT id FROM x WHERE length(s) > 4")
    suite.ordered("SELECT id FROM x ORDER BY s NULLS LAST", "SELECT id FROM x ORDER BY lower(s) DESC NULLS FIRST, id", "SELECT id FROM x ORDER BY length(s) NULLS FIRST, id")
    suite.values("'a' || NULL", "'a' || 1 || 'b'", "'it''s'", "''", "'a' = 'A'", "'é' = 'é'", "'Z' < 'a'", "'10' < '9'", "concat('a', NULL, 'b')", "length('日本語')", "upper('ß')", "substr('hello', -3)", "substr('hello', 0, 2)", "trim(BOTH 'x' FROM 'xxaxx')", "trim(LEADING 'x' FROM 'xxaxx')",
                 "replace('aaa', 'a', '')", "repeat('ab', 0)", "strpos('abc', '')", "'abc' LIKE 'a_c'", "'a\\c' LIKE 'a\\\\c'" if False else "'abc' LIKE '%'", "NULL LIKE 'a'", "'a' LIKE NULL", "'50%' LIKE '50!%' ESCAPE '!'", "'50x' LIKE '50!%' ESCAPE '!'")
    return suite


def moments():
    suite = Suite("Dates, timestamps and intervals")
    suite.do("CREATE TABLE h (id INT PRIMARY KEY, ts TIMESTAMP, d DATE)",
             "INSERT INTO h VALUES (1, '2024-01-31 10:00:00', '2024-01-31'), (2, '2024-02-29 23:59:59', '2024-02-29'), (3, '2023-12-31 00:00:00', '2023-12-31'), (4, NULL, NULL), (5, '1969-07-20 20:17:40', '1969-07-20'), (6, '2024-03-01 00:00:00.5', '2024-03-01')")
    parts = ["year", "month", "day", "hour", "minute", "quarter", "dow", "doy", "week"]
    for part in parts:
        suite.ask(f"SELECT id, extract({part} FROM ts) FROM h", f"SELECT id, date_part('{part}', d) FROM h" if part not in ("hour", "minute") else f"SELECT id, date_part('{part}', ts) FROM h")
    for unit in ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]:
        suite.ask(f"SELECT id, CAST(date_trunc('{unit}', ts) AS TIMESTAMP) FROM h WHERE ts IS NOT NULL")
    for interval in ["1 day", "1 month", "13 months", "1 year", "-1 day", "36 hours", "90 minutes", "1 week", "2 days 3 hours"]:
        suite.ask(f"SELECT id, ts + INTERVAL '{interval}' FROM h", f"SELECT id, ts - INTERVAL '{interval}' FROM h", f"SELECT id, CAST(d + INTERVAL '{interval}' AS TIMESTAMP) FROM h")
    for interval in ["58 days", "1 day", "0 days", "1 month", "2 months", "50 years", "1 hour", "60 days 10 hours"]:
        for operator in [">", "<", ">=", "="]:
            suite.ask(f"SELECT id FROM h WHERE ts - TIMESTAMP '2024-01-01 00:00:00' {operator} INTERVAL '{interval}'")
    suite.ask("SELECT id FROM h WHERE ts > '2024-02-01'", "SELECT id FROM h WHERE ts >= DATE '2024-02-29'", "SELECT id FROM h WHERE d = '2024-01-31'", "SELECT id FROM h WHERE d < TIMESTAMP '2024-01-31 00:00:01'", "SELECT id FROM h WHERE ts = d", "SELECT id FROM h WHERE ts BETWEEN '2024-01-01' AND '2024-02-29'",
              "SELECT id FROM h WHERE ts < TIMESTAMP '2024-03-01 00:00:00.500001'", "SELECT id FROM h WHERE ts = TIMESTAMP '2024-03-01 00:00:00.5'", "SELECT id FROM h WHERE d IN (DATE '2024-02-29', DATE '2023-12-31')", "SELECT id FROM h WHERE extract(year FROM d) = 2024", "SELECT id FROM h WHERE d - DATE '2024-01-01' > 30",
              "SELECT id, d - DATE '2024-01-01' FROM h", "SELECT min(ts), max(ts) FROM h", "SELECT min(d), max(d), count(d) FROM h", "SELECT extract(year FROM d) AS y, count(*) FROM h GROUP BY y", "SELECT CAST(date_trunc('month', d) AS DATE) AS m, count(*) FROM h GROUP BY m", "SELECT id, CAST(ts AS DATE) FROM h",
              "SELECT id, CAST(d AS TIMESTAMP) FROM h", "SELECT a.id, b.id FROM h a JOIN h b ON a.ts < b.ts AND b.ts < a.ts + INTERVAL '31 days'", "SELECT id, ts > TIMESTAMP '2024-01-31 10:00:00' FROM h", "SELECT DISTINCT CAST(date_trunc('year', ts) AS DATE) FROM h", "SELECT id FROM h WHERE ts IS NULL", "SELECT id, date_trunc('day', ts) = CAST(d AS TIMESTAMP) FROM h WHERE ts IS NOT NULL")
    suite.ordered("SELECT id FROM h ORDER BY ts NULLS LAST", "SELECT id FROM h ORDER BY d DESC NULLS FIRST, id")
    suite.values("DATE '2024-02-29'", "TIMESTAMP '2024-01-01 12:34:56'", "DATE '2024-01-31' + INTERVAL '1 month' = TIMESTAMP '2024-02-29 00:00:00'", "INTERVAL '1 day' = INTERVAL '24 hours'", "INTERVAL '1 month' = INTERVAL '30 days'", "INTERVAL '1 year' > INTERVAL '11 months'", "INTERVAL '1 day' > INTERVAL '23 hours'",
                 "INTERVAL '2 days' < INTERVAL '1 month'", "INTERVAL '1 month' > INTERVAL '29 days'", "INTERVAL '1 month' < INTERVAL '31 days'", "TIMESTAMP '2024-03-31 00:00:00' - INTERVAL '1 month'", "TIMESTAMP '2024-01-01 00:00:00' < TIMESTAMP '2024-01-01 00:00:00.000001'",
                 "extract(epoch FROM TIMESTAMP '1970-01-02 00:00:00')", "extract(dow FROM DATE '2024-01-07')", "extract(week FROM DATE '2024-12-30')", "extract(doy FROM DATE '2024-12-31')", "DATE '2024-03-01' - DATE '2024-02-01'", "DATE '2024-01-01' + 31", "DATE '2024-01-01' < '2024-01-02'")
    return suite


def precedence():
    suite = Suite("Operators bind as in PostgreSQL")
    suite.do("CREATE TABLE y (id INT PRIMARY KEY, a INT, b INT, p BOOLEAN, s VARCHAR)", "INSERT INTO y VALUES (1, 1, 1, true, 'a'), (2, 2, NULL, false, 'b'), (3, NULL, 3, NULL, NULL), (4, -4, 2, true, 'ab'), (5, 0, 5, false, '')")
    conditions = ["a = 1 OR b = 3 AND p", "NOT a = 1", "NOT a = 1 AND p", "NOT a IS NULL", "NOT p AND a > 0", "a BETWEEN 0 AND 2 AND p", "a BETWEEN 0 AND 2 OR b = 3", "a NOT BETWEEN 0 AND 1 AND b IS NULL", "a BETWEEN b - 1 AND b + 1", "a IS DISTINCT FROM b AND p", "a IS NOT DISTINCT FROM b OR id = 3",
                  "a IS DISTINCT FROM b OR p", "a IS DISTINCT FROM b + 1 AND id > 1", "p IS DISTINCT FROM true AND id = 3", "p IS NOT TRUE AND a IS NOT NULL", "a + 1 = b OR b IS NULL", "a * 2 + b = 3", "a + b * 2 = 3", "-a = 4", "- a + b = 6", "a - -b = 2", "a % 2 = 0 AND b > 1", "a IN (1, 2) AND p",
                  "a IN (1, 2) = p", "NOT a IN (1, 2)", "s LIKE 'a%' AND p", "NOT s LIKE 'a%'", "s || 'c' = 'ac'", "s || 'b' || 'c' = 'abc'", "s LIKE 'a' || '%'", "s = 'a' || ''", "(a < b) = p", "(a = b) = p", "a IS NULL OR NOT p", "a <> 1 AND NOT b = 2", "a > 0 AND b > 0 OR p AND s = 'ab'",
                  "CASE WHEN a > 0 THEN b ELSE a END > 1", "a + 2 BETWEEN 1 AND 3", "NOT (a > 0 OR p)", "NOT a > 0 OR p", "a / 2 * 2 = a", "2 + 3 * a = 5", "a >= 0 AND a <= 2", "a::BIGINT + 1 = 2", "-a::BIGINT = 4", "a IS NOT NULL AND b IS NOT NULL AND a < b", "a IS NULL = p IS NULL", "p = NOT (a = 1)",
                  "coalesce(a, 0) = 0 AND NOT p IS TRUE", "a & 1 = 1", "a | 4 = 5", "(a + b) * 2 = 4", "a - b - 1 = -1", "a - (b - 1) = 1", "12 / 2 / 3 = 2", "s >= 'a' AND s < 'b'", "s BETWEEN 'a' AND 'aa' OR s = ''", "NOT NOT p"]
    for condition in conditions:
        suite.ask(f"SELECT id FROM y WHERE {condition}", f"SELECT id, {condition} FROM y")
    chance = random.Random(7)

    def number(depth):
        if depth == 0 or chance.random() < .4:
            return chance.choice(["a", "b", "1", "2", "id"])
        return chance.choice(["{} + {}", "{} - {}", "{} * {}", "-{}", "({} + {})"]).format(number(depth - 1), number(depth - 1)).replace("--", "- -")

    def condition(depth):
        if depth == 0:
            return chance.choice(["{} = {}", "{} < {}", "{} IS DISTINCT FROM {}", "{} BETWEEN {} AND {}", "{} IS NULL", "{} NOT IN ({}, {})"]).format(number(1), number(1), number(1))
        return chance.choice(["{} AND {}", "{} OR {}", "NOT {}", "{} OR {} AND {}"]).format(*(condition(depth - 1) for _ in range(3)))

    for _ in range(60):
        suite.ask(f"SELECT id FROM y WHERE {condition(2)}")
    return suite


def rows():
    suite = Suite("Rows compared with rows")
    suite.do("CREATE TABLE r (id INT PRIMARY KEY, a INT, n INT, s VARCHAR)", "INSERT INTO r VALUES (1, 1, 1, 'x'), (2, NULL, 5, 'y'), (3, 2, NULL, NULL), (4, 2, 0, 'x'), (5, 2, 7, 'z'), (6, NULL, NULL, NULL)")
    for operator, right in itertools.product(["=", "<>", "<", "<=", ">", ">="], ["(2, 1)", "(2, 7)", "(NULL, 5)", "(2, NULL)", "(1, 1)"]):
        suite.ask(f"SELECT id FROM r WHERE (a, n) {operator} {right}")
    for operator in ["=", "<", ">="]:
        suite.ask(f"SELECT id FROM r WHERE (a, s) {operator} (2, 'x')", f"SELECT p.id, q.id FROM r p JOIN r q ON (p.a, p.n) {operator} (q.a, q.n)", f"SELECT id FROM r WHERE NOT ((a, n) {operator} (2, 1))")
    suite.ask("SELECT id FROM r WHERE (a, n) IN ((1, 1), (2, 7))", "SELECT id FROM r WHERE (a, n) NOT IN ((1, 1), (2, 7))", "SELECT id FROM r WHERE (a, n) IN ((NULL, 5))", "SELECT id FROM r WHERE (a, n) BETWEEN (1, 0) AND (2, 3)", "SELECT id FROM r WHERE (a, n, s) = (1, 1, 'x')")
    inner = ["SELECT a, n FROM r", "SELECT a, n FROM r WHERE id IN (1, 3)", "SELECT a, n FROM r WHERE a IS NOT NULL AND n IS NOT NULL", "SELECT a, n FROM r WHERE id > 9", "SELECT 2, max(n) FROM r", "SELECT a, n FROM r ORDER BY id LIMIT 2", "SELECT NULL, 5", "SELECT 2, 0 UNION ALL SELECT 1, 1"]
    for query in inner:
        suite.ask(f"SELECT id FROM r WHERE (a, n) IN ({query})", f"SELECT id FROM r WHERE (a, n) NOT IN ({query})", f"SELECT id, CASE (a, n) IN ({query}) WHEN true THEN 'yes' WHEN false THEN 'no' END FROM r", f"SELECT id FROM r WHERE NOT ((a, n) IN ({query})) OR id = 1", f"SELECT id FROM r WHERE ((a, n) IN ({query})) IS NULL")
    suite.ask("SELECT id FROM r WHERE (a, n, s) IN (SELECT a, n, s FROM r)", "SELECT id FROM r WHERE (a + 0, s) IN (SELECT 2, s FROM r) AND id > 3", "SELECT p.id FROM r p WHERE (p.a, p.n) IN (SELECT q.a, q.n FROM r q) AND (p.id, p.s) IN (SELECT q.id, q.s FROM r q WHERE q.s = 'x')")
    return suite


AREAS = {"nulls": nulls, "casts": casts, "decimals": decimals, "overflow": overflow, "texts": texts, "moments": moments, "precedence": precedence, "rows": rows}
