//! Prepared statements, and statements whose tables other processes alter while they are planned.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow_array::types::Int64Type;
use arrow_array::{Array, cast::AsArray};
use arrow_schema::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use lath_sql::Session;
use lath_table::{Database, TableOptions};

use super::{answer, wait};

fn open(folder: &Path) -> Session {
    Session::builder().database(folder).database_wait(Duration::from_secs(120)).build().unwrap()
}

/// A function that adds columns to the table `t` when its type is determined, which is while a statement is planned.
#[derive(Debug)]
struct Altering {
    signature: Signature,
    database: Database,
    /// The number of columns to add, and of calls.
    columns: usize,
    asked: Arc<AtomicUsize>,
}

impl PartialEq for Altering {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.asked, &other.asked)
    }
}

impl Eq for Altering {}

impl std::hash::Hash for Altering {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl ScalarUDFImpl for Altering {
    fn name(&self) -> &str {
        "altering"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if number < self.columns {
            let field = Field::new(format!("c{number}"), DataType::Int64, true);
            self.database.table("t").unwrap().add_column(&field, None).unwrap();
        }
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::Int64(Some(1))))
    }
}

/// A session with a table `t`, and the function, which adds this number of columns.
async fn altered(folder: &Path, columns: usize) -> (Session, Arc<AtomicUsize>) {
    let writer = open(folder);
    answer(&writer, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)").await;
    answer(&writer, "INSERT INTO t VALUES (1, 10), (2, 20)").await;
    drop(writer);
    // The session sees the commits of a process that had the database open before.
    let database = Database::open(folder, TableOptions::new().wait(Duration::from_secs(120))).unwrap();
    let session = open(folder);
    let asked = Arc::new(AtomicUsize::new(0));
    let signature = Signature::new(TypeSignature::Nullary, Volatility::Immutable);
    let function = Altering { signature, database, columns, asked: Arc::clone(&asked) };
    session.context().register_udf(ScalarUDF::from(function));
    (session, asked)
}

#[test]
fn a_query_whose_table_another_process_alters_is_planned_again() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let (session, asked) = altered(&folder.path().join("db"), 1).await;
        let rows = answer(&session, "SELECT *, altering() AS one FROM t ORDER BY id").await;
        let names: Vec<_> = rows[0].schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["id", "n", "c0", "one"]);
        assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().values(), &[1, 2]);
        assert!(asked.load(Ordering::SeqCst) > 1);
    });
}

#[test]
fn a_prepared_query_has_the_columns_that_its_table_has_then() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let path = folder.path().join("db");
        let (session, _) = altered(&path, 0).await;
        answer(&session, "PREPARE p AS SELECT * FROM t WHERE id = $1").await;
        // The function has the database open for writing.
        session.context().deregister_udf("altering");
        let other = open(&path);
        answer(&other, "ALTER TABLE t ADD COLUMN added BIGINT DEFAULT 7").await;
        let rows = answer(&session, "EXECUTE p(2)").await;
        assert_eq!(rows[0].num_columns(), 3);
        assert_eq!(rows[0].column(2).as_primitive::<Int64Type>().values(), &[7]);
    });
}

/// A table that is altered each time that the statement is planned.
#[test]
fn a_statement_is_planned_a_few_times() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let (session, _) = altered(&folder.path().join("db"), 10_000).await;
        let error = session.sql("SELECT *, altering() FROM t").await.err().unwrap().to_string();
        assert!(error.contains("have changed since the statement was planned"), "{error}");
    });
}

/// Without DEALLOCATE, and while the session goes on.
#[test]
fn a_prepared_statement_lets_other_processes_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    wait(async {
        let session = open(&path);
        answer(&session, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)").await;
        answer(&session, "PREPARE put AS INSERT INTO t VALUES ($1, $2)").await;
        answer(&session, "BEGIN").await;
        answer(&session, "EXECUTE put(1, 10)").await;
        answer(&session, "COMMIT").await;
        let other = open(&path);
        answer(&other, "INSERT INTO t VALUES (2, 20)").await;
        answer(&session, "EXECUTE put(3, 30)").await;
        let rows = answer(&session, "SELECT count(*) AS c FROM t").await;
        assert_eq!(rows[0].column(0).as_primitive::<Int64Type>().value(0), 3);
        assert_eq!(rows[0].column(0).null_count(), 0);
    });
}
