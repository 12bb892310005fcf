//! `sql`: queries of files by name.

use std::fs;
use std::io::Write;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use serde_json::json;

use crate::files::oracle;
use crate::invocation::{lath, lath_with_input, sample};

#[test]
fn a_folder_answers_questions() {
    let trips = sample("trips");
    let months = ["trips/2025-01.parquet", "trips/2025-02.parquet", "trips/2025-03.parquet"];
    let rows: Vec<RecordBatch> = months.iter().map(|name| oracle(sample(name))).collect();
    let expensive = rows.iter().flat_map(|rows| rows["price"].as_primitive::<Decimal128Type>().iter().flatten());
    let (count, sum) =
        expensive.filter(|price| *price > 1250).fold((0, 0), |(count, sum), price| (count + 1, sum + price));
    let query = format!("SELECT count(*) AS n, sum(price) AS total FROM '{trips}' WHERE price > 12.5");
    let found = lath(["sql", &query]).json_lines(0);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["n"], json!(count));
    let total: f64 = found[0]["total"].to_string().trim_matches('"').parse().unwrap();
    assert_eq!((total * 100.0).round() as i128, sum);

    let by_plan = format!(
        "SELECT rider.plan AS plan, count(*) AS n FROM '{trips}' WHERE rider.plan IS NOT NULL GROUP BY 1 ORDER BY n DESC, plan"
    );
    let plans = lath(["sql", &by_plan, "--format", "csv"]).text(0).to_owned();
    assert!(plans.starts_with("plan,n\n") && plans.lines().count() > 2, "{plans}");
    // An empty result has its own exit code and is not a failure.
    lath(["sql", &format!("SELECT * FROM '{trips}' WHERE minutes > 60000")]).text(1);
}

/// Compresses text in the format of the file's extension.
fn compressed(name: &str, text: &str) -> Vec<u8> {
    if name.ends_with(".gz") {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        return gzip.finish().unwrap();
    }
    match name.ends_with(".zst") {
        true => zstd::encode_all(text.as_bytes(), 1).unwrap(),
        false => text.as_bytes().to_vec(),
    }
}

#[test]
fn text_files_are_read_as_convert_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "id,mixed,text,day\n1,9007199254740993,\"\",2024-01-31\n2,1.5,,2024-02-01\n3,,x,\n";
    let tsv = csv.replace(',', "\t");
    let json = "{\"id\":1,\"text\":\"\"}\n{\"id\":2}\n{\"id\":3,\"text\":\"x\"}\n";
    let files = [
        ("a.csv", csv),
        ("a.csv.gz", csv),
        ("a.csv.zst", csv),
        ("a.tsv", &tsv),
        ("a.tsv.gz", &tsv),
        ("a.json.gz", json),
        ("a.jsonl.zst", json),
    ];
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::write(&path, compressed(name, text)).unwrap();
        let (path, out) = (path.to_str().unwrap(), folder.path().join(format!("{name}.parquet")));
        let out = out.to_str().unwrap();
        lath(["convert", path, "-o", out]).text(0);
        let found = lath(["sql", &format!("SELECT * FROM '{path}' ORDER BY id")]).text(0).to_owned();
        assert_eq!(found, lath(["cat", out]).text(0), "{name}");
        let empty = lath(["sql", &format!("SELECT id FROM '{path}' WHERE text = ''")]).json_lines(0);
        assert_eq!(empty, [json!({"id": 1})], "{name}");
    }
}

#[test]
fn text_files_of_one_table_have_the_columns_of_all() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("1.csv"), "id,a\n1,2\n").unwrap();
    let one = folder.path().join("*.csv").display().to_string();
    fs::write(folder.path().join("4.csv"), "id,b,a\n2,x,2.5\n").unwrap();
    let found = lath(["sql", &format!("SELECT id, a, b FROM '{one}' ORDER BY id")]).json_lines(0);
    assert_eq!(found, [json!({"id": 1, "a": 2.0, "b": null}), json!({"id": 2, "a": 2.5, "b": "x"})]);
    let found = lath(["sql", &format!("SELECT count(*) AS n FROM '{one}'")]).json_lines(0);
    assert_eq!(found, [json!({"n": 2})]);
    let run = lath(["sql", &format!("SELECT * FROM '{}'", folder.path().join("none.csv.gz").display())]);
    assert!(run.code != 0 && run.stderr.contains("none.csv.gz"), "{run:?}");
}

