//! CSV and JSON lines as tables: by their names, and by CREATE EXTERNAL TABLE. The expected types follow from the text of the files:
//! numbers with leading zeros are text, and every digit of a number counts.

use std::fs;
use std::path::Path;

use lath_sql::Session;

use super::{answer, sorted, wait};

async fn failure(session: &Session, query: &str) -> String {
    let error = match session.sql(query).await {
        Ok(frame) => frame.collect().await.err(),
        Err(error) => Some(error),
    };
    error.unwrap_or_else(|| panic!("{query} is no error")).to_string()
}

/// The columns of a table with their types.
async fn types(session: &Session, query: &str) -> Vec<String> {
    let frame = session.sql(query).await.unwrap();
    frame.schema().fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect()
}

const CSV: &str = "code,mixed,text,day\n007,9007199254740993,\"\",2024-01-31\n010,1.5,,2024-02-01\n011,,x,\n";
const TYPES: [&str; 4] = ["code Utf8", "mixed Utf8", "text Utf8", "day Date32"];

#[test]
fn csv_keeps_digits_and_zeros_however_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv").display().to_string();
    fs::write(&path, CSV).unwrap();
    wait(async {
        let session = Session::new();
        answer(&session, &format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{path}'")).await;
        answer(&session, &format!("CREATE EXTERNAL TABLE f STORED AS CSV LOCATION '{}'", folder.path().display()))
            .await;
        let expected = "SELECT * FROM (VALUES ('007', '9007199254740993', '', DATE '2024-01-31'), \
                        ('010', '1.5', NULL, DATE '2024-02-01'), ('011', NULL, 'x', NULL)) AS t(code, mixed, text, day)";
        let expected = sorted(&answer(&session, expected).await);
        for table in [format!("'{path}'"), "e".to_owned(), "f".to_owned()] {
            let query = format!("SELECT * FROM {table}");
            assert_eq!(types(&session, &query).await, TYPES, "{table}");
            assert_eq!(sorted(&answer(&session, &query).await), expected, "{table}");
            let found = answer(&session, &format!("SELECT count(*) AS n FROM {table} WHERE code = '007'")).await;
            assert_eq!(sorted(&found)[1], "| 1 |", "{table}");
        }
    });
}

#[test]
fn columns_of_one_name_and_of_directories_are_columns_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("twice.csv"), "a,a\n1,x\n2,y\n").unwrap();
    fs::create_dir_all(at("parts/k=1")).unwrap();
    fs::create_dir_all(at("parts/k=2")).unwrap();
    fs::write(at("parts/k=1/a.csv"), "id\n1\n").unwrap();
    fs::write(at("parts/k=2/b.csv"), "id\n2\n").unwrap();
    wait(async {
        let session = Session::new();
        let found = answer(&session, &format!("SELECT a, a_1 FROM '{}'", at("twice.csv"))).await;
        let expected = answer(&session, "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS t(a, a_1)").await;
        assert_eq!(sorted(&found), sorted(&expected));
        let location = at("parts");
        answer(&session, &format!("CREATE EXTERNAL TABLE inferred STORED AS CSV LOCATION '{location}'")).await;
        answer(
            &session,
            &format!("CREATE EXTERNAL TABLE declared (id BIGINT, k BIGINT) STORED AS CSV PARTITIONED BY (k) LOCATION '{location}'"),
        )
        .await;
        let expected = answer(&session, "SELECT * FROM (VALUES (1, 1), (2, 2)) AS t(id, k)").await;
        for table in [format!("'{location}/*/*.csv'"), "inferred".to_owned(), "declared".to_owned()] {
            let found = answer(&session, &format!("SELECT id, k FROM {table}")).await;
            assert_eq!(sorted(&found), sorted(&expected), "{table}");
        }
        answer(&session, "INSERT INTO declared VALUES (3, 2), (4, 5)").await;
        let found = answer(&session, "SELECT id, k FROM declared").await;
        let expected = answer(&session, "SELECT * FROM (VALUES (1, 1), (2, 2), (3, 2), (4, 5)) AS t(id, k)").await;
        assert_eq!(sorted(&found), sorted(&expected));
        let wrong = "PARTITIONED BY (j) LOCATION";
        let create = format!("CREATE EXTERNAL TABLE w (id BIGINT, j BIGINT) STORED AS CSV {wrong} '{location}'");
        assert!(failure(&session, &create).await.contains("no partition column \"j\""));
    });
}

