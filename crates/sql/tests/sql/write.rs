//! Statements that write files, and reading them back.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use lath_parquet::{Dataset, DatasetOptions, ParquetFile, SortingColumn};
use lath_sql::Session;

use super::{answer, sorted, wait};

const ROWS: &str = "SELECT value AS id, value % 3 AS third, CASE WHEN value % 7 = 0 THEN NULL ELSE 'a/' || (value % 4) END AS name, \
                    date '2026-11-25' + CAST(value % 2 AS INT) AS day FROM generate_series(1, 1000)";

fn count(written: &[RecordBatch]) -> u64 {
    written[0].column(0).as_primitive::<UInt64Type>().value(0)
}

async fn failure(session: &Session, query: &str) -> String {
    let error = match session.sql(query).await {
        Ok(frame) => frame.collect().await.err(),
        Err(error) => Some(error),
    };
    error.unwrap_or_else(|| panic!("{query} is no error")).to_string()
}

/// The names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_copy_is_written_with_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let path = path.display();
    wait(async {
        let session = Session::new();
        let options = "profile lookup, bloom (id, name), sort 'day:desc, id', codec 'zstd:3', row_group_rows 400";
        let written = answer(&session, &format!("COPY ({ROWS}) TO '{path}' ({options})")).await;
        assert_eq!(count(&written), 1000);
        assert_eq!(sorted(&answer(&session, &format!("FROM '{path}'")).await), sorted(&answer(&session, ROWS).await));
        let file = ParquetFile::open(path.to_string()).unwrap();
        let row_group = file.metadata().row_group(0).unwrap();
        assert_eq!(file.metadata().row_counts(), [400, 400, 200]);
        let sorting = row_group.sorting_columns().unwrap();
        assert_eq!(sorting.len(), 2);
        assert!(sorting[0].descending && sorting[0].column_idx == 3);
        let has_filter = |leaf: usize| file.metadata().chunk(0, leaf).unwrap().bloom_filter().is_some();
        assert_eq!([0, 1, 2, 3].map(has_filter), [true, false, true, false]);
        let first = file.scan().select(["day", "id"]).limit(2).build().unwrap().next().unwrap().unwrap();
        assert!(sorted(std::slice::from_ref(&first))[1].contains("2026-11-26 | 1 "), "{first:?}");

        let refusal = failure(&session, &format!("COPY (SELECT 1 AS x) TO '{path}'")).await;
        assert!(refusal.contains("exists; add the option overwrite true"), "{refusal}");
        answer(&session, &format!("COPY (SELECT 1 AS x) TO '{path}' (overwrite true)")).await;
        assert_eq!(ParquetFile::open(path.to_string()).unwrap().row_count(), 1);
        for (options, message) in [
            ("codec zip", "option codec: there is no codec zip"),
            ("colour red", "option colour: unknown option colour"),
            ("bloom y", "option bloom: there is no column y"),
        ] {
            let refusal = failure(&session, &format!("COPY (SELECT 1 AS x) TO '{path}-2.parquet' ({options})")).await;
            assert!(refusal.contains(message), "{refusal}");
        }
    });
    assert_eq!(names(folder.path()), ["x.parquet"]);
}

#[test]
fn rows_in_an_order_are_written_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let path = path.display();
    wait(async {
        let session = Session::new();
        answer(&session, &format!("COPY ({ROWS} ORDER BY name NULLS FIRST, id DESC) TO '{path}'")).await;
        let text = |batches| arrow_cast::pretty::pretty_format_batches(batches).unwrap().to_string();
        let read = answer(&session, &format!("SELECT id, name FROM '{path}'")).await;
        let ordered =
            answer(&session, &format!("SELECT id, name FROM ({ROWS}) ORDER BY name NULLS FIRST, id DESC")).await;
        assert_eq!(text(&read), text(&ordered));
    });
}

#[test]
fn a_copy_that_fails_or_is_explained_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let path = path.display();
    let late = "SELECT value, 1 / (value - 900000) AS x, value % 3 AS y FROM generate_series(1, 1000000)";
    wait(async {
        let session = Session::new();
        for target in [format!("'{path}.parquet'"), format!("'{path}' PARTITIONED BY (y)")] {
            let error = failure(&session, &format!("COPY ({late}) TO {target}")).await;
            assert!(error.to_lowercase().contains("divide by zero"), "{error}");
            assert!(names(folder.path()).is_empty(), "{:?}", names(folder.path()));
            let plan = answer(&session, &format!("EXPLAIN COPY ({late}) TO {target}")).await;
            assert!(sorted(&plan).concat().contains("lath, path="));
            assert!(names(folder.path()).is_empty());
        }
    });
}

