//! Statements on tables with a primary key: the commits that they read, and their changes.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use lath_sql::{BlockingSession, Error, Session, Stop};
use lath_table::{Table, TableOptions};
use lath_testkit::Seeded;

use super::{answer, wait};

/// The rows of a table with a key, a number and a text.
type Rows = BTreeMap<i64, (Option<i64>, Option<String>)>;

fn open(folder: &Path) -> Session {
    Session::builder().database(folder).build().unwrap()
}

async fn run(session: &Session, statement: &str) -> Result<u64, String> {
    let frame = session.sql(statement).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    Ok(batches
        .first()
        .filter(|batch| batch.num_columns() > 0)
        .map_or(0, |batch| batch.column(0).as_primitive::<UInt64Type>().value(0)))
}

fn number(array: &dyn Array, row: usize) -> Option<i64> {
    array.is_valid(row).then(|| array.as_primitive::<Int64Type>().value(row))
}

fn text(array: &dyn Array, row: usize) -> Option<String> {
    // Imported columns have the types of their files.
    let value = || match array.as_string_opt::<i32>() {
        Some(texts) => texts.value(row).to_owned(),
        None => array.as_string_view().value(row).to_owned(),
    };
    array.is_valid(row).then(value)
}

fn read_rows(batches: &[RecordBatch]) -> Rows {
    let row = |batch: &RecordBatch, row| {
        let id = number(batch.column(0), row).unwrap();
        (id, (number(batch.column(1), row), text(batch.column(2), row)))
    };
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at))).collect()
}

async fn rows(session: &Session, query: &str) -> Rows {
    read_rows(&answer(session, query).await)
}

/// A statement, its effect on the rows, and the number of changed rows; `None` if it is an error.
struct Step {
    statement: String,
    after: Option<(Rows, u64)>,
}

fn values(rows: &[(i64, Option<i64>, Option<String>)]) -> String {
    let number = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
    let text = |value: &Option<String>| value.as_ref().map_or("NULL".to_owned(), |value| format!("'{value}'"));
    let row = |(id, a, b): &(i64, Option<i64>, Option<String>)| format!("({id}, {}, {})", number(*a), text(b));
    rows.iter().map(row).collect::<Vec<_>>().join(", ")
}

fn insert(random: &mut Seeded, before: &Rows) -> Step {
    let source: Vec<_> = (0..random.usize(1..6))
        .map(|_| {
            let b = ["x", "it", "ø"][random.usize(..3)];
            (random.i64(0..60), (random.u8(..5) > 0).then(|| random.i64(-9..10)), random.bool().then(|| b.to_owned()))
        })
        .collect();
    let mut rows = before.clone();
    let list = values(&source);
    let distinct = source.iter().map(|(id, ..)| *id).collect::<std::collections::BTreeSet<_>>().len() == source.len();
    match random.u8(..4) {
        0 => {
            let is_new = distinct && source.iter().all(|(id, ..)| !rows.contains_key(id));
            rows.extend(source.iter().cloned().map(|(id, a, b)| (id, (a, b))));
            let after = is_new.then_some((rows, source.len() as u64));
            Step { statement: format!("INSERT INTO t VALUES {list}"), after }
        }
        1 => {
            rows.extend(source.iter().cloned().map(|(id, a, b)| (id, (a, b))));
            let statement = format!("INSERT OR REPLACE INTO t VALUES {list}");
            Step { statement, after: Some((rows, source.len() as u64)) }
        }
        2 => {
            let mut count = 0;
            for (id, a, b) in source {
                if let std::collections::btree_map::Entry::Vacant(place) = rows.entry(id) {
                    place.insert((a, b));
                    count += 1;
                }
            }
            Step {
                statement: format!("INSERT INTO t VALUES {list} ON CONFLICT DO NOTHING"),
                after: Some((rows, count)),
            }
        }
        _ => {
            for (id, a, b) in source.iter().cloned() {
                let row = rows.entry(id).or_insert((None, b));
                // A new row has the source's number.
                row.0 = if before.contains_key(&id) { row.0.zip(a).map(|(old, new)| old + new) } else { a };
            }
            let statement = format!("INSERT INTO t VALUES {list} ON CONFLICT (id) DO UPDATE SET a = t.a + excluded.a");
            Step { statement, after: distinct.then_some((rows, source.len() as u64)) }
        }
    }
}