#[test]
fn options_of_csv_are_honoured_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv").display().to_string();
    wait(async {
        let session = Session::new();
        for (text, options, expected) in [
            ("a;b\n1;2\n", "'delimiter' ';'", "(1, 2)) AS t(a, b)"),
            ("a;b\n1;2\n", "'format.delimiter' ','", "('1;2')) AS t(\"a;b\")"),
            ("1,x\n", "'has_header' 'false'", "(1, 'x')) AS t(column_1, column_2)"),
            ("a,b\n'1,5',2\n", "'quote' ''''", "('1,5', 2)) AS t(a, b)"),
            ("a,b\n\"x,2\n", "'quote' 'none'", "('\"x', 2)) AS t(a, b)"),
            ("a,b\n\"x\\\"y\",2\n", "'escape' '\\'", "('x\"y', 2)) AS t(a, b)"),
            ("a,b\n\"x\"\"y\",2\n", "'escape' '\"'", "('x\"y', 2)) AS t(a, b)"),
            ("a,b\nNA,2\n3,NA\n", "'null_value' 'NA'", "(NULL, 2), (3, NULL)) AS t(a, b)"),
            ("a;b\n1,5;2\n", "'decimal' ','", "(CAST(1.5 AS DOUBLE), 2)) AS t(a, b)"),
            ("a\n31.01.2024\n", "'date_format' '%d.%m.%Y'", "(DATE '2024-01-31')) AS t(a)"),
            ("a\n1\nx\n", "'schema_infer_max_rec' 'all'", "('1'), ('x')) AS t(a)"),
            ("a\n1\n", "'compression' 'uncompressed', 'double_quote' 'true'", "(1)) AS t(a)"),
        ] {
            fs::write(&path, text).unwrap();
            let create =
                format!("CREATE OR REPLACE EXTERNAL TABLE e STORED AS CSV LOCATION '{path}' OPTIONS ({options})");
            answer(&session, &create).await;
            let found = answer(&session, "SELECT * FROM e").await;
            let expected = answer(&session, &format!("SELECT * FROM (VALUES {expected}")).await;
            assert_eq!(sorted(&found), sorted(&expected), "{options}");
        }
        fs::write(&path, "a,b\n1,2\n").unwrap();
        for (options, message) in [
            ("'compression' 'gzip'", "not compressed as the option"),
            ("'compression' 'bzip2'", "bzip2 is not read"),
            ("'delimiter' 'ab'", "not one ASCII character"),
            ("'delimiter' '\"'", "have to differ"),
            ("'comment' '#'", "option comment"),
            ("'terminator' ';'", "option terminator"),
            ("'double_quote' 'false'", "option double_quote"),
            ("'truncated_rows' 'true'", "option truncated_rows"),
            ("'null_regex' 'N.*'", "write null_value"),
            ("'schema_infer_max_rec' '0'", "a number of rows"),
            ("'has_header' 'maybe'", "has_header"),
            ("'no_such' '1'", "no_such is not known"),
        ] {
            let create =
                format!("CREATE OR REPLACE EXTERNAL TABLE e STORED AS CSV LOCATION '{path}' OPTIONS ({options})");
            let refusal = failure(&session, &create).await;
            assert!(refusal.contains(message), "{options}: {refusal}");
        }
        let create = format!("CREATE EXTERNAL TABLE o (a INT, b INT) STORED AS CSV LOCATION '{path}' WITH ORDER (a)");
        assert!(failure(&session, &create).await.contains("WITH ORDER"));
    });
}

