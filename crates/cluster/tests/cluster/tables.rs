//! Tables with a primary key: workers read their files, and get their hot rows with the plan.

use std::path::Path;
use std::process::Command;

use lath_cluster::{Cluster, ClusterOptions};
use lath_parquet::Runtime;
use lath_sql::{BlockingSession, Session};
use lath_testkit::s3::S3Server;

use crate::{Workers, rows, text};

const STATEMENTS: [&str; 9] = [
    "CREATE TABLE t (id bigint PRIMARY KEY, k int, s text, v double) {}",
    "INSERT INTO t SELECT value, value % 13, CASE WHEN value % 7 = 0 THEN NULL ELSE 'name ' || (value % 97) END, value / 8.0
        FROM generate_series(1, 20000)",
    "CALL flush('t')",
    "INSERT INTO t SELECT value, value % 11, 'late ' || (value % 7), -value FROM generate_series(20001, 30000)",
    "CALL flush('t')",
    // Hot rows, some of which replace rows of files, and deleted rows.
    "UPDATE t SET k = 99, s = 'hot' WHERE id % 500 = 3",
    "INSERT INTO t SELECT value, 77, 'new', 0.5 FROM generate_series(40001, 40100)",
    "DELETE FROM t WHERE id % 400 = 7",
    "DELETE FROM t WHERE id BETWEEN 5000 AND 6000",
];

const QUERIES: [&str; 12] = [
    "SELECT count(*), count(k), count(s), sum(id), sum(v) FROM t",
    "SELECT k, count(*), sum(id), min(s), max(s), avg(v) FROM t GROUP BY k",
    "SELECT s, count(*) FROM t WHERE k = 99 OR k = 77 GROUP BY s",
    "SELECT id, k, s, v FROM t WHERE v < -29900 OR s = 'new'",
    "SELECT id, s FROM t WHERE id > 4990 AND id < 6010 ORDER BY id",
    "SELECT count(*) FROM t a JOIN t b ON a.k = b.k WHERE a.id < 200 AND b.id > 29000",
    "SELECT count(*) FROM t WHERE id IN (SELECT id * 2 FROM t WHERE k = 99)",
    "SELECT id FROM t ORDER BY v DESC, id LIMIT 7",
    "SELECT count(*) FROM (SELECT 1 FROM t LIMIT 12345) x",
    "SELECT count(*) FROM t WHERE id > 1000000",
    "SELECT k, id FROM (SELECT k, id, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS n FROM t) x WHERE n = 1",
    "SELECT count(*), sum(x.n) FROM (SELECT k, count(*) AS n FROM t GROUP BY k UNION ALL SELECT id, 1 FROM t WHERE id < 50) x",
];

/// A session of these workers that has a database.
fn session(workers: &Workers, database: &Path) -> BlockingSession {
    let cluster = Cluster::new(&workers.addresses, ClusterOptions::new().min_bytes(0)).unwrap();
    let builder = Session::builder().runtime(&Runtime::builder().threads(2).build()).database(database);
    BlockingSession::new(cluster.extend(builder).build().unwrap()).unwrap()
}

fn alone(database: &Path) -> BlockingSession {
    let builder = Session::builder().runtime(&Runtime::builder().threads(2).build()).read_only_database(database);
    BlockingSession::new(builder.build().unwrap()).unwrap()
}