fn update(random: &mut Seeded, before: &Rows) -> Step {
    let mut rows = before.clone();
    let (rest, add) = (random.i64(0..4), random.i64(-3..4));
    match random.u8(..3) {
        0 => {
            let mut count = 0;
            for (id, (a, b)) in &mut rows {
                if id % 4 == rest {
                    *a = a.map(|a| a + add);
                    *b = b.as_ref().map(|b| format!("{b}!"));
                    count += 1;
                }
            }
            let statement = format!("UPDATE t SET a = a + ({add}), b = b || '!' WHERE id % 4 = {rest}");
            Step { statement, after: Some((rows, count)) }
        }
        1 => {
            let chosen: Vec<i64> =
                rows.keys().copied().filter(|id| before.get(&(id - 1)).is_some_and(|row| row.0 > Some(0))).collect();
            for id in &chosen {
                rows.get_mut(id).unwrap().0 = None;
            }
            let statement = "UPDATE t AS u SET a = NULL WHERE id IN (SELECT id + 1 FROM t WHERE a > 0)".to_owned();
            Step { statement, after: Some((rows, chosen.len() as u64)) }
        }
        _ => {
            let (moved, mut after): (Rows, Rows) = rows.into_iter().partition(|(id, _)| id % 4 == rest);
            let count = moved.len() as u64;
            let is_free = moved.keys().all(|id| !after.contains_key(&(id + add)));
            after.extend(moved.into_iter().map(|(id, row)| (id + add, row)));
            let statement = format!("UPDATE t SET id = id + ({add}) WHERE id % 4 = {rest}");
            Step { statement, after: is_free.then_some((after, count)) }
        }
    }
}

fn delete(random: &mut Seeded, before: &Rows) -> Step {
    let bound = random.i64(-9..5);
    let id = random.i64(0..60);
    type Condition = Box<dyn Fn(i64, &Option<i64>) -> bool>;
    let (condition, holds): (String, Condition) = match random.u8(..4) {
        0 => (format!("a < {bound}"), Box::new(move |_, a| a.is_some_and(|a| a < bound))),
        1 => (format!("id = {id}"), Box::new(move |key, _| key == id)),
        2 => {
            let low: Vec<i64> = before.iter().filter(|(_, row)| row.0 < Some(bound)).map(|(id, _)| id + 2).collect();
            (
                format!("id IN (SELECT id + 2 FROM t WHERE a IS NULL OR a < {bound})"),
                Box::new(move |key, _| low.contains(&key)),
            )
        }
        _ => (
            format!("abs(id - {id}) < 2 AND a IS NOT NULL"),
            Box::new(move |key, a| (key - id).abs() < 2 && a.is_some()),
        ),
    };
    let after: Rows =
        before.iter().filter(|(id, row)| !holds(**id, &row.0)).map(|(id, row)| (*id, row.clone())).collect();
    let count = (before.len() - after.len()) as u64;
    Step { statement: format!("DELETE FROM t WHERE {condition}"), after: Some((after, count)) }
}

fn merge(random: &mut Seeded, before: &Rows) -> Step {
    let source: Vec<(i64, i64)> = (0..random.usize(1..6)).map(|_| (random.i64(0..60), random.i64(-9..10))).collect();
    let mut rows = before.clone();
    let mut count = 0;
    let mut is_error = false;
    let mut touched = Vec::new();
    for &(id, a) in &source {
        match (before.contains_key(&id), a < 0) {
            (true, true) => drop(rows.remove(&id)),
            (true, false) => drop(rows.get_mut(&id).map(|row| row.0 = row.0.map(|old| old + a))),
            (false, true) => continue,
            (false, false) => drop(rows.insert(id, (Some(a), None))),
        }
        is_error |= touched.contains(&id);
        touched.push(id);
        count += 1;
    }
    let list = source.iter().map(|(id, a)| format!("({id}, {a})")).collect::<Vec<_>>().join(", ");
    let statement = format!(
        "MERGE INTO t USING (VALUES {list}) AS s(id, a) ON t.id = s.id WHEN MATCHED AND s.a < 0 THEN DELETE \
         WHEN MATCHED THEN UPDATE SET a = t.a + s.a WHEN NOT MATCHED AND s.a >= 0 THEN INSERT (id, a) VALUES (s.id, s.a)"
    );
    Step { statement, after: (!is_error).then_some((rows, count)) }
}

