//! Plans and statistics of tables, and files queried by name.

use arrow_array::RecordBatch;
use datafusion::physical_plan::displayable;

use crate::{answer, sorted, wait};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StringViewArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::{Dataset, DatasetOptions, SortingColumn};
use lath_sql::Session;
use lath_writer::{ParquetWriter, WriteOptions};
use std::sync::Arc;

fn numbers(from: i64, to: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values((from..to).map(|n| n.to_string())));
    RecordBatch::try_from_iter([("n", numbers), ("a.b", texts)]).unwrap()
}

async fn plan(session: &Session, query: &str) -> String {
    let frame = session.sql(query).await.unwrap();
    displayable(frame.create_physical_plan().await.unwrap().as_ref()).indent(false).to_string()
}

#[test]
fn files_are_tables_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for part in 1..4 {
        let path = folder.path().join(format!("part={part}"));
        std::fs::create_dir(&path).unwrap();
        crate::write(&path.join("x.parquet"), &numbers(part * 100, part * 100 + 10), 4);
    }
    let session = Session::new();
    let at = |rest: &str| format!("'{}{rest}'", folder.path().display());
    wait(async {
        let count = answer(&session, &format!("SELECT count(*) FROM {}", at("/part=1/x.parquet"))).await;
        assert_eq!(sorted(&count), ["+----------+", "| 10       |"]);
        let parts = answer(&session, &format!("SELECT part, min(n) FROM {} GROUP BY part", at("/*/*.parquet"))).await;
        let parts = sorted(&parts).join(" ");
        let parts: Vec<&str> = parts.split_whitespace().filter(|word| *word != "|").collect();
        assert_eq!(parts[1..], ["1", "100", "2", "200", "3", "300"]);
        let plan = plan(&session, &format!("SELECT n FROM {} WHERE part = 2 AND n > 204", at(""))).await;
        assert!(plan.contains("tasks=2,") && !plan.contains("FilterExec"), "{plan}");
        let error = session.sql("SELECT * FROM 'nowhere/x.parquet'").await.unwrap_err().to_string();
        assert!(error.contains("nowhere/x.parquet"), "{error}");
        let error = session.sql("SELECT * FROM nothing").await.unwrap_err().to_string();
        assert!(error.contains("nothing"), "{error}");
    });
}

#[test]
fn columns_of_one_name_have_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let column = |from: i64| Arc::new(Int64Array::from_iter_values(from..from + 4)) as ArrayRef;
    let fields = ["id", "id", "id_1", "a", "id"].map(|name| Field::new(name, DataType::Int64, false));
    let columns = vec![column(0), column(10), column(20), column(30), column(40)];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns).unwrap();
    let path = folder.path().join("twins.parquet");
    crate::write(&path, &batch, 2);
    let session = Session::new();
    let ask = |query: &str| {
        let query = query.replace("FILE", &format!("'{}'", path.display()));
        let batches = wait(answer(&session, &query));
        let schema = batches[0].schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let rows = sorted(&batches).join(" ").replace(['|', '+', '-'], " ");
        format!("{}: {}", names.join(" "), rows.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(ask("SELECT * FROM FILE WHERE id = 3"), "id id_2 id_1 a id_3: 3 13 23 33 43");
    assert_eq!(ask("SELECT id_2, a FROM FILE WHERE id_2 < 11 OR id_3 = 43"), "id_2 a: 10 30 13 33");
    assert_eq!(ask("SELECT max(id_1) m, min(id_2) n, count(*) c FROM FILE"), "m n c: 23 10 4");
    assert_eq!(ask("SELECT x.id_2 FROM FILE x JOIN FILE y ON x.id_2 = y.id + 10 WHERE y.id = 2"), "id_2: 12");
    assert_eq!(ask("SELECT id_3 FROM FILE ORDER BY id_2 DESC LIMIT 1"), "id_3: 43");
    let read = "SELECT row, id_2 FROM read_parquet(FILE, row_number => 'row') WHERE id_2 = 12";
    assert_eq!(ask(read), "row id_2: 2 12");
}

#[test]
fn fields_of_columns_of_one_name_are_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let column = |from: i64| Arc::new(Int64Array::from_iter_values(from..from + 4000)) as ArrayRef;
    let x = Arc::new(Field::new("x", DataType::Int64, false));
    let structs = |from: i64| Arc::new(StructArray::from(vec![(Arc::clone(&x), column(from))])) as ArrayRef;
    let (number, text) = (column(0), Arc::new(StringViewArray::from_iter_values((0..4000).map(|n| format!("t{n}")))));
    let columns: [(&str, ArrayRef); 4] = [("a", structs(0)), ("b", number), ("a", structs(10_000)), ("b", text)];
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), false)).collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let path = folder.path().join("twins.parquet");
    crate::write(&path, &batch, 4000);
    let session = Session::new();
    let file = format!("'{}'", path.display());
    wait(async {
        let query = format!("SELECT a_1.x AS y, a.x AS z, b_1 FROM {file} WHERE a_1.x = 10003 AND b_1 = 't3'");
        let expected = answer(&session, "SELECT 10003 AS y, 3 AS z, 't3' AS b_1").await;
        assert_eq!(sorted(&answer(&session, &query).await), sorted(&expected));
        let expected = answer(&session, "SELECT 10000 AS least").await;
        let query = format!("SELECT min(a_1.x) AS least FROM {file}");
        assert_eq!(sorted(&answer(&session, &query).await), sorted(&expected));
        let some = bytes_read(&session, &format!("SELECT a_1 FROM {file}")).await;
        let all = bytes_read(&session, &format!("SELECT * FROM {file}")).await;
        assert!(some * 10 < all * 8, "{some} of {all}");
    });
}

