//! Prepared statements.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_flight::sql::server::PeekableFlightDataStream;
use arrow_flight::sql::{
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, CommandPreparedStatementQuery,
    CommandPreparedStatementUpdate, DoPutPreparedStatementResult,
};
use arrow_flight::{Action, FlightDescriptor, FlightInfo, SchemaAsIpc, SchemaResult, Ticket};
use arrow_schema::{ArrowError, Schema};
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use tonic::{Request, Response, Status};

use super::query::schema_bytes;
use super::{StatementSession, Statements};
use crate::answer::{Answer, AnswerPart, Messages, PreparedHandle};
use crate::rows::{parameter_schema, wire_schema};
use crate::sending::messages;
use crate::status::{fault, status};
use crate::update::{is_count, received, row_values, update_rows};

/// Maximum size in bytes of the values that are kept for the next run of a statement.
const MAX_VALUE_BYTES: usize = 64 << 20;

impl Statements {
    /// Prepares a statement.
    pub(crate) async fn prepare(
        &self,
        action: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let session = self.session(&request, action.transaction_id.as_ref())?;
        let statement = self.state.compute(async move {
            let begun = session.begun().await?;
            begun.prepare(&action.query).await.map_err(|error| status(&error))
        });
        let statement = statement.await?;
        let columns = wire_schema(statement.columns());
        // Drivers of JDBC take a statement that has columns for a query.
        let dataset_schema = match columns.fields().is_empty() || returns_count(statement.text(), &columns) {
            true => bytes::Bytes::new(),
            false => schema_bytes(&columns)?,
        };
        let parameter_schema = schema_bytes(&parameter_schema(statement.parameters()))?;
        let prepared = PreparedHandle { statement, transaction: action.transaction_id, values: Mutex::default() };
        let prepared_statement_handle = self.state.handles().add_prepared(prepared)?;
        Ok(ActionCreatePreparedStatementResult { prepared_statement_handle, dataset_schema, parameter_schema })
    }

    /// Keeps the values for the next run of a statement.
    pub(crate) async fn set_values(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let prepared = self.state.handles().prepared(&query.prepared_statement_handle)?;
        let mut batches = received(request.into_inner(), self.state.limits().idle_time);
        let (mut values, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = batches.try_next().await? {
            bytes += batch.get_array_memory_size();
            if bytes > MAX_VALUE_BYTES {
                return Err(Status::resource_exhausted(format!(
                    "the values of a query have more than {MAX_VALUE_BYTES} bytes; put them into a table, and join it"
                )));
            }
            values.push(batch);
        }
        *prepared.values.lock().unwrap_or_else(PoisonError::into_inner) = values;
        Ok(DoPutPreparedStatementResult { prepared_statement_handle: Some(query.prepared_statement_handle) })
    }

    /// Plans a prepared query with its values.
    pub(crate) async fn query_prepared(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let answer = self.prepared_answer(query, &request).await?;
        self.described(answer, request.into_inner())
    }

    /// The rows of a prepared query.
    pub(crate) async fn prepared_rows(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Response<Messages>, Status> {
        let handle = query.prepared_statement_handle.clone();
        let answer = self.prepared_answer(query, &request).await?;
        Ok(Response::new(messages(answer, &self.state, handle)))
    }

    async fn prepared_answer<T>(
        &self,
        query: CommandPreparedStatementQuery,
        request: &Request<T>,
    ) -> Result<Answer, Status> {
        let (prepared, session) = self.prepared(&query.prepared_statement_handle, request)?;
        let values = prepared.values.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let run = self.state.start();
        let answer = self.state.compute(async move {
            let begun = session.begun().await?;
            let mut parts = Vec::new();
            for values in each_row(&values)? {
                let plan = begun.plan_with_values(&prepared.statement, &values, run.stop()).await;
                parts.push(AnswerPart::new(plan.map_err(|error| run.status(&error))?, &run).await?);
            }
            Ok(Answer::new(parts))
        });
        answer.await
    }

    /// Runs a prepared statement, and returns the number of rows that it has changed.
    pub(crate) async fn update_prepared(
        &self,
        command: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let (prepared, session) = self.prepared(&command.prepared_statement_handle, &request)?;
        let kept = std::mem::take(&mut *prepared.values.lock().unwrap_or_else(PoisonError::into_inner));
        let sent = received(request.into_inner(), self.state.limits().idle_time);
        let values = iter(kept.into_iter().map(Ok)).chain(sent).boxed();
        let run = self.state.start();
        let updated = self.state.compute(async move {
            let begun = session.begun().await?;
            update_rows(&begun, || session.own(), &prepared.statement, values, &run).await
        });
        updated.await
    }

    /// The columns of a prepared statement.
    pub(crate) fn prepared_schema(
        &self,
        query: &CommandPreparedStatementQuery,
    ) -> Result<Response<SchemaResult>, Status> {
        let prepared = self.state.handles().prepared(&query.prepared_statement_handle)?;
        let schema = wire_schema(prepared.statement.columns());
        let result = SchemaResult::try_from(SchemaAsIpc::new(&schema, &Default::default()));
        result.map(Response::new).map_err(|error: ArrowError| fault(error))
    }

    fn prepared<T>(
        &self,
        handle: &[u8],
        request: &Request<T>,
    ) -> Result<(Arc<PreparedHandle>, StatementSession), Status> {
        let prepared = self.state.handles().prepared(handle)?;
        let session = self.session(request, prepared.transaction.as_ref())?;
        Ok((prepared, session))
    }
}

/// Whether a statement is a change that returns its number of rows.
fn returns_count(text: &str, columns: &Schema) -> bool {
    let first = text.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_change = ["INSERT", "UPDATE", "DELETE", "MERGE"].iter().any(|word| first.eq_ignore_ascii_case(word));
    is_change && is_count(columns)
}

/// The values of each run: one without values if there are no rows of them.
fn each_row(batches: &[RecordBatch]) -> Result<Vec<Vec<datafusion::common::ScalarValue>>, Status> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            rows.push(row_values(batch, row)?);
        }
    }
    if rows.is_empty() {
        rows.push(Vec::new());
    }
    Ok(rows)
}