#[test]
fn random_histories_give_what_a_map_gives() {
    let mut random = Seeded::new("random_histories_give_what_a_map_gives");
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        run(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR)").await.unwrap();
        run(&session, "CREATE INDEX by_a ON t (a, b)").await.unwrap();
        let mut expected = Rows::new();
        for _ in 0..150 {
            let step = match random.u8(..10) {
                0..4 => insert(&mut random, &expected),
                4..6 => update(&mut random, &expected),
                6 => delete(&mut random, &expected),
                7..9 => merge(&mut random, &expected),
                _ => Step { statement: "CALL flush('t')".to_owned(), after: Some((expected.clone(), 0)) },
            };
            let explained = run_explain(&session, &step.statement).await;
            assert_eq!(rows(&session, "FROM t").await, expected, "EXPLAIN {}: {explained}", step.statement);
            let done = run(&session, &step.statement).await;
            match step.after {
                Some((after, count)) => {
                    assert_eq!(done, Ok(count), "{}\n{expected:?}", step.statement);
                    expected = after;
                }
                None => assert!(done.is_err_and(|error| error.contains("nothing was changed")), "{}", step.statement),
            }
            assert_eq!(rows(&session, "FROM t").await, expected, "{}", step.statement);
            let some: Rows = expected
                .iter()
                .filter(|(id, _)| [7, 8, 30].contains(*id))
                .map(|(id, row)| (*id, row.clone()))
                .collect();
            assert_eq!(rows(&session, "SELECT * FROM t WHERE id IN (7, 8, 30, 7)").await, some);
            let a = random.i64(0..5);
            let some: Rows = expected
                .iter()
                .filter(|(id, (of, _))| **id < 40 && [Some(a), Some(100)].contains(of))
                .map(|(id, row)| (*id, row.clone()))
                .collect();
            assert_eq!(
                rows(&session, &format!("SELECT * FROM t WHERE a IN ({a}, 100, {a}, NULL) AND id < 40")).await,
                some
            );
            let counted = answer(&session, "SELECT count(*) FROM t").await;
            assert_eq!(number(counted[0].column(0), 0), Some(expected.len() as i64));
        }
    });
}

#[test]
fn rows_are_looked_up_by_the_index_that_has_the_fewest() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        run(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR, c DOUBLE)").await.unwrap();
        let rows = "SELECT value, value % 3, 'b' || (value % 500), value + 0.0 FROM generate_series(1, 9000)";
        run(&session, &format!("INSERT INTO t {rows}")).await.unwrap();
        for index in ["by_a ON t (a)", "by_b ON t (b)", "by_b_and_a ON t (b, a)", "by_c ON t (c)"] {
            run(&session, &format!("CREATE INDEX {index}")).await.unwrap();
        }
        let expected = [
            ("b = 'b7'", Some("by_b, values=1"), 18),
            ("b = 'b7' AND a = 1", Some("by_b_and_a, values=1"), 6),
            ("b IN ('b7', 'b8', 'no') AND a > 1", Some("by_b, values=3"), 12),
            ("a = 5 AND b > 'b2'", Some("by_a, values=1"), 0),
            // Not looked up: too many rows, no value for the first column, an unsupported type.
            ("a = 1", None, 3000),
            ("b > 'b7'", None, 576),
            ("c = 7", None, 1),
        ];
        let is_flushed = [false, true].into_iter().flat_map(|is_flushed| expected.map(|case| (is_flushed, case)));
        for (is_flushed, (condition, index, count)) in is_flushed {
            if is_flushed {
                run(&session, "CALL flush('t')").await.unwrap();
            }
            let counted = answer(&session, &format!("SELECT count(c) FROM t WHERE {condition}")).await;
            assert_eq!(number(counted[0].column(0), 0), Some(count), "{condition}");
            let plan = answer(&session, &format!("EXPLAIN SELECT c FROM t WHERE {condition}")).await;
            let plan = arrow_cast::pretty::pretty_format_batches(&plan).unwrap().to_string();
            match index {
                Some(index) => assert!(plan.contains(&format!("index={index}")), "{condition}: {plan}"),
                None => assert!(!plan.contains("index="), "{condition}: {plan}"),
            }
        }
    });
}

#[test]
fn conditions_on_expressions_use_the_index_of_the_column_that_they_generate() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        for statement in [
            "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR)",
            "INSERT INTO t SELECT value, value % 3000, 'B' || value FROM generate_series(1, 9000)",
            "ALTER TABLE t ADD COLUMN lower_b VARCHAR GENERATED ALWAYS AS (lower(b)) STORED",
            "ALTER TABLE t ADD COLUMN next_a BIGINT GENERATED ALWAYS AS (a + 1) STORED",
            "CREATE INDEX by_b ON t (lower(b))",
            "CREATE INDEX by_a ON t ((a + 1))",
        ] {
            run(&session, statement).await.unwrap();
        }
        for (condition, index, count) in [
            ("lower(b) = 'b7'", Some("by_b, values=1"), 1),
            ("x.a + 1 = 8", Some("by_a, values=1"), 3),
            ("lower(x.b) IN ('b7', 'b8') AND a + 1 < 100", Some("by_b, values=2"), 2),
            ("upper(b) = 'B7'", None, 1),
            ("a + 2 = 8", None, 3),
        ] {
            let counted = answer(&session, &format!("SELECT count(*) FROM t AS x WHERE {condition}")).await;
            assert_eq!(number(counted[0].column(0), 0), Some(count), "{condition}");
            let plan = answer(&session, &format!("EXPLAIN SELECT id FROM t AS x WHERE {condition}")).await;
            let plan = arrow_cast::pretty::pretty_format_batches(&plan).unwrap().to_string();
            match index {
                Some(index) => assert!(plan.contains(&format!("index={index}")), "{condition}: {plan}"),
                None => assert!(!plan.contains("index="), "{condition}: {plan}"),
            }
        }
    });
}

