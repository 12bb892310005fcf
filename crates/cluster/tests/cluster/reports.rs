//! Queries that other engines answered wrong when they ran on several machines, as their reports tell: set operations with nulls, empty parts,
//! limits, outer joins, NOT IN, totals, ordered aggregates.

use std::path::Path;

use crate::{Workers, alone, register, text};

/// The tables: `a` with nulls, NaN and negative zero, `b` that overlaps it, `c` with nested values.
const TABLES: [(&str, &str); 3] = [
    (
        "a",
        "COPY (SELECT value AS id, CASE WHEN value % 11 = 0 THEN NULL ELSE value % 13 END AS k,
            CASE WHEN value % 7 = 0 THEN NULL ELSE 'name ' || (value % 97) END AS s,
            CASE WHEN value % 17 = 0 THEN 'NaN'::double WHEN value % 19 = 0 THEN -0.0::double WHEN value % 5 = 0 THEN NULL
                ELSE (value * 7919 % 1000) / 8.0 END AS f,
            (value * 31 % 10007)::decimal(12, 2) / 100 AS d, value % 3 = 0 AS b
            FROM generate_series(1, 3000)) TO '{}/a.parquet' (row_group_rows 150)",
    ),
    (
        "b",
        "COPY (SELECT value AS id, CASE WHEN value % 5 = 0 THEN NULL ELSE value % 17 END AS k,
            CASE WHEN value % 9 = 0 THEN NULL ELSE 'name ' || (value % 120) END AS s, value * 1.5::double AS w
            FROM generate_series(1500, 2500)) TO '{}/b.parquet' (row_group_rows 90)",
    ),
    (
        "c",
        "COPY (SELECT value % 3 AS g, [value, value + 1, NULL] AS l, {'x': value % 5, 'y': 'v' || (value % 4)} AS st
            FROM generate_series(1, 300)) TO '{}/c.parquet' (row_group_rows 60)",
    ),
];