#[test]
fn statements_come_from_arguments_files_and_standard_input() {
    assert_eq!(lath(["sql", "SELECT 6 * 7 AS answer"]).text(0), "{\"answer\":42}\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("q.sql");
    fs::write(&file, "CREATE VIEW v AS SELECT 1 AS a UNION ALL SELECT 2; -- a view\nSELECT sum(a) AS s FROM v;")
        .unwrap();
    assert_eq!(lath(["sql", "--file", file.to_str().unwrap()]).text(0), "{\"s\":3}\n");
    assert_eq!(lath_with_input(&["sql", "-"], b"SELECT 'x' AS x").text(0), "{\"x\":\"x\"}\n");
    let out = folder.path().join("out.parquet");
    lath(["sql", "SELECT 1 AS one", "-o", out.to_str().unwrap()]).text(0);
    assert_eq!(lath(["cat", out.to_str().unwrap()]).text(0), "{\"one\":1}\n");
}

#[test]
fn a_file_appears_when_all_statements_have_succeeded() {
    let folder = tempfile::tempdir().unwrap();
    let (out, database) = (folder.path().join("out.csv"), folder.path().join("db"));
    let (out, database) = (out.to_str().unwrap(), database.to_str().unwrap());
    let run = |text: &str| lath(["sql", "--database", database, "-o", out, text]);
    let names = || {
        let entries =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.filter(|name| name != "db").collect::<Vec<_>>()
    };
    for text in [
        "SELECT 1 AS a; SELECT nothing",
        "SELECT 1 AS a; SELECT 2 AS b",
        "SELECT CAST(value AS TINYINT) AS a FROM generate_series(1, 100000)",
        "CREATE TABLE t (id INT PRIMARY KEY); BEGIN; INSERT INTO t VALUES (1) RETURNING id; SELECT nothing",
        "BEGIN; INSERT INTO t VALUES (1) RETURNING id",
    ] {
        assert_eq!(run(text).code, 2, "{text}");
        assert_eq!(names(), [""; 0], "{text}");
    }
    assert_eq!(run("SELECT 1 AS a; CREATE TABLE u (id INT PRIMARY KEY)").code, 0);
    assert_eq!(fs::read_to_string(out).unwrap(), "a\n1\n");
    // Rows that a committed change has returned stay.
    assert_eq!(run("INSERT INTO u VALUES (3) RETURNING id; SELECT nothing").code, 2);
    assert_eq!(fs::read_to_string(out).unwrap(), "id\n3\n");
    assert_eq!(names(), ["out.csv"]);
}

#[test]
fn uuids_of_a_table_are_texts_and_typed_in_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let (out, database) = (folder.path().join("out.parquet"), folder.path().join("db"));
    let (out, database) = (out.to_str().unwrap(), database.to_str().unwrap());
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let run = |text: &str| lath(["sql", "--database", database, text]);
    let create = "CREATE TABLE t (id UUID PRIMARY KEY DEFAULT gen_random_uuid(), n INT)";
    assert_eq!(run(&format!("{create}; INSERT INTO t VALUES ('{id}', 1)")).code, 0);
    assert_eq!(run("SELECT * FROM t").text(0), format!("{{\"id\":\"{id}\",\"n\":1}}\n"));
    assert_eq!(lath(["table", "get", database, "--table", "t", id]).text(0), format!("{{\"id\":\"{id}\",\"n\":1}}\n"));
    assert_eq!(lath(["sql", "--database", database, "-o", out, "SELECT id FROM t"]).code, 0);
    assert!(lath(["schema", out]).text(0).contains("UUID"), "{}", lath(["schema", out]).text(0));
    assert_eq!(run(&format!("SELECT count(*) AS c FROM '{out}' WHERE id = '{id}'")).text(0), "{\"c\":1}\n");
    let csv = folder.path().join("in.csv");
    fs::write(&csv, "n,id\n2,650e8400-e29b-41d4-a716-446655440000\n").unwrap();
    assert_eq!(run(&format!("COPY t FROM '{}'", csv.display())).code, 0);
    assert_eq!(run("SELECT id FROM t WHERE n = 2").text(0), "{\"id\":\"650e8400-e29b-41d4-a716-446655440000\"}\n");
    let wrong = run("INSERT INTO t VALUES ('five', 5)");
    assert!(wrong.code == 2 && wrong.stderr.contains("\"five\" is not a UUID"), "{}", wrong.stderr);
}

#[test]
fn what_cannot_be_answered_is_said() {
    for (query, message) in [
        ("SELEC 1", "SELEC"),
        ("SELECT * FROM 'nowhere/at all.parquet'", "nowhere/at all.parquet"),
        ("SELECT * FROM nothing", "nothing"),
        ("SELECT 1 +", "error"),
        ("", "no statement"),
    ] {
        let run = lath(["sql", query]);
        assert!(matches!(run.code, 2 | 4) && run.stdout.is_empty(), "{query}: {run:?}");
        assert!(run.stderr.contains(message), "{query}: {}", run.stderr);
    }
    let trips = sample("trips");
    let run = lath(["sql", &format!("SELECT pric FROM '{trips}'")]);
    run.text(2);
    assert!(run.stderr.contains("price"), "names that there are: {}", run.stderr);
}