async fn run_explain(session: &Session, statement: &str) -> String {
    if statement.starts_with("CALL") {
        return String::new();
    }
    let frame = session.sql(&format!("EXPLAIN {statement}")).await.unwrap();
    let plan = frame.collect().await.unwrap();
    let text = arrow_cast::pretty::pretty_format_batches(&plan).unwrap().to_string();
    assert!(text.contains("ChangeExec: "), "{text}");
    text
}

/// Runs a plan that was made before another commit, which makes it wrong.
#[test]
fn a_change_reads_the_commit_that_it_replaces() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        run(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR)").await.unwrap();
        run(&session, "INSERT INTO t VALUES (1, 10, NULL)").await.unwrap();
        let state = session.context().state();
        let first = session.sql("UPDATE t SET a = a + 1").await.unwrap();
        let second = session.sql("UPDATE t SET a = a * 2").await.unwrap();
        let (first, second) =
            (first.create_physical_plan().await.unwrap(), second.create_physical_plan().await.unwrap());
        for plan in [first, second] {
            datafusion::physical_plan::collect(plan, state.task_ctx()).await.unwrap();
        }
        assert_eq!(rows(&session, "FROM t").await, Rows::from([(1, (Some(22), None))]));
        let late = session.sql("UPDATE t SET a = 0").await.unwrap();
        run(&session, "ALTER TABLE t ADD COLUMN c INT").await.unwrap();
        let error = late.collect().await.unwrap_err().to_string();
        assert!(error.contains("have changed since the statement was planned"), "{error}");
    });
}

#[test]
fn a_statement_reads_one_commit_of_all_tables() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        for name in ["t", "u"] {
            run(&session, &format!("CREATE TABLE {name} (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR)")).await.unwrap();
            run(&session, &format!("INSERT INTO {name} VALUES (1, 1, 'old')")).await.unwrap();
        }
        run(&session, "CREATE VIEW v AS SELECT t.id, t.a, u.b FROM t JOIN u ON t.id = u.id").await.unwrap();
        let before = session.sql("SELECT * FROM v WHERE id IN (SELECT id FROM t)").await.unwrap();
        run(&session, "UPDATE u SET b = 'new'").await.unwrap();
        run(&session, "DELETE FROM t").await.unwrap();
        assert_eq!(read_rows(&before.collect().await.unwrap()), Rows::from([(1, (Some(1), Some("old".to_owned())))]));
        assert_eq!(rows(&session, "FROM v").await, Rows::new());
    });
}

#[test]
fn a_statement_that_is_stopped_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let session = BlockingSession::new(open(folder.path())).unwrap();
    session.run("CREATE TABLE t (id BIGINT PRIMARY KEY)").unwrap();
    let statement = "INSERT INTO t SELECT a.value * 100000 + b.value FROM generate_series(1, 100000) a CROSS JOIN generate_series(1, 99999) b";
    let stop = Stop::new();
    let mut stopped = session.run_in(statement, 0..statement.len(), Some(&stop)).unwrap();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        stop.stop();
    });
    assert!(matches!(stopped.next(), Some(Err(Error::Stopped))));
    stopper.join().unwrap();
    // This waits until the abandoned transaction has ended.
    let inserted = session.run("INSERT INTO t VALUES (-1)").unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(inserted[0].column(0).as_primitive::<UInt64Type>().value(0), 1);
    let counted = session.run("SELECT count(*) FROM t").unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(number(counted[0].column(0), 0), Some(1));
}