#[test]
fn partitions_are_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let path = path.display();
    wait(async {
        let session = Session::new();
        let target = format!("'{path}' PARTITIONED BY (day, name) (sort 'id:desc')");
        assert_eq!(count(&answer(&session, &format!("COPY ({ROWS}) TO {target}")).await), 1000);
        assert_eq!(names(folder.path()), ["out"]);
        assert_eq!(names(&folder.path().join("out")), ["day=2026-11-25", "day=2026-11-26"]);
        assert_eq!(
            names(&folder.path().join("out/day=2026-11-25")),
            ["name=__HIVE_DEFAULT_PARTITION__", "name=a%2F0", "name=a%2F2"]
        );
        let read = format!("SELECT id, third, name, day FROM '{path}'");
        assert_eq!(sorted(&answer(&session, &read).await), sorted(&answer(&session, ROWS).await));
        let refusal = failure(&session, &format!("COPY ({ROWS}) TO {target}")).await;
        assert!(refusal.contains("has files; choose another folder"), "{refusal}");
        let of_none = format!("COPY (SELECT * FROM ({ROWS}) WHERE id < 0) TO '{path}_of_none' PARTITIONED BY (day)");
        assert_eq!(count(&answer(&session, &of_none).await), 0);
        let read = format!("SELECT id, third, name, day FROM '{path}_of_none'");
        assert_eq!(sorted(&answer(&session, &read).await), [""; 0]);
        fs::remove_dir_all(folder.path().join("out_of_none")).unwrap();
        for (columns, message) in [("nowhere", "nowhere"), ("id, third, name, day", "PARTITIONED BY names all columns")]
        {
            let query = format!("COPY ({ROWS}) TO '{path}2' PARTITIONED BY ({columns})");
            let refusal = failure(&session, &query).await;
            assert!(refusal.contains(message), "{refusal}");
        }
    });
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn rows_are_inserted_as_new_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let path = path.display();
    wait(async {
        let session = Session::new();
        let columns = "id BIGINT, third BIGINT, name VARCHAR, day DATE";
        let create =
            format!("CREATE EXTERNAL TABLE t ({columns}) STORED AS PARQUET LOCATION '{path}' OPTIONS (bloom 'id')");
        answer(&session, &create).await;
        assert_eq!(count_rows(&session, "t").await, 0);
        assert_eq!(count(&answer(&session, &format!("INSERT INTO t {ROWS}")).await), 1000);
        assert_eq!(
            count(&answer(&session, "INSERT INTO t VALUES (2000, 0, 'x', NULL), (2001, 1, NULL, NULL)").await),
            2
        );
        assert_eq!(count_rows(&session, "t").await, 1002);
        assert_eq!(names(&folder.path().join("t")).len(), 2);
        let found = answer(&session, "SELECT name FROM t WHERE id = 2000").await;
        assert_eq!(sorted(&found), sorted(&answer(&session, "SELECT 'x' AS name").await));
        let files = Dataset::open([folder.path().join("t")], DatasetOptions::new()).unwrap();
        for file in files.files() {
            let file = file.open().unwrap();
            assert!(file.metadata().chunk(0, 0).unwrap().bloom_filter().is_some());
        }
        // The next query finds a file that another program adds.
        answer(&session, &format!("COPY ({ROWS}) TO '{path}/other.parquet'")).await;
        assert_eq!(count_rows(&session, "t").await, 2002);
        for statement in
            ["DELETE FROM t WHERE id = 1", "UPDATE t SET id = 1", "INSERT OVERWRITE t VALUES (1, 1, 'x', NULL)"]
        {
            let refusal = failure(&session, statement).await;
            assert!(refusal.contains("Parquet files"), "{statement}: {refusal}");
        }
        assert_eq!(count_rows(&session, "t").await, 2002);
    });
}

async fn count_rows(session: &Session, table: &str) -> i64 {
    let answer = answer(session, &format!("SELECT count(*) FROM {table}")).await;
    answer[0].column(0).as_primitive::<arrow_array::types::Int64Type>().value(0)
}