const QUERIES: [&str; 46] = [
    "SELECT k, s FROM a INTERSECT SELECT k, s FROM b",
    "SELECT k, s FROM a EXCEPT SELECT k, s FROM b",
    "SELECT count(*) FROM (SELECT k FROM a INTERSECT ALL SELECT k FROM b) x",
    "SELECT count(*) FROM (SELECT s FROM a EXCEPT ALL SELECT s FROM b) x",
    "SELECT count(*) FROM a WHERE k NOT IN (SELECT k FROM b)",
    "SELECT count(*) FROM a WHERE k NOT IN (SELECT k FROM b WHERE k > 5)",
    "SELECT count(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.s = a.s)",
    "SELECT count(*) FROM a LEFT JOIN b ON a.id = b.id WHERE b.id IS NULL",
    "SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON a.id = b.id AND a.k = b.k",
    "SELECT count(*), count(a.id), count(b.id) FROM a FULL JOIN b ON a.id = b.id AND a.f < b.w",
    "SELECT count(*), count(a.id) FROM a RIGHT JOIN b ON a.id = b.id AND a.f > 10",
    "SELECT count(*), count(b.id) FROM a LEFT JOIN (SELECT * FROM b WHERE id > 100000) b ON a.id = b.id",
    "SELECT count(*) FROM a JOIN b ON a.id = b.id WHERE a.id > 100000",
    "SELECT max(id), count(*) FROM a WHERE id > 100000",
    "SELECT k, count(*) FROM a WHERE id > 100000 GROUP BY k",
    "SELECT k, count(*), count(f), sum(id), min(s), max(s), min(f), max(f) FROM a GROUP BY k",
    "SELECT f, count(*) FROM a GROUP BY f",
    "SELECT count(DISTINCT f), count(DISTINCT s), count(DISTINCT k) FROM a",
    "SELECT k, count(DISTINCT s) FROM a GROUP BY k",
    "SELECT k, s, count(*) FROM a GROUP BY ROLLUP (k, s)",
    "SELECT k, b, count(*), grouping(k), grouping(b) FROM a GROUP BY CUBE (k, b)",
    "SELECT k, b, sum(d) FROM a GROUP BY GROUPING SETS ((k), (b), ())",
    "SELECT k, avg(d), sum(d), min(d) FROM a GROUP BY k",
    "SELECT s, id FROM a ORDER BY s NULLS FIRST, id DESC LIMIT 20",
    "SELECT s, id FROM a ORDER BY s DESC NULLS LAST, id LIMIT 20 OFFSET 1000",
    "SELECT f, id FROM a ORDER BY f DESC, id LIMIT 200",
    "SELECT count(*) FROM (SELECT id FROM a LIMIT 100 OFFSET 2950) x",
    "SELECT count(*) FROM (SELECT id FROM a WHERE k = 5 LIMIT 1000) x",
    "SELECT k, id, lag(id) OVER (PARTITION BY k ORDER BY id), count(*) OVER (PARTITION BY k) FROM a",
    "SELECT k, first_value(id ORDER BY s, id), last_value(id ORDER BY s, id) FROM a GROUP BY k",
    "SELECT k, array_agg(id ORDER BY id), string_agg(s, ',' ORDER BY id) FROM a WHERE id < 300 GROUP BY k",
    "SELECT count(*) FROM a JOIN b ON a.s = b.s AND a.k IS NOT DISTINCT FROM b.k",
    "SELECT count(*) FROM a, b WHERE a.id < 300 AND b.id < 1600 AND a.k < b.k",
    "SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a WHERE id < 200",
    "SELECT sum((SELECT max(w) FROM b WHERE b.id = a.id)) FROM a WHERE id > (SELECT avg(id) FROM b)",
    "SELECT k, sum((SELECT max(id) FROM b)) FROM a GROUP BY k",
    "SELECT k + (SELECT min(id) FROM b) AS n, count(*) FROM a GROUP BY k + (SELECT min(id) FROM b)",
    "SELECT id, sum(id - (SELECT min(id) FROM b)) OVER (PARTITION BY k) AS n FROM a ORDER BY (SELECT max(id) FROM b) - id, n LIMIT 30",
    "SELECT count(*) FROM a LEFT JOIN b ON a.id = b.id AND a.f > (SELECT avg(w) / 100 FROM b)",
    "WITH x AS (SELECT k, sum(id) AS n FROM a GROUP BY k) SELECT p.k, p.n, q.n FROM x p JOIN x q ON p.k = q.k",
    "WITH RECURSIVE r(id) AS (SELECT id FROM b WHERE id = 1500 UNION ALL SELECT b.id FROM r JOIN b ON b.id = r.id + 100)
        SELECT count(*), max(id) FROM r",
    "SELECT k, s FROM a UNION SELECT k, s FROM b",
    "SELECT g, unnest(l) AS u, count(*) FROM c GROUP BY 1, 2",
    "SELECT g, max(st), min(l), count(DISTINCT st) FROM c GROUP BY g",
    "SELECT k, count(*) FILTER (WHERE b), sum(id) FILTER (WHERE f > 50) FROM a GROUP BY k",
    "SELECT x.k, x.found, count(*) FROM (SELECT a.k, b.found FROM a LEFT JOIN (SELECT id, true AS found FROM b) b ON a.id = b.id) x
        GROUP BY 1, 2",
];

fn write_tables(folder: &Path) {
    let session = alone();
    for (name, statement) in TABLES {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let statement = statement.replace("{}", folder.to_str().unwrap());
        crate::rows(&session, &statement).unwrap();
    }
}

#[test]
fn reported_queries_answer_as_in_one_process() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let workers = Workers::start(3, folder.path());
    let (one, several) = (alone(), workers.session());
    for session in [&one, &several] {
        TABLES.iter().for_each(|(name, _)| register(session, name, &folder.path().join(name)));
    }
    for query in QUERIES {
        assert_eq!(text(&several, query), text(&one, query), "{query}");
    }
    drop(several);
    workers.stop();
}