#[test]
fn a_statement_is_either_stopped_or_done() {
    let folder = tempfile::tempdir().unwrap();
    let session = BlockingSession::new(open(&folder.path().join("shop"))).unwrap();
    session.run("CREATE TABLE t (id BIGINT PRIMARY KEY)").unwrap();
    // Whether the statement came to its end before it was stopped.
    let ran = |text: &str, delay: Option<u64>| -> bool {
        let stop = Stop::new();
        let stopper = delay.map(|delay| {
            let stop = stop.clone();
            if delay == 0 {
                stop.stop();
            }
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_micros(delay));
                stop.stop();
            })
        });
        let answer = session.run_in(text, 0..text.len(), Some(&stop));
        let rows = answer.and_then(Iterator::collect::<Result<Vec<_>, _>>);
        stopper.into_iter().for_each(|stopper| stopper.join().unwrap());
        match rows {
            Ok(_) => true,
            Err(Error::Stopped) => false,
            Err(other) => panic!("{other}"),
        }
    };
    let counted = |table: &str| {
        let rows =
            session.run(&format!("SELECT count(*) FROM {table}")).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        number(rows[0].column(0), 0).unwrap()
    };
    let mut random = Seeded::new("stopped or done");
    let mut inserted = 0;
    for round in 0..80_i64 {
        let delay = match round {
            0 => None,
            1 => Some(0),
            _ => Some(random.u64(1..4000)),
        };
        let first = round * 1000;
        let insert =
            format!("INSERT INTO t (id) SELECT value FROM generate_series({first}, {}) RETURNING id", first + 299);
        let is_done = ran(&insert, delay);
        assert!(round > 1 || is_done == (round == 0));
        inserted += if is_done { 300 } else { 0 };
        assert_eq!(counted("t"), inserted, "round {round}");
        let file = folder.path().join(format!("{round}.parquet"));
        let is_done = ran(&format!("COPY (SELECT * FROM t) TO '{}'", file.display()), delay);
        assert_eq!(file.exists(), is_done, "round {round}");
        let is_done = ran(&format!("ALTER TABLE t ADD COLUMN c{round} BIGINT"), delay);
        let columns = session.columns("t").unwrap();
        assert_eq!(columns.column_with_name(&format!("c{round}")).is_some(), is_done, "round {round}");
        let is_done = ran(&format!("CREATE INDEX i{round} ON t (c0)"), delay);
        assert_eq!(session.run(&format!("DROP INDEX i{round}")).is_ok(), is_done, "round {round}");
        let is_done = ran(&format!("CREATE TABLE u{round} AS SELECT id FROM t"), delay);
        assert_eq!(session.run(&format!("DROP TABLE u{round}")).is_ok(), is_done, "round {round}");
        session.run("BEGIN").unwrap();
        session.run(&format!("INSERT INTO t (id) VALUES ({})", first + 500)).unwrap().for_each(drop);
        match ran("COMMIT", delay) {
            true => inserted += 1,
            false => session.run("ROLLBACK").unwrap().for_each(drop),
        }
        assert_eq!(counted("t"), inserted, "round {round}");
    }
}

#[test]
fn sessions_change_one_database_by_turns() {
    let folder = tempfile::tempdir().unwrap();
    let open = |wait: u64| {
        let builder = Session::builder().database(folder.path()).database_wait(std::time::Duration::from_secs(wait));
        BlockingSession::new(builder.build().unwrap()).unwrap()
    };
    let count = |session: &BlockingSession| {
        let rows = session.run("SELECT count(*) FROM t").unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        number(rows[0].column(0), 0).unwrap()
    };
    let run = |session: &BlockingSession, text: &str| -> Result<(), Error> {
        session.run(text)?.try_for_each(|batch| batch.map(drop))
    };
    let (one, other) = (open(60), open(60));
    run(&one, "CREATE TABLE t (id BIGINT PRIMARY KEY)").unwrap();
    run(&one, "CREATE SEQUENCE s").unwrap();
    for round in 0..10_i64 {
        run(&one, &format!("INSERT INTO t VALUES ({})", 2 * round)).unwrap();
        assert_eq!(count(&other), 2 * round + 1);
        run(&other, &format!("INSERT INTO t VALUES ({})", 2 * round + 1)).unwrap();
        assert_eq!(count(&one), 2 * round + 2);
        run(&one, "SELECT nextval('s')").unwrap();
    }
    // A definition of the other session is seen.
    run(&other, "ALTER TABLE t ADD COLUMN a VARCHAR").unwrap();
    run(&one, "UPDATE t SET a = 'x' WHERE id = 0").unwrap();
    run(&other, "CREATE TABLE u AS SELECT * FROM t").unwrap();
    run(&one, "INSERT INTO u SELECT id + 1000, a FROM t").unwrap();

    // A transaction is not interrupted, and the others can be read meanwhile.
    let hasty = open(0);
    run(&one, "BEGIN").unwrap();
    run(&one, "DELETE FROM t").unwrap();
    let refused = run(&hasty, "INSERT INTO t VALUES (-1, NULL)");
    assert!(
        matches!(&refused, Err(Error::Table(error)) if matches!(**error, lath_table::Error::InUse { .. })),
        "{refused:?}"
    );
    assert_eq!((count(&hasty), count(&one)), (20, 0));
    run(&one, "ROLLBACK").unwrap();
    // Plans of changes that are in use keep the turn, too.
    let planned = one.session();
    let frame = wait(async { planned.sql("INSERT INTO t VALUES (-2, NULL)").await.unwrap() });
    assert!(run(&hasty, "INSERT INTO t VALUES (-1, NULL)").is_err());
    wait(async { frame.collect().await.unwrap() });
    run(&other, "INSERT INTO t VALUES (-1, NULL)").unwrap();
    assert_eq!(count(&one), 22);

    // Both at once.
    std::thread::scope(|scope| {
        for (session, first) in [(&one, 1000), (&other, 2000)] {
            scope.spawn(move || {
                for id in first..first + 100 {
                    run(session, &format!("INSERT INTO t VALUES ({id}, NULL)")).unwrap();
                }
            });
        }
    });
    assert_eq!(count(&hasty), 222);
    // Temporary views are changed without the database.
    run(&one, "BEGIN").unwrap();
    run(&hasty, "CREATE TEMPORARY VIEW v AS SELECT 1 AS a").unwrap();
    run(&hasty, "DROP VIEW v").unwrap();
    run(&one, "ROLLBACK").unwrap();
    drop((one, other, hasty));
    let database =
        lath_table::Database::open(folder.path(), TableOptions::new().wait(std::time::Duration::ZERO)).unwrap();
    assert!(database.table("t").unwrap().check().unwrap().is_intact());
}