#[test]
fn mistakes_are_shown_below_their_place_with_the_nearest_names() {
    let trips = sample("trips");
    let folder = tempfile::tempdir().unwrap();
    for (query, message, marked) in [
        (
            format!("SELECT pric FROM '{trips}'"),
            "line 1, column 8: there is no column \"pric\"; did you mean price?",
            "pric",
        ),
        (
            format!("SELECT 1;\n  SELECT t.pric FROM '{trips}' t"),
            "line 2, column 10: there is no column \"pric\"; did you mean price?",
            "t.pric",
        ),
        (
            format!("SELECT lenght(note) FROM '{trips}'"),
            "there is no function \"lenght\"; did you mean length?",
            "lenght",
        ),
        (
            "CREATE VIEW trips AS SELECT 1;\nSELECT *\nFROM trip".to_owned(),
            "line 3, column 6: there is no table \"trip\"; did you mean trips?",
            "trip",
        ),
        (
            "SELECT * FROM trips.parquet".to_owned(),
            "to query a file, write its name in single quotes; did you mean 'trips.parquet'?",
            "trips.parquet",
        ),
        ("SELECT 1,\n  2 3 4".to_owned(), "line 2, column 5: expected", "3"),
        ("SELECT 'ä', 'abc".to_owned(), "line 1, column 13: Unterminated string", "'abc"),
    ] {
        let run = lath(["sql", &query]);
        run.text(2);
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert!(lines[0].starts_with("error: ") && lines[0].contains(message), "{}", run.stderr);
        let start = lines[2].chars().take_while(|c| *c == ' ').count();
        let carets = lines[2].trim();
        let above: String = lines[1].chars().skip(start).take(carets.len()).collect();
        assert!(above == marked && carets.chars().all(|c| c == '^'), "{}", run.stderr);
        // A statement from a file: the file's name comes first.
        let file = folder.path().join("q.sql");
        fs::write(&file, &query).unwrap();
        let run = lath(["sql", "--file", file.to_str().unwrap()]);
        assert!(run.stderr.starts_with(&format!("error: {}: line ", file.display())), "{}", run.stderr);
    }
    let run = lath(["sql", &format!("SELECT xyz FROM '{trips}'")]);
    assert!(run.stderr.contains("there are trip, started, minutes,"), "{}", run.stderr);
}

#[test]
fn without_statements_a_pipe_is_read() {
    assert_eq!(lath_with_input(&["sql"], b"SELECT 'x' AS x").text(0), "{\"x\":\"x\"}\n");
    assert!(lath(["sql"]).stderr.contains("no statement"));
}

#[test]
fn vertical_answers_have_a_line_for_each_value() {
    let text = lath(["sql", "SELECT 1 AS a, NULL AS bcd UNION ALL SELECT 2, 'two' ORDER BY 1", "--format", "vertical"]);
    assert_eq!(text.text(0), "─ row 1 ─\na    1\nbcd  null\n─ row 2 ─\na    2\nbcd  two\n2 rows, 2 columns\n");
}

#[test]
fn sorting_within_little_memory_goes_to_disk_and_gives_the_same() {
    let trips = sample("trips");
    let query = format!("SELECT note, price FROM '{trips}' t CROSS JOIN generate_series(1, 4) ORDER BY note, price");
    let plenty = lath(["sql", &query]).text(0).to_owned();
    assert_eq!(lath(["sql", &query, "--memory", "2MiB", "--threads", "1"]).text(0), plenty);
}

#[test]
fn transactions_are_committed_or_undone() {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    let sql = |text: &str| lath(["sql", "--database", shop.to_str().unwrap(), "--format", "csv", text]);
    sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)").text(0);
    assert_eq!(sql("BEGIN; INSERT INTO t VALUES (1, 2); UPDATE t SET a = a + 1; SELECT * FROM t; COMMIT").code, 0);
    assert_eq!(sql("SELECT * FROM t").text(0), "id,a\n1,3\n");
    let open = sql("BEGIN; DELETE FROM t");
    assert_eq!(open.code, 2);
    assert!(
        open.stderr.contains("was not committed, so its changes are undone; end it with COMMIT"),
        "{}",
        open.stderr
    );
    assert_eq!(sql("SELECT * FROM t").text(0), "id,a\n1,3\n");
    // A failure of a later statement undoes all.
    assert_eq!(sql("BEGIN; DELETE FROM t; INSERT INTO t VALUES (2, 2), (2, 2); COMMIT").code, 2);
    assert_eq!(sql("SELECT * FROM t").text(0), "id,a\n1,3\n");
}
