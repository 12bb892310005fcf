//! Rows that a client sends into a table.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use arrow_schema::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::exec_datafusion_err;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use lath_sql::Session;
use tonic::Status;

use crate::run::StatementRun;
use crate::status::status;
use crate::update::{Batches, finish};

/// The rows of a client as the partition of a table, which is read once.
struct ReceivedRows {
    schema: SchemaRef,
    batches: Mutex<Option<Batches>>,
    count: Arc<AtomicI64>,
    /// Why there are no more rows, if that is an error.
    failure: Arc<OnceLock<Status>>,
}

impl PartitionStream for ReceivedRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (count, failure) = (Arc::clone(&self.count), Arc::clone(&self.failure));
        let rows = match batches {
            None => {
                iter([Err(exec_datafusion_err!("the rows of the client were read already; send them again"))]).boxed()
            }
            Some(batches) => batches
                .map(move |batch| match batch {
                    Ok(batch) => {
                        count.fetch_add(batch.num_rows() as i64, Ordering::Relaxed);
                        Ok(batch)
                    }
                    Err(status) => {
                        let message = status.message().to_owned();
                        let _ = failure.set(status);
                        Err(DataFusionError::Execution(message))
                    }
                })
                .boxed(),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}

impl fmt::Debug for ReceivedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// The statements that put the rows of the table `rows` into a table.
struct Statements {
    drop: Option<String>,
    put: String,
}

/// Puts the rows of a client into a table, within the transaction of the session. Returns their number.
pub(crate) async fn ingest(
    session: &Session,
    command: &CommandStatementIngest,
    mut batches: Batches,
    run: &StatementRun,
) -> Result<i64, Status> {
    check(session, command)?;
    // The columns are known with the first batch.
    let first = batches.try_next().await?;
    let Some(first) = first else {
        return Err(Status::invalid_argument(
            "there are no rows, so their columns are unknown; send at least one batch",
        ));
    };
    let schema = first.schema();
    let name = format!("lath_ingest_{:032x}", fastrand::u128(..));
    let statements = statements(session, command, &schema, &name).await?;
    let (count, failure) = (Arc::new(AtomicI64::new(0)), Arc::new(OnceLock::new()));
    let rows = ReceivedRows {
        schema: Arc::clone(&schema),
        batches: Mutex::new(Some(iter([Ok(first)]).chain(batches).boxed())),
        count: Arc::clone(&count),
        failure: Arc::clone(&failure),
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)]).map_err(|error| status(&error.into()))?;
    let context = session.context();
    context.register_table(name.as_str(), Arc::new(table)).map_err(|error| status(&error.into()))?;
    let put = put(session, &statements, run).await;
    let _ = context.deregister_table(name.as_str());
    match (put, failure.get()) {
        (Ok(()), None) => Ok(count.load(Ordering::Relaxed)),
        (_, Some(failure)) => Err(failure.clone()),
        (Err(error), None) => Err(error),
    }
}

async fn put(session: &Session, statements: &Statements, run: &StatementRun) -> Result<(), Status> {
    for statement in statements.drop.iter().chain([&statements.put]) {
        let plan = session.plan_text(statement, run.stop()).await.map_err(|error| run.status(&error))?;
        finish(plan, run).await?;
    }
    Ok(())
}

/// Refuses unsupported targets.
fn check(session: &Session, command: &CommandStatementIngest) -> Result<(), Status> {
    if command.temporary {
        return Err(Status::unimplemented(
            "rows are not sent into temporary tables; send them into a table of the database, and drop it afterwards",
        ));
    }
    let state = session.context().state();
    let names = &state.config_options().catalog;
    let is_own =
        |given: &Option<String>, own: &str| given.as_deref().is_none_or(|given| given.is_empty() || given == own);
    if !is_own(&command.catalog, &names.default_catalog) || !is_own(&command.schema, &names.default_schema) {
        return Err(Status::invalid_argument(format!(
            "rows are sent into tables of {}.{} alone; leave out the catalog and the schema",
            names.default_catalog, names.default_schema
        )));
    }
    Ok(())
}

async fn statements(
    session: &Session,
    command: &CommandStatementIngest,
    schema: &SchemaRef,
    rows: &str,
) -> Result<Statements, Status> {
    let table = quoted(&command.table);
    let (if_exists, if_not_exist) = match &command.table_definition_options {
        Some(options) => (options.if_exists(), options.if_not_exist()),
        None => (TableExistsOption::Append, TableNotExistOption::Fail),
    };
    let create = format!("CREATE TABLE {table} AS SELECT * FROM {rows}");
    if !exists(session, &command.table).await? {
        return match if_not_exist {
            TableNotExistOption::Create => Ok(Statements { drop: None, put: create }),
            _ => Err(Status::not_found(format!(
                "there is no table {table}; create it first, or ask for it to be created"
            ))),
        };
    }
    match if_exists {
        TableExistsOption::Append => {
            let columns: Vec<String> = schema.fields().iter().map(|field| quoted(field.name())).collect();
            let columns = columns.join(", ");
            Ok(Statements { drop: None, put: format!("INSERT INTO {table} ({columns}) SELECT {columns} FROM {rows}") })
        }
        TableExistsOption::Replace => Ok(Statements { drop: Some(format!("DROP TABLE {table}")), put: create }),
        _ => Err(Status::already_exists(format!("there is a table {table} already; append to it, or replace it"))),
    }
}

async fn exists(session: &Session, table: &str) -> Result<bool, Status> {
    let context = session.context();
    let state = context.state();
    let names = &state.config_options().catalog;
    let schema = context.catalog(&names.default_catalog).and_then(|catalog| catalog.schema(&names.default_schema));
    let Some(schema) = schema else { return Ok(false) };
    let found = schema.table(table).await.map_err(|error| status(&error.into()))?;
    Ok(found.is_some())
}

/// A name as it is written in a statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