#[test]
fn a_session_that_only_reads_sees_what_others_write_later() {
    let folder = tempfile::tempdir().unwrap();
    let open = || BlockingSession::new(open(folder.path())).unwrap();
    let run = |session: &BlockingSession, text: &str| session.run(text).unwrap().for_each(|batch| drop(batch.unwrap()));
    let count = |session: &BlockingSession| {
        let rows = session.run("SELECT count(*) FROM t").unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        number(rows[0].column(0), 0).unwrap()
    };
    let first = open();
    run(&first, "CREATE TABLE t (id BIGINT PRIMARY KEY)");
    drop(first);
    // Opened while no process writes.
    let reader = open();
    assert_eq!(count(&reader), 0);
    for round in 0..3 {
        let writer = open();
        run(&writer, &format!("INSERT INTO t VALUES ({})", 2 * round));
        assert_eq!(count(&reader), 2 * round + 1);
        run(&writer, &format!("INSERT INTO t VALUES ({})", 2 * round + 1));
        assert_eq!(count(&reader), 2 * round + 2);
        run(&writer, &format!("CREATE TABLE u{round} (id BIGINT PRIMARY KEY)"));
        run(&reader, &format!("SELECT * FROM u{round}"));
    }
    // A first statement that changes every row.
    let writer = open();
    run(&writer, "TRUNCATE TABLE t");
    assert_eq!(count(&reader), 0);
}

#[test]
fn a_statement_that_waits_for_another_session_is_stopped_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let builder = Session::builder().database(folder.path()).database_wait(std::time::Duration::from_secs(600));
        BlockingSession::new(builder.build().unwrap()).unwrap()
    };
    let run = |session: &BlockingSession, text: &str| session.run(text).unwrap().for_each(|batch| drop(batch.unwrap()));
    let (writer, other) = (open(), open());
    run(&writer, "CREATE TABLE t (id BIGINT PRIMARY KEY)");
    run(&writer, "BEGIN");
    run(&writer, "INSERT INTO t VALUES (1)");
    let (text, stop) = ("INSERT INTO t VALUES (2)", Stop::new());
    let stopper = {
        let stop = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            stop.stop();
        })
    };
    let stopped = other.run_in(text, 0..text.len(), Some(&stop));
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    stopper.join().unwrap();
    // Neither this nor the next change waits for the stopped one, which would be for ten minutes.
    let rows = other.run("SELECT count(*) FROM t").unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(number(rows[0].column(0), 0), Some(0));
    run(&writer, "COMMIT");
    run(&other, "INSERT INTO t VALUES (3)");
    let rows = writer.run("SELECT sum(id) FROM t").unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(number(rows[0].column(0), 0), Some(4));
}

#[test]
fn tables_of_folders_are_attached() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("stock");
    wait(async {
        let session = Session::new();
        let error = run(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY)").await.unwrap_err();
        assert!(error.contains("lath sql --database FOLDER"), "{error}");
        let create = format!(
            "CREATE EXTERNAL TABLE t (id BIGINT, a BIGINT, b VARCHAR, PRIMARY KEY (id)) STORED AS LATH LOCATION '{}'",
            at.display()
        );
        run(&session, &create).await.unwrap();
        assert_eq!(run(&session, "INSERT INTO t VALUES (1, 10, 'x'), (2, 20, NULL)").await, Ok(2));
        assert_eq!(run(&session, "UPDATE t SET a = a + 1 WHERE b IS NULL").await, Ok(1));
        run(&session, "CALL keep_snapshot('t', 'first')").await.unwrap();
        assert_eq!(run(&session, "DELETE FROM t").await, Ok(2));
        assert_eq!(rows(&session, "FROM snapshot('t', 'first')").await.len(), 2);
        run(&session, "DROP TABLE t").await.unwrap();
        assert!(session.sql("FROM t").await.is_err());
    });
    // The detached table still exists.
    let table = Table::open(&at, TableOptions::new()).unwrap();
    assert_eq!((table.count().unwrap(), table.snapshot_named("first").unwrap().count().unwrap()), (0, 2));
    drop(table);
    wait(async {
        let session = Session::new();
        let attach =
            format!("CREATE EXTERNAL TABLE s STORED AS LATH LOCATION '{}' OPTIONS (read_only true)", at.display());
        run(&session, &attach).await.unwrap();
        assert_eq!(rows(&session, "FROM snapshot('s', 'first')").await.len(), 2);
        let error = run(&session, "INSERT INTO s VALUES (1, 1, 'x')").await.unwrap_err();
        assert!(error.contains("read-only"), "{error}");
    });
}

