//! Lost workers, wrong tokens, files that may not be opened.

use arrow_array::RecordBatch;
use lath_cluster::{Cluster, ClusterOptions, WorkerOptions, WorkerServer};
use lath_sql::{BlockingSession, Session};

use crate::tpch::{with_tables, write_tables};
use crate::{Workers, alone, rows, text};

const COUNT: &str = "SELECT l_returnflag, count(*), sum(l_quantity) FROM lineitem GROUP BY l_returnflag";

#[test]
fn a_query_goes_on_without_a_lost_worker() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let one = with_tables(alone(), folder.path());
    let expected = text(&one, COUNT);
    let mut workers = Workers::start(3, folder.path());
    let session = with_tables(workers.session(), folder.path());
    while !workers.running.is_empty() {
        assert_eq!(text(&session, COUNT), expected, "{} workers", workers.running.len());
        let plan = text(&session, &format!("EXPLAIN ANALYZE {COUNT}"));
        let counted = format!(", workers={}]", workers.running.len());
        assert!(plan.contains("ClusterExec, metrics=[attempts=1, ") && plan.contains(&counted), "{counted}: {plan}");
        workers.running.pop().unwrap().stop().unwrap();
    }
    let error = rows(&session, COUNT).unwrap_err().to_string();
    assert!(error.contains("no worker of the cluster can be used") && error.contains("refused"), "{error}");
}

/// Number of parts of a query that workers computed, as its counters tell.
fn parts(session: &BlockingSession, query: &str) -> usize {
    let plan = text(session, &format!("EXPLAIN ANALYZE {query}"));
    let counted = plan.split_once("ClusterExec, metrics=[").unwrap().1;
    counted.split_once("parts=").unwrap().1.split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_single_worker_computes() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let one = with_tables(alone(), folder.path());
    let workers = Workers::start(1, folder.path());
    let session = with_tables(workers.session(), folder.path());
    for query in [
        COUNT,
        "SELECT count(*) FROM lineitem WHERE l_quantity < 10",
        "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity = 1 AND l_discount = 0.02",
        "SELECT l_orderkey, l_linenumber FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 20",
        "SELECT o_orderpriority, sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1",
        "SELECT o_orderkey FROM orders WHERE o_totalprice > 400000 UNION ALL SELECT l_orderkey FROM lineitem WHERE l_tax = 0.08",
    ] {
        assert_eq!(text(&session, query), text(&one, query), "{query}");
        assert!(parts(&session, query) > 1, "{query}");
    }
    workers.stop();
}

#[test]
fn a_worker_opens_only_what_it_may() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_tables(folder.path());
    let workers = Workers::start(2, other.path());
    let session = with_tables(workers.session(), folder.path());
    // The coordinator reads them itself.
    let one = with_tables(alone(), folder.path());
    assert_eq!(text(&session, COUNT), text(&one, COUNT));
    assert_eq!(parts(&session, COUNT), 0);
    workers.stop();
}

#[test]
#[cfg(unix)]
fn a_link_that_leads_elsewhere_is_read_by_the_coordinator() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_tables(other.path());
    for table in std::fs::read_dir(other.path()).unwrap() {
        let table = table.unwrap();
        std::os::unix::fs::symlink(table.path(), folder.path().join(table.file_name())).unwrap();
    }
    let workers = Workers::start(2, folder.path());
    let session = with_tables(workers.session(), folder.path());
    let one = with_tables(alone(), folder.path());
    assert_eq!(text(&session, COUNT), text(&one, COUNT));
    assert_eq!(parts(&session, COUNT), 0);
    workers.stop();
}

#[test]
fn a_worker_answers_only_with_its_token() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let options = WorkerOptions::new().allow(folder.path().to_str().unwrap()).token("secret-1").threads(1);
    let server = WorkerServer::bind("127.0.0.1:0", options).unwrap();
    let address = server.address().to_string();
    let running = server.start();
    let session = |token: Option<&str>| {
        let options = ClusterOptions::new().min_bytes(0);
        let options = token.into_iter().fold(options, ClusterOptions::token);
        let cluster = Cluster::new([&address], options).unwrap();
        let session = BlockingSession::new(cluster.extend(Session::builder()).build().unwrap()).unwrap();
        with_tables(session, folder.path())
    };
    assert_eq!(rows(&session(Some("secret-1")), COUNT).unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    for token in [None, Some("secret-2"), Some("secret-11")] {
        let error = rows(&session(token), COUNT).unwrap_err().to_string();
        let expected = format!("{address}: the worker asks for a token, and this is not it");
        assert!(error.contains(&expected) && !error.contains("secret"), "{error}");
    }
    running.stop().unwrap();
}