#[test]
fn counts_and_bounds_come_from_footers() {
    let folder = tempfile::tempdir().unwrap();
    crate::write(&folder.path().join("a.parquet"), &numbers(0, 1000), 100);
    let session = Session::new();
    session.register("t", Dataset::open([folder.path()], DatasetOptions::new()).unwrap()).unwrap();
    wait(async {
        for query in ["SELECT count(*) FROM t", "SELECT min(n), max(n), count(n) FROM t"] {
            let plan = plan(&session, query).await;
            assert!(plan.contains("PlaceholderRowExec") && !plan.contains("lath"), "{query}: {plan}");
        }
        assert_eq!(sorted(&answer(&session, "SELECT min(n), max(n) FROM t").await)[1], "| 0        | 999      |");
        // With a condition, rows have to be read, unless statistics decide it for all of them.
        assert!(plan(&session, "SELECT min(n) FROM t WHERE n > 5").await.contains("lath"));
        assert_eq!(sorted(&answer(&session, "SELECT min(n) FROM t WHERE n > 5").await)[1], "| 6        |");
        let odd = answer(&session, "SELECT \"a.b\" FROM t WHERE \"a.b\" = '77'").await;
        assert_eq!(sorted(&odd)[1], "| 77  |");
    });
}

#[test]
fn files_behind_a_server_are_tables() {
    use lath_testkit::server::Server;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    crate::write(&path, &numbers(0, 1000), 100);
    let server = Server::of([("data/x.parquet".to_owned(), std::fs::read(&path).unwrap().into())]);
    let url = server.url("data/x.parquet");
    wait(async {
        let session = Session::new();
        let query =
            |table: &str| format!("SELECT count(*) AS rows, sum(n) AS sum FROM '{table}' WHERE n > 250 AND n < 350");
        let local = answer(&session, &query(&path.display().to_string())).await;
        assert_eq!(sorted(&answer(&session, &query(&url)).await), sorted(&local));
        let joined = format!("SELECT count(*) AS rows FROM '{url}' AS a JOIN '{url}' AS b ON a.n = b.n + 1");
        assert_eq!(sorted(&answer(&session, &joined).await), sorted(&answer(&session, "SELECT 999 AS rows").await));
    });
}