#[test]
fn a_table_with_the_rows_of_a_query_is_made_whole_or_not() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = open(folder.path());
        let numbers = "SELECT value AS id, value * 2 AS twice FROM generate_series(1, 1000)";
        run(&session, &format!("CREATE TABLE t (PRIMARY KEY (id)) AS {numbers}")).await.unwrap();
        assert_eq!(run(&session, "DELETE FROM t WHERE twice > 1000").await, Ok(500));
        let twice = format!("CREATE TABLE u (PRIMARY KEY (id)) AS {numbers} UNION ALL SELECT 7, 7");
        let error = run(&session, &twice).await.unwrap_err();
        assert!(error.contains("there is a row with id = 7 already"), "{error}");
        // Another thread drops it.
        for _ in 0..500 {
            if session.sql("FROM u").await.is_err() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(session.sql("FROM u").await.is_err());
        // The table has the declared columns, with their nullability.
        let declared = "CREATE TABLE u (id BIGINT PRIMARY KEY, half DOUBLE NOT NULL) AS";
        let error = run(&session, &format!("{declared} SELECT 1, NULL")).await.unwrap_err();
        assert!(error.contains("\"half\" allows no nulls"), "{error}");
    });
}

#[test]
fn calls_publish_a_table_as_one_of_iceberg() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    wait(async {
        let session = open(&folder);
        let metadata = |number: u32| folder.join(format!("table-000001/metadata/v{number}.metadata.json"));
        let published = |number| format!("SELECT * FROM iceberg('{}')", metadata(number).display());
        run(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR)").await.unwrap();
        run(&session, "INSERT INTO t VALUES (1, 10, 'x'), (2, NULL, 'y'), (3, 30, NULL)").await.unwrap();
        run(&session, "CALL publish('t', keep => 600, max_age => 3600)").await.unwrap();
        let expected = rows(&session, "FROM t").await;
        assert_eq!(rows(&session, &published(1)).await, expected);
        run(&session, "DELETE FROM t WHERE id = 2").await.unwrap();
        assert_eq!(rows(&session, &published(1)).await, expected);
        run(&session, "CALL publish_now('t')").await.unwrap();
        assert_eq!(rows(&session, &published(2)).await, rows(&session, "FROM t").await);
        for (statement, expected) in [
            ("CALL publish('t', keep => 'long')", "keep and max_age"),
            ("CALL publish('t', keep => true)", "keep is none of them"),
            ("CALL publish('t', formats => 'hudi')", "formats are iceberg and delta"),
            ("CALL publish('t', max_ages => 3)", "max_ages is none of them"),
            ("CALL flush('t', keep => 3)", "only keep_history, publish, add_consumer and import take"),
            ("CALL publish('u')", "u"),
        ] {
            let error = run(&session, statement).await.unwrap_err();
            assert!(error.contains(expected), "{statement}: {error}");
        }
        run(&session, "CREATE TABLE ports (id BIGINT PRIMARY KEY, port SMALLINT UNSIGNED)").await.unwrap();
        run(&session, "INSERT INTO ports VALUES (1, 65535)").await.unwrap();
        let error = run(&session, "CALL publish('ports')").await.unwrap_err();
        assert!(error.contains("port: Iceberg has no type for the values of UInt16"), "{error}");
        run(&session, "CALL publish('ports', map_types => true)").await.unwrap();
        let ports = format!("SELECT id, port::BIGINT, port::VARCHAR FROM iceberg('{}/table-000002')", folder.display());
        assert_eq!(rows(&session, &ports).await, [(1, (Some(65535), Some("65535".to_owned())))].into());
        run(&session, "CALL publish('t', formats => 'delta')").await.unwrap();
        assert!(!metadata(2).exists() && folder.join("table-000001/_delta_log/00000000000000000000.json").exists());
        let delta = format!("SELECT * FROM delta('{}/table-000001')", folder.display());
        assert_eq!(rows(&session, &delta).await, rows(&session, "FROM t").await);
        run(&session, "CALL stop_publishing('t')").await.unwrap();
        assert!(!folder.join("table-000001/_delta_log").exists());
        let error = run(&session, "CALL publish_now('t')").await.unwrap_err();
        assert!(error.contains("not set to be published"), "{error}");
    });
}