#[test]
fn declared_columns_have_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("a.csv"), "Id,Price\n007,1.50\n8,\n").unwrap();
    fs::write(at("a.jsonl"), "{\"id\":7,\"more\":1}\n{\"price\":1.50}\n").unwrap();
    wait(async {
        let session = Session::new();
        let columns = "(id INT, price DECIMAL(10, 2))";
        answer(&session, &format!("CREATE EXTERNAL TABLE c {columns} STORED AS CSV LOCATION '{}'", at("a.csv"))).await;
        assert_eq!(types(&session, "FROM c").await, ["id Int32", "price Decimal128(10, 2)"]);
        let expected = "SELECT * FROM (VALUES (7, 1.50), (8, NULL)) AS t(id, price)";
        assert_eq!(sorted(&answer(&session, "FROM c").await), sorted(&answer(&session, expected).await));
        answer(&session, &format!("CREATE EXTERNAL TABLE j {columns} STORED AS JSON LOCATION '{}'", at("a.jsonl")))
            .await;
        assert_eq!(types(&session, "FROM j").await, ["id Int32", "price Decimal128(10, 2)"]);
        let expected = "SELECT * FROM (VALUES (7, NULL), (NULL, 1.50)) AS t(id, price)";
        assert_eq!(sorted(&answer(&session, "FROM j").await), sorted(&answer(&session, expected).await));
        for (columns, message) in [
            ("(price DECIMAL(10, 2), id INT)", "the columns are Id, Price, where price, id were declared"),
            ("(id INT)", "the columns are Id, Price"),
        ] {
            let create = format!("CREATE EXTERNAL TABLE w {columns} STORED AS CSV LOCATION '{}'", at("a.csv"));
            let refusal = failure(&session, &create).await;
            assert!(refusal.contains(message), "{columns}: {refusal}");
        }
        let columns = "(id INT NOT NULL, price DECIMAL(10, 2) NOT NULL)";
        answer(&session, &format!("CREATE EXTERNAL TABLE n {columns} STORED AS CSV LOCATION '{}'", at("a.csv"))).await;
        assert!(failure(&session, "FROM n").await.contains("null"), "a null of a column that has none");
        answer(
            &session,
            &format!("CREATE EXTERNAL TABLE t (id TINYINT, price REAL) STORED AS CSV LOCATION '{}'", at("b.csv")),
        )
        .await;
        assert_eq!(sorted(&answer(&session, "SELECT count(*) AS n FROM t").await)[1], "| 0 |");
        fs::write(at("b.csv"), "id,price\n1,1\n300,2\n").unwrap();
        let refusal = failure(&session, "FROM t").await;
        assert!(refusal.contains("b.csv: line 3, column id: \"300\" is not a value of type Int8"), "{refusal}");
    });
}

#[test]
fn rows_are_added_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "(1, 'a;b', DATE '2024-01-31'), (2, '\"q\" and \\', NULL), (3, NULL, DATE '2024-02-01')";
    wait(async {
        let session = Session::new();
        for (name, format, options) in [
            ("csv", "CSV", "'has_header' 'true'"),
            ("semicolons", "CSV", "'delimiter' ';', 'null_value' 'NA'"),
            ("headless", "CSV", "'has_header' 'false'"),
            ("json", "JSON", "'compression' 'uncompressed'"),
        ] {
            let location = folder.path().join(name);
            fs::create_dir(&location).unwrap();
            let create = format!(
                "CREATE EXTERNAL TABLE \"{name}\" (id INT, text VARCHAR, day DATE) STORED AS {format} LOCATION '{}/' OPTIONS ({options})",
                location.display()
            );
            answer(&session, &create).await;
            answer(&session, &format!("INSERT INTO \"{name}\" VALUES {rows}")).await;
            answer(&session, &format!("INSERT INTO \"{name}\" VALUES (4, 'x', NULL)")).await;
            let found = answer(&session, &format!("SELECT * FROM \"{name}\"")).await;
            let expected = format!("SELECT * FROM (VALUES {rows}, (4, 'x', NULL)) AS t(id, text, day)");
            assert_eq!(sorted(&found), sorted(&answer(&session, &expected).await), "{name}");
            assert_eq!(fs::read_dir(Path::new(&location)).unwrap().count(), 2, "{name}");
        }
    });
}

