//! Answers of statements, and their rows as a stream that a client reads.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt, iter};
use lath_sql::{ProgramStatement, StatementPlan};
use tonic::Status;

use crate::rows::{wire_batch, wire_schema};
use crate::run::StatementRun;
use crate::status::fault;

/// A stream of messages to a client.
pub(crate) type Messages = Pin<Box<dyn Stream<Item = Result<FlightData, Status>> + Send>>;

/// A prepared statement of a client.
#[derive(Debug)]
pub(crate) struct PreparedHandle {
    pub(crate) statement: ProgramStatement,
    /// The handle of the transaction that it was prepared in.
    pub(crate) transaction: Option<Bytes>,
    /// The rows of values that its next run has.
    pub(crate) values: Mutex<Vec<RecordBatch>>,
}

/// The answer of a statement.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The columns as they travel.
    schema: SchemaRef,
    parts: Vec<AnswerPart>,
}

/// The answer of a run with one row of values.
#[derive(Debug)]
pub(crate) enum AnswerPart {
    /// The rows are computed when they are read.
    Plan(Box<StatementPlan>),
    /// The rows of a statement that has run.
    Rows(Vec<RecordBatch>),
}

impl AnswerPart {
    /// The answer of a planned statement. A change runs now: clients that are not interested in its number of rows read no answer.
    pub(crate) async fn new(plan: StatementPlan, run: &StatementRun) -> Result<(SchemaRef, Self), Status> {
        let schema = plan.schema();
        if !plan.writes() {
            return Ok((schema, Self::Plan(Box::new(plan))));
        }
        let mut rows = plan.execute(run.stop()).map_err(|error| run.status(&error))?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.next().await {
            batches.push(batch.map_err(|error| run.status(&error))?);
        }
        Ok((schema, Self::Rows(batches)))
    }
}

impl Answer {
    /// The answers of runs one after the other, which have the same columns.
    pub(crate) fn new(parts: Vec<(SchemaRef, AnswerPart)>) -> Self {
        let schema = parts.first().map(|(schema, _)| wire_schema(schema));
        Self {
            schema: schema.unwrap_or_else(|| Arc::new(arrow_schema::Schema::empty())),
            parts: parts.into_iter().map(|(_, part)| part).collect(),
        }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of all parts.
    pub(crate) fn batches(self, run: &Arc<StatementRun>) -> BoxStream<'static, Result<RecordBatch, Status>> {
        let (schema, run) = (self.schema, Arc::clone(run));
        let parts = iter(self.parts).flat_map(move |part| match part {
            AnswerPart::Rows(batches) => iter(batches).map(Ok).boxed(),
            AnswerPart::Plan(plan) => match plan.execute(run.stop()) {
                Ok(rows) => {
                    let run = Arc::clone(&run);
                    rows.map(move |batch| batch.map_err(|error| run.status(&error))).boxed()
                }
                Err(error) => iter([Err(run.status(&error))]).boxed(),
            },
        });
        parts.map(move |batch| wire_batch(&batch?, &schema).map_err(fault)).boxed()
    }
}

/// Batches as messages.
pub(crate) fn encode(schema: SchemaRef, batches: BoxStream<'static, Result<RecordBatch, Status>>) -> Messages {
    let batches = batches.map(|batch| batch.map_err(|status| FlightError::Tonic(Box::new(status))));
    let encoded = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
    encoded.map(|data| data.map_err(Status::from)).boxed()
}