#[test]
fn files_and_versions_of_lakes_are_imported() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("shop");
    wait(async {
        let session = open(&folder);
        run(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR)").await.unwrap();
        run(&session, "INSERT INTO t VALUES (1, 10, 'x'), (2, NULL, 'y'), (3, 30, NULL)").await.unwrap();
        run(&session, "CALL publish('t', formats => 'delta')").await.unwrap();
        let first = rows(&session, "FROM t").await;
        run(&session, "DELETE FROM t WHERE id = 2").await.unwrap();
        run(&session, "CALL publish_now('t')").await.unwrap();
        let lake = folder.join("table-000001");
        let lake = lake.display();
        run(&session, &format!("CALL import('newest', '{lake}', key => 'id')")).await.unwrap();
        run(&session, &format!("CALL import('oldest', '{lake}', key => 'id', at => 0, copy => true)")).await.unwrap();
        assert_eq!(rows(&session, "FROM newest").await, rows(&session, "FROM t").await);
        assert_eq!(rows(&session, "FROM oldest").await, first);
        run(&session, "INSERT INTO newest VALUES (2, 20, 'z')").await.unwrap();
        assert_eq!(rows(&session, "FROM newest").await.len(), 3);
        let plain = home.path().join("plain");
        std::fs::create_dir(&plain).unwrap();
        let copy = format!("COPY (SELECT id % 2 AS id, a, b FROM oldest) TO '{}/a.parquet'", plain.display());
        run(&session, &copy).await.unwrap();
        let plain = plain.display();
        for (statement, expected) in [
            (format!("CALL import('u', '{plain}', key => 'id')"), "two rows have the key"),
            (format!("CALL import('u', '{plain}', key => 'id', at => 3)"), "has no versions"),
            (format!("CALL import('u', '{lake}', key => 'id', at => 9)"), "latest version is"),
            (format!("CALL import('u', '{lake}', key => 'no')"), "no"),
            (format!("CALL import('u', '{lake}')"), "name the columns of the primary key"),
            (format!("CALL import('u', '{lake}', key => 'id', move => true)"), "move is none of them"),
            (format!("CALL import('t', '{lake}', key => 'id')"), "t"),
            (format!("CALL import('u', '{lake}/none', key => 'id')"), "none"),
        ] {
            let error = run(&session, &statement).await.unwrap_err();
            assert!(error.contains(expected), "{statement}: {error}");
        }
        assert!(run(&session, "FROM u").await.is_err());
        let folders = std::fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.path().is_dir()).count();
        assert_eq!(folders, 3);
    });
}

#[test]
fn columns_that_a_table_fills_and_comments_survive_reopening() {
    wait(async {
        let folder = tempfile::tempdir().unwrap();
        let session = open(folder.path());
        for statement in [
            "CREATE SEQUENCE s START 100",
            "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n BIGINT DEFAULT nextval('s'), \
             name VARCHAR, upper_name VARCHAR GENERATED ALWAYS AS (upper(name)) STORED)",
            "COMMENT ON COLUMN t.name IS 'as it is written'",
            "INSERT INTO t (name) VALUES ('a'), ('b')",
            "CALL flush('t')",
        ] {
            run(&session, statement).await.unwrap();
        }
        drop(session);
        let session = open(folder.path());
        run(&session, "UPDATE t SET name = 'changed' WHERE id = 1").await.unwrap();
        run(&session, "INSERT INTO t (name) VALUES ('c')").await.unwrap();
        assert_eq!(
            rows(&session, "SELECT id, n, upper_name FROM t ORDER BY id").await,
            [(1, (100, "CHANGED")), (2, (101, "B")), (3, (102, "C"))]
                .map(|(id, (n, name))| (id, (Some(n), Some(name.to_owned()))))
                .into()
        );
        let comments = "SELECT 1, CAST(NULL AS BIGINT), column_name || ': ' || comment FROM comments()";
        assert_eq!(rows(&session, comments).await[&1].1.as_deref(), Some("name: as it is written"));
        drop(session);
        let rows = RecordBatch::try_from_iter([(
            "id",
            std::sync::Arc::new(arrow_array::Int64Array::from(vec![9])) as arrow_array::ArrayRef,
        )])
        .unwrap();
        let table = lath_table::Database::open(folder.path(), TableOptions::new()).unwrap().table("t").unwrap();
        assert!(table.upsert(&rows).is_err());
    });
}