/// Registers a file with a struct of a number, a long text and a struct, and the same rows in memory.
fn nested(folder: &std::path::Path, session: &Session) {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5000));
    let texts: ArrayRef =
        Arc::new(StringViewArray::from_iter_values((0..5000u64).map(|n| {
            format!("{:x}", (u128::from(n) << 64 | 7).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
        })));
    let deep: ArrayRef = Arc::new(StructArray::from(vec![
        (Arc::new(Field::new("x", DataType::Int64, false)), Arc::clone(&numbers)),
        (Arc::new(Field::new("text", DataType::Utf8View, false)), Arc::clone(&texts)),
    ]));
    let nested = StructArray::from(vec![
        (Arc::new(Field::new("number", DataType::Int64, false)), Arc::clone(&numbers)),
        (Arc::new(Field::new("text", DataType::Utf8View, false)), texts),
        (Arc::new(Field::new("deep", deep.data_type().clone(), false)), deep),
    ]);
    let batch = RecordBatch::try_from_iter([("n", numbers), ("s", Arc::new(nested) as ArrayRef)]).unwrap();
    crate::write(&folder.join("nested.parquet"), &batch, 1000);
    session.register("t", Dataset::open([folder], DatasetOptions::new()).unwrap()).unwrap();
    crate::in_memory(session, "m", vec![batch]);
}

/// The bytes that the sources of a query read.
async fn bytes_read(session: &Session, query: &str) -> usize {
    let plan = session.sql(query).await.unwrap().create_physical_plan().await.unwrap();
    datafusion::physical_plan::collect(Arc::clone(&plan), session.context().task_ctx()).await.unwrap();
    crate::dynamic::metric(&plan, "bytes_read")
}

#[test]
fn only_the_fields_that_a_query_names_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session::new();
    nested(folder.path(), &session);
    wait(async {
        for select in [
            "s.number FROM t",
            "n, s.deep.x FROM t WHERE s.number < 2500 AND n % 3 = 1",
            "sum(s.deep.x), s.number % 7 AS part FROM t GROUP BY part",
            "s.number, length(s.deep.text) FROM t ORDER BY s.number DESC LIMIT 5",
            "a.s.number, b.s.deep.x FROM t a JOIN t b ON a.s.number = b.s.deep.x WHERE a.n > 4000",
            "s.deep, s.deep.x FROM t WHERE s.text LIKE '%77'",
            "count(s.number), min(s.deep.x) FROM t",
        ] {
            let query = format!("SELECT {select}");
            let in_memory = query.replace("FROM t", "FROM m").replace("JOIN t", "JOIN m");
            let (files, memory) = (answer(&session, &query).await, answer(&session, &in_memory).await);
            assert_eq!(sorted(&files), sorted(&memory), "{query}");
        }
        let whole = bytes_read(&session, "SELECT s FROM t").await;
        let number = bytes_read(&session, "SELECT s.number FROM t").await;
        let deep = bytes_read(&session, "SELECT sum(s.deep.x) FROM t WHERE n > 10").await;
        assert!(number * 10 < whole && deep * 5 < whole, "{number} and {deep} of {whole}");
    });
}

#[test]
fn files_that_are_sorted_are_not_sorted_again() {
    let folder = tempfile::tempdir().unwrap();
    for part in 0..3 {
        let batch = numbers(part * 1000, part * 1000 + 1000);
        let options = WriteOptions::default().row_group_rows(300).sorting_columns([SortingColumn::ascending("n")]);
        let path = folder.path().join(format!("{part}.parquet"));
        let mut writer = ParquetWriter::create(path, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    let session = Session::new();
    session.register("t", Dataset::open([folder.path()], DatasetOptions::new()).unwrap()).unwrap();
    wait(async {
        for (query, sorts) in [
            ("SELECT n FROM t ORDER BY n NULLS LAST", false),
            ("SELECT n FROM t ORDER BY n DESC", true),
            ("SELECT \"a.b\" FROM t WHERE n % 2 = 1 ORDER BY n", false),
            ("SELECT \"a.b\" FROM t ORDER BY \"a.b\"", true),
        ] {
            let plan = plan(&session, query).await;
            assert_eq!(plan.contains("SortExec"), sorts, "{query}: {plan}");
        }
        let rows = answer(&session, "SELECT n FROM t WHERE n % 2 = 1 ORDER BY n").await;
        let rows: Vec<i64> =
            rows.iter().flat_map(|rows| rows.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        assert!(rows.iter().copied().eq((0..3000).filter(|n| n % 2 == 1)));
    });
}