/// Columns of the types that text holds, and values at the edges of what a dialect can write.
const COLUMNS: &str = "id INT, text VARCHAR, day DATE, number DOUBLE, exact DECIMAL(20, 4), at TIMESTAMP, flag BOOLEAN, bytes BYTEA, big BIGINT";
const VALUES: [&str; 6] = [
    "(1, '', DATE '2024-01-31', 1.5, 123456789012.3400, TIMESTAMP '2024-01-31T10:11:12.123456', true, X'00ff', 9223372036854775807)",
    "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "(3, 'a,b;c|d\te', DATE '0001-01-01', -0.0, -0.0001, TIMESTAMP '1969-12-31T23:59:59.999999', false, X'', -9223372036854775807)",
    "(4, '\"q\" ''q'' \\ \\\"', DATE '9999-12-31', 1e300, 0, TIMESTAMP '1970-01-01', NULL, NULL, 0)",
    "(5, 'two\nlines\r', NULL, 0.1, NULL, NULL, NULL, NULL, NULL)",
    "(6, ' NA ', NULL, 1e-7, NULL, NULL, NULL, NULL, NULL)",
];

#[test]
fn every_dialect_reads_back_what_it_writes() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = Session::new();
        answer(&session, &format!("CREATE TABLE expected ({COLUMNS})")).await;
        for values in VALUES {
            answer(&session, &format!("INSERT INTO expected VALUES {values}")).await;
        }
        let expected = answer(&session, "FROM expected").await;
        let dialects = [
            ("CSV", "'has_header' 'true'"),
            ("CSV", "'has_header' 'false'"),
            ("CSV", "'delimiter' ';', 'decimal' ','"),
            ("CSV", "'decimal' ','"),
            ("CSV", "'delimiter' '\\t', 'null_value' 'NA'"),
            ("CSV", "'quote' '''', 'escape' '\\'"),
            ("CSV", "'escape' '\\', 'compression' 'gzip'"),
            ("CSV", "'compression' 'zstd', 'null_value' '\\N'"),
            ("CSV", "'date_format' '%d.%m.%Y'"),
            ("JSON", "'compression' 'gzip'"),
            ("JSON", "'compression' 'uncompressed'"),
        ];
        for (index, (format, options)) in dialects.into_iter().enumerate() {
            let location = folder.path().join(index.to_string());
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t ({COLUMNS}) STORED AS {format} LOCATION '{}/' OPTIONS ({options})",
                location.display()
            );
            answer(&session, &create).await;
            answer(&session, "INSERT INTO t SELECT * FROM expected WHERE id <= 3").await;
            answer(&session, "INSERT INTO t SELECT * FROM expected WHERE id > 3").await;
            assert_eq!(sorted(&answer(&session, "FROM t").await), sorted(&expected), "{format} {options}");
            assert_eq!(fs::read_dir(&location).unwrap().count(), 2, "{format} {options}");
        }
    });
}

#[test]
fn values_that_would_read_back_differently_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let session = Session::new();
        for (options, columns, values, message) in [
            ("'quote' 'none'", "a VARCHAR, b INT", "('x', 1), ('', 2)", "column a: \"\" cannot be told"),
            ("'quote' 'none'", "a VARCHAR, b INT", "('x,y', 1)", "column a: \"x,y\" cannot be told"),
            ("'null_value' '0'", "a INT, b INT", "(1, 1), (0, NULL)", "column a: 0 is a value, and the text for null"),
            ("'has_header' 'false'", "a VARCHAR", "('x'), (NULL)", "column a: a null alone in a line"),
        ] {
            let location = folder.path().join("refused");
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE r ({columns}) STORED AS CSV LOCATION '{}/' OPTIONS ({options})",
                location.display()
            );
            answer(&session, &create).await;
            let refusal = failure(&session, &format!("INSERT INTO r VALUES {values}")).await;
            assert!(refusal.contains(message), "{options}: {refusal}");
            assert!(!location.exists() || fs::read_dir(&location).unwrap().count() == 0, "{options}");
        }
        let path = folder.path().join("nan.jsonl").display().to_string();
        for value in ["CAST('NaN' AS DOUBLE)", "[CAST('inf' AS REAL)]", "struct(CAST('-inf' AS DOUBLE))"] {
            let refusal = failure(&session, &format!("COPY (SELECT {value} AS x) TO '{path}'")).await;
            assert!(refusal.contains("column x: JSON has no NaN"), "{value}: {refusal}");
            assert!(!Path::new(&path).exists());
        }
        let path = folder.path().join("one.csv").display().to_string();
        fs::write(&path, "a\n1\n").unwrap();
        answer(&session, &format!("CREATE EXTERNAL TABLE one STORED AS CSV LOCATION '{path}'")).await;
        for table in ["one".to_owned(), format!("'{path}'")] {
            let refusal = failure(&session, &format!("INSERT INTO {table} VALUES (2)")).await;
            assert!(refusal.contains("folder"), "{table}: {refusal}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\n1\n");
    });
}

