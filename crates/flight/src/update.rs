//! Statements that run to their end, and values of parameters.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_schema::{DataType, Schema};
use datafusion::common::ScalarValue;
use futures_util::stream::{Stream, StreamExt, TryStreamExt};
use lath_sql::{ProgramStatement, Session, StatementPlan};
use tokio::time::timeout;
use tonic::Status;

use crate::run::StatementRun;
use crate::status::status;
use crate::transaction::in_transaction;

/// Batches that a client sends.
pub(crate) type Batches = Pin<Box<dyn Stream<Item = Result<RecordBatch, Status>> + Send>>;

/// The number of rows of a statement that does not say how many it has changed.
const UNKNOWN: i64 = -1;

/// The batches that a client sends, which may have no longer pauses than this.
pub(crate) fn received(
    messages: impl Stream<Item = Result<FlightData, Status>> + Send + 'static,
    pause: Duration,
) -> Batches {
    // A client without values sends a message that only says what it wants.
    let has_rows = |message: &Result<FlightData, Status>| {
        let is_empty = message.as_ref().is_ok_and(|message| message.data_header.is_empty());
        std::future::ready(!is_empty)
    };
    let messages = messages.filter(has_rows).map_err(|status| FlightError::Tonic(Box::new(status)));
    let batches = FlightRecordBatchStream::new_from_flight_data(messages);
    let batches = futures_util::stream::unfold(Some(batches), move |batches| async move {
        let mut batches = batches?;
        match timeout(pause, batches.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(batch))) => Some((Ok(batch), Some(batches))),
            Ok(Some(Err(error))) => Some((Err(Status::from(error)), None)),
            Err(_) => Some((
                Err(Status::deadline_exceeded(format!(
                    "the client sent no rows for {} s; send them sooner, or start the server with a higher limit (--idle-time)",
                    pause.as_secs_f64()
                ))),
                None,
            )),
        }
    });
    // The end may be asked for again.
    batches.fuse().boxed()
}

/// The values of one row of parameters.
pub(crate) fn row_values(batch: &RecordBatch, row: usize) -> Result<Vec<ScalarValue>, Status> {
    let values = batch.columns().iter().map(|column| ScalarValue::try_from_array(column, row));
    values.collect::<Result<_, _>>().map_err(|error| status(&error.into()))
}

/// Runs a planned statement to its end. Returns the number of rows that it has changed or returned.
pub(crate) async fn finish(plan: StatementPlan, run: &StatementRun) -> Result<i64, Status> {
    let (schema, writes) = (plan.schema(), plan.writes());
    let counts = writes && is_count(&schema);
    let mut rows = plan.execute(run.stop()).map_err(|error| run.status(&error))?;
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(|error| run.status(&error))?;
        count += match batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>()) {
            Some(column) if counts => column.iter().flatten().sum(),
            _ => batch.num_rows() as u64,
        };
    }
    Ok(match writes || schema.fields().is_empty() {
        true => i64::try_from(count).unwrap_or(i64::MAX),
        false => UNKNOWN,
    })
}

/// Whether a statement that writes returns the number of rows.
pub(crate) fn is_count(schema: &Schema) -> bool {
    matches!(schema.fields().as_ref(), [field] if field.name() == "count" && *field.data_type() == DataType::UInt64)
}

/// Runs a statement once for each row of values, as one transaction if there are several; `own` is a session without a transaction for this.
pub(crate) async fn update_rows(
    session: &Session,
    own: impl FnOnce() -> Result<Option<Session>, Status>,
    statement: &ProgramStatement,
    mut values: Batches,
    run: &Arc<StatementRun>,
) -> Result<i64, Status> {
    let first = loop {
        match values.try_next().await? {
            Some(batch) if batch.num_rows() == 0 => {}
            Some(batch) => break batch,
            None => return run_once(session, statement, &[], run).await,
        }
    };
    let next = values.try_next().await?;
    if first.num_rows() == 1 && next.is_none() {
        return run_once(session, statement, &row_values(&first, 0)?, run).await;
    }
    let values = futures_util::stream::iter([first].into_iter().chain(next)).map(Ok).chain(values);
    match own()? {
        None => run_each(session, statement, values.boxed(), run).await,
        Some(own) => in_transaction(&own, run, run_each(&own, statement, values.boxed(), run)).await,
    }
}

async fn run_each(
    session: &Session,
    statement: &ProgramStatement,
    mut values: Batches,
    run: &StatementRun,
) -> Result<i64, Status> {
    let mut count = 0;
    while let Some(batch) = values.try_next().await? {
        for row in 0..batch.num_rows() {
            count += run_once(session, statement, &row_values(&batch, row)?, run).await?.max(0);
        }
    }
    Ok(count)
}

async fn run_once(
    session: &Session,
    statement: &ProgramStatement,
    values: &[ScalarValue],
    run: &StatementRun,
) -> Result<i64, Status> {
    let plan = session.plan_with_values(statement, values, run.stop()).await;
    finish(plan.map_err(|error| run.status(&error))?, run).await
}