#[test]
fn a_second_row_of_a_scalar_subquery_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let copy = format!(
        "COPY (SELECT value AS id, CASE WHEN value >= 0 THEN value % 5 END AS k FROM range(0, 100)) TO '{}' (row_group_rows 20)",
        path.display()
    );
    rows(&alone(), &copy).unwrap();
    let workers = Workers::start(2, folder.path());
    for session in [alone(), workers.session()] {
        crate::register(&session, "a", &path);
        for query in [
            "SELECT count(*) FROM a WHERE k = (SELECT k FROM a)",
            "SELECT count(*) FROM a WHERE id > 3 AND (k = (SELECT k FROM a WHERE id < 2) OR k IS NULL)",
            "SELECT (SELECT k FROM a WHERE id < 3)",
            "SELECT sum((SELECT k FROM a LIMIT 2)) FROM a",
            "SELECT id FROM a ORDER BY (SELECT k FROM a WHERE id < 2)",
            "SELECT k FROM a GROUP BY k HAVING k > (SELECT k FROM a)",
        ] {
            let error = rows(&session, query).unwrap_err().to_string();
            assert!(error.contains("more than one row"), "{query}: {error}");
        }
        for (query, expected) in [
            ("SELECT count(*) FROM a WHERE k = (SELECT k FROM a WHERE id = 3)", "20"),
            ("SELECT count(*) FROM a WHERE k = (SELECT k FROM a ORDER BY id DESC LIMIT 1)", "20"),
            ("SELECT count(*) FROM a WHERE k = (SELECT max(k) FROM a)", "20"),
            ("SELECT count((SELECT k FROM a WHERE id < -1)) FROM a", "0"),
        ] {
            assert!(text(&session, query).contains(&format!("| {expected} ")), "{query}: {}", text(&session, query));
        }
    }
    workers.stop();
}

#[test]
fn errors_are_the_ones_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let damaged = folder.path().join("damaged.parquet");
    let mut bytes = std::fs::read(folder.path().join("lineitem/0.parquet")).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle..middle + 500].fill(255);
    std::fs::write(&damaged, bytes).unwrap();
    let workers = Workers::start(2, folder.path());
    let one = with_tables(alone(), folder.path());
    let several = with_tables(workers.session(), folder.path());
    for session in [&one, &several] {
        crate::register(session, "damaged", &damaged);
    }
    for query in [
        "SELECT * FROM damaged WHERE l_orderkey > 0",
        "SELECT DISTINCT * FROM damaged",
        "SELECT sum(1 / (l_linenumber - 3)) FROM lineitem",
        "SELECT l_orderkey FROM lineitem WHERE CAST(l_comment AS INT) > 3",
        "SELECT l_linenumber, sum(l_orderkey / (l_linenumber - 2)) FROM lineitem GROUP BY 1 ORDER BY 1",
        "SELECT l_orderkey, (SELECT o_custkey FROM orders WHERE o_orderkey < l_orderkey) FROM lineitem WHERE l_orderkey < 8",
    ] {
        let error = |session| rows(session, query).unwrap_err();
        let (expected, found) = (error(&one), error(&several));
        // A damaged page is found at the same place, or at another one of the same kind.
        assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&expected), "{query}: {found} {expected}");
        let start = |text: String| text.split(['(', '\'']).next().unwrap().to_owned();
        assert_eq!(start(found.to_string())[..20], start(expected.to_string())[..20], "{query}");
    }
    let found = rows(&several, "SELECT * FROM damaged WHERE l_orderkey > 0").unwrap_err();
    let lath_sql::Error::File(error) = found else { panic!("{found}") };
    let place = error.location().unwrap();
    assert!(place.file.as_deref().unwrap().contains("damaged") && place.column.is_some(), "{error}");
    drop(several);
    workers.stop();
}

#[test]
fn an_open_worker_needs_a_token() {
    let error = WorkerServer::bind("0.0.0.0:0", WorkerOptions::new()).unwrap_err().to_string();
    assert!(error.contains("token"), "{error}");
    let error =
        WorkerServer::bind("127.0.0.1:0", WorkerOptions::new().allow("/no/such/folder")).unwrap_err().to_string();
    assert!(error.contains("/no/such/folder"), "{error}");
}