#[test]
fn copies_of_text_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let rows = "(VALUES (1, ''), (2, NULL), (3, 'a;b')) AS t(id, text)";
    wait(async {
        let session = Session::new();
        let expected = sorted(&answer(&session, &format!("FROM {rows}")).await);
        for (name, options) in [
            ("a.csv", ""),
            ("a.tsv", ""),
            ("a.csv.gz", ""),
            ("a.jsonl", ""),
            ("a.json.gz", ""),
            ("b.csv", "(FORMAT csv, HEADER, DELIMITER ';')"),
            ("c.csv", "STORED AS CSV OPTIONS (compression gzip)"),
        ] {
            answer(&session, &format!("COPY (FROM {rows}) TO '{}' {options}", at(name))).await;
            assert_eq!(sorted(&answer(&session, &format!("FROM '{}'", at(name))).await), expected, "{name}");
        }
        assert_eq!(fs::read_to_string(at("a.csv")).unwrap(), "id,text\n1,\"\"\n2,\n3,a;b\n");
        assert_eq!(fs::read_to_string(at("a.tsv")).unwrap(), "id\ttext\n1\t\"\"\n2\t\n3\ta;b\n");
        assert_eq!(fs::read_to_string(at("b.csv")).unwrap(), "id;text\n1;\"\"\n2;\n3;\"a;b\"\n");
        assert_eq!(&fs::read(at("c.csv")).unwrap()[..2], [0x1f, 0x8b]);
        answer(&session, &format!("COPY (FROM {rows}) TO '{}' (FORMAT csv) PARTITIONED BY (id)", at("parts"))).await;
        let found = answer(&session, &format!("SELECT id, text FROM '{}/*/*.csv'", at("parts"))).await;
        assert_eq!(sorted(&found), expected);
        for (target, message) in [
            ("'a.csv'", "exists"),
            ("'d.csv' (infer_rows 5)", "it is for reading"),
            ("'d.csv' (codec zstd)", "codec is not known"),
            ("'d.csv' (null ',')", "null cannot be written"),
            ("'d.parquet' (FORMAT csv) STORED AS PARQUET", "are the same"),
        ] {
            let target = target.replacen('\'', &format!("'{}/", folder.path().display()), 1);
            let refusal = failure(&session, &format!("COPY (FROM {rows}) TO {target}")).await;
            assert!(refusal.contains(message), "{target}: {refusal}");
        }
        assert!(!Path::new(&at("d.csv")).exists());
    });
}

#[test]
fn json_keeps_digits_however_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl").display().to_string();
    fs::write(&path, "{\"n\":9007199254740993,\"x\":1}\n{\"n\":2,\"x\":2.5}\n").unwrap();
    wait(async {
        let session = Session::new();
        answer(&session, &format!("CREATE EXTERNAL TABLE e STORED AS JSON LOCATION '{path}'")).await;
        for table in [format!("'{path}'"), "e".to_owned()] {
            let query = format!("SELECT * FROM {table}");
            assert_eq!(types(&session, &query).await, ["n Int64", "x Float64"], "{table}");
            let found = answer(&session, &format!("SELECT n FROM {table} WHERE x = 1")).await;
            assert_eq!(sorted(&found)[1], "| 9007199254740993 |", "{table}");
        }
        answer(&session, &format!("CREATE EXTERNAL TABLE i (n INT, x INT) STORED AS JSON LOCATION '{path}'")).await;
        assert!(failure(&session, "SELECT x FROM i").await.contains("a.jsonl: line 1: field 'n'"));
        let create =
            format!("CREATE EXTERNAL TABLE a STORED AS JSON LOCATION '{path}' OPTIONS ('newline_delimited' 'false')");
        assert!(failure(&session, &create).await.contains("one object per line"));
    });
}