#[test]
fn rows_are_inserted_into_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let path = path.display();
    wait(async {
        let session = Session::new();
        let columns = "id BIGINT, name VARCHAR, third BIGINT";
        let create = format!(
            "CREATE EXTERNAL TABLE t ({columns}) STORED AS PARQUET PARTITIONED BY (third) LOCATION '{path}' WITH ORDER (id DESC)"
        );
        let rows = format!("SELECT id, name, third FROM ({ROWS})");
        answer(&session, &create).await;
        answer(&session, &format!("INSERT INTO t {rows}")).await;
        answer(&session, &format!("INSERT INTO t {rows}")).await;
        assert_eq!(names(&folder.path().join("t")), ["third=0", "third=1", "third=2"]);
        assert_eq!(count_rows(&session, "t").await, 2000);
        let both = format!("SELECT * FROM ({rows}) UNION ALL SELECT * FROM ({rows})");
        assert_eq!(sorted(&answer(&session, "FROM t").await), sorted(&answer(&session, &both).await));
        let files = Dataset::open([folder.path().join("t")], DatasetOptions::new()).unwrap();
        let file = files.files()[0].open().unwrap();
        assert!(file.metadata().row_group(0).unwrap().sorting_columns().unwrap()[0].descending);
        assert_eq!(SortingColumn::descending("id").path, "id");

        // Without declared columns, the table has the files' columns.
        answer(&session, &format!("CREATE EXTERNAL TABLE u STORED AS PARQUET LOCATION '{path}'")).await;
        answer(&session, "INSERT INTO u VALUES (5000, NULL, 7)").await;
        assert_eq!(names(&folder.path().join("t")).len(), 4);
        assert_eq!(count_rows(&session, "t").await, 2001);
    });
}

#[test]
fn files_are_read_with_options() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    wait(async {
        let session = Session::new();
        answer(&session, &format!("COPY (SELECT 1 AS a, 2 AS b) TO '{}'", at("1.parquet"))).await;
        answer(
            &session,
            &format!("COPY (SELECT * FROM (VALUES (3, 4), (5, 6)) AS t(a, c) ORDER BY a) TO '{}'", at("2.parquet")),
        )
        .await;
        let query = format!(
            "SELECT number, right(file_name, 9) AS file, c, a FROM read_parquet('{}', union => true, file_name => true, \
             row_number => 'number') AS t WHERE a > 1 OR number = 0 ORDER BY a",
            at("*.parquet")
        );
        let expected = "SELECT * FROM (VALUES (0, '1.parquet', NULL, 1), (0, '2.parquet', 4, 3), (1, '2.parquet', 6, 5)) \
                        AS t(number, file, c, a)";
        assert_eq!(sorted(&answer(&session, &query).await), sorted(&answer(&session, expected).await));
        let several =
            format!("SELECT count(*) FROM read_parquet(['{}', '{}'], union => true)", at("1.parquet"), at("2.parquet"));
        assert_eq!(sorted(&answer(&session, &several).await), sorted(&answer(&session, "SELECT 3").await));
        for (arguments, message) in [
            (String::new(), "name a file"),
            (format!("'{}', colour => true", at("1.parquet")), "unknown argument colour"),
            (format!("'{}', union => 3", at("1.parquet")), "has to be true or false"),
            (format!("'{}', file_name => 'a'", at("1.parquet")), "there is a column a already"),
            (format!("'{}'", at("nowhere.parquet")), "nowhere.parquet"),
        ] {
            let refusal = failure(&session, &format!("FROM read_parquet({arguments})")).await;
            assert!(refusal.contains(message), "{arguments}: {refusal}");
        }
    });
}

#[test]
fn files_of_other_formats_are_tables_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("x.csv"), "id,name\n1,a\n2,b\n").unwrap();
    fs::write(at("x.tsv"), "id\tname\n1\ta\n2\tb\n").unwrap();
    fs::write(at("x.jsonl"), "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\n").unwrap();
    wait(async {
        let session = Session::new();
        answer(&session, &format!("COPY (FROM '{}') TO '{}' STORED AS ARROW", at("x.csv"), at("x.arrow"))).await;
        let expected = sorted(&answer(&session, "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(id, name)").await);
        for name in ["x.csv", "x.tsv", "x.jsonl", "x.arrow", "*.csv"] {
            let read = answer(&session, &format!("SELECT id, name FROM '{}'", at(name))).await;
            assert_eq!(sorted(&read), expected, "{name}");
        }
        let refusal = failure(&session, &format!("FROM '{}'", at("nowhere.csv"))).await;
        assert!(refusal.contains("nowhere.csv"), "{refusal}");
        assert_eq!(
            sorted(&answer(&session, "SELECT sqrt(4.0) AS x").await),
            sorted(&answer(&session, "SELECT 2.0 AS x").await)
        );
    });
}