fn run(session: &BlockingSession, statement: &str) {
    rows(session, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// The number of parts that workers have run of a query.
fn parts(session: &BlockingSession, query: &str) -> usize {
    let plan = text(session, &format!("EXPLAIN ANALYZE {query}"));
    let (_, rest) = plan.split_once("parts=").unwrap_or_else(|| panic!("{query} ran in one process: {plan}"));
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn compare(several: &BlockingSession, one: &BlockingSession) {
    for query in QUERIES {
        assert_eq!(text(several, query), text(one, query), "{query}");
    }
}

fn answers_are_the_same(allow: &str, folder: &Path, options: &str) {
    let workers = Workers::start_for(3, allow);
    let database = folder.join("database");
    let several = session(&workers, &database);
    STATEMENTS.iter().for_each(|statement| run(&several, &statement.replace("{}", options)));
    let one = alone(&database);
    compare(&several, &one);
    assert!(parts(&several, QUERIES[1]) > 1);

    // Columns that files do not have, have under another name, or have with another type.
    for change in
        ["ADD COLUMN n int DEFAULT 5", "ADD COLUMN m text", "RENAME COLUMN v TO v2", "ALTER COLUMN k TYPE bigint"]
    {
        run(&several, &format!("ALTER TABLE t {change}"));
    }
    run(&several, "INSERT INTO t SELECT value, 3000000000, 's', 2.5, 6, 'm' FROM generate_series(50001, 50050)");
    run(&several, "CALL flush('t')");
    run(&several, "INSERT INTO t SELECT value, 4000000000, 's', 2.5, 7, NULL FROM generate_series(50051, 50060)");
    let one = alone(&database);
    for query in [
        "SELECT n, m, count(*), sum(v2), max(k) FROM t GROUP BY n, m",
        "SELECT id, k, s, v2, n, m FROM t WHERE id > 39990",
        "SELECT count(*) FROM t WHERE s = 'hot'",
        "SELECT count(*) FROM t WHERE n = 5 AND m IS NULL",
        "SELECT count(*) FROM t WHERE k > 50",
        "SELECT count(*) FROM t",
    ] {
        assert_eq!(text(&several, query), text(&one, query), "{query}");
    }
    let schema = |session: &BlockingSession| rows(session, "SELECT * FROM t LIMIT 1").unwrap()[0].schema();
    assert_eq!(schema(&several), schema(&one));
    assert!(parts(&several, "SELECT n, count(*) FROM t GROUP BY n") > 1);
    drop((several, one));
    workers.stop();
}

#[test]
fn workers_read_files_of_tables_in_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    answers_are_the_same(folder.path().to_str().unwrap(), folder.path(), "");
}

#[test]
fn tables_that_workers_may_not_open_are_read_by_the_coordinator() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workers = Workers::start(2, elsewhere.path());
    let database = folder.path().join("database");
    let several = session(&workers, &database);
    STATEMENTS.iter().for_each(|statement| run(&several, &statement.replace("{}", "")));
    compare(&several, &alone(&database));
    assert_eq!(parts(&several, QUERIES[1]), 0);
    drop(several);
    workers.stop();
}

#[test]
fn files_of_a_table_stay_until_a_query_ends() {
    let folder = tempfile::tempdir().unwrap();
    let workers = Workers::start(2, folder.path());
    let several = session(&workers, &folder.path().join("database"));
    STATEMENTS.iter().for_each(|statement| run(&several, &statement.replace("{}", "")));
    let query = "SELECT id, k, s, v FROM t";
    let count = rows(&several, query).unwrap().iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>();
    let answer = several.run(query).unwrap();
    // The answer is of the commit that was the last one when the query was planned, whatever happens to the files meanwhile.
    run(&several, "UPDATE t SET v = 0 WHERE id % 2 = 0");
    run(&several, "DELETE FROM t WHERE id < 10000");
    for call in ["flush", "compact", "vacuum"] {
        run(&several, &format!("CALL {call}('t')"));
    }
    let found: usize = answer.map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(found, count);
    drop(several);
    workers.stop();
}

/// The variable that tells a process the folder of its database.
const FOLDER: &str = "LATH_TEST_TABLE_FOLDER";

#[test]
fn workers_read_files_of_tables_in_a_bucket() {
    let Some(server) = S3Server::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["tables::with_a_bucket", "--exact", "--nocapture"])
        .envs(server.bucket().environment())
        .env(FOLDER, folder.path())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}

/// The part of the test above that runs in a process with access to the bucket; otherwise nothing is tested.
#[test]
fn with_a_bucket() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    answers_are_the_same("s3://lath", folder.as_ref(), "WITH (cold = 's3://lath/tables')");
}

#[test]
fn workers_leave_expired_rows_out() {
    let folder = tempfile::tempdir().unwrap();
    let workers = Workers::start_for(3, folder.path().to_str().unwrap());
    let database = folder.path().join("database");
    let several = session(&workers, &database);
    for statement in [
        "CREATE TABLE t (id bigint PRIMARY KEY, k int, at timestamp)",
        "INSERT INTO t SELECT value, value % 13, CASE WHEN value % 2 = 0 THEN timestamp '2020-01-01' WHEN value % 3 = 0 THEN NULL ELSE timestamp '2199-01-01' END
            FROM generate_series(1, 20000)",
        "CALL flush('t')",
        "INSERT INTO t SELECT value, value % 13, timestamp '2020-01-01' FROM generate_series(20001, 20300)",
        "ALTER TABLE t SET TTL at + INTERVAL '30 days'",
        "ALTER TABLE t RENAME COLUMN k TO n",
        "INSERT INTO t SELECT value, value % 13, timestamp '2199-01-01' FROM generate_series(20301, 40000)",
        "CALL flush('t')",
        "INSERT INTO t VALUES (50001, 5, timestamp '2020-01-01'), (50002, 5, NULL)",
    ] {
        run(&several, statement);
    }
    let one = alone(&database);
    for (query, is_divided) in [
        ("SELECT n, count(*), sum(id) FROM t GROUP BY n", true),
        ("SELECT count(*) FROM t", false),
        ("SELECT id FROM t WHERE id > 39999 AND n < 9", false),
        ("SELECT count(*), max(a.id) FROM t a JOIN t b ON a.id = b.id + 1", true),
    ] {
        let answer = text(&several, query);
        assert_eq!(answer, text(&one, query), "{query}");
        if is_divided {
            // Fails if no worker had a part.
            parts(&several, query);
        }
    }
    assert!(text(&several, "SELECT count(*) FROM t").contains("29701"));
}
