//! Answers of statements, and their rows as a stream that a client reads.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt, iter, unfold};
use lath_sql::{ProgramStatement, StatementPlan};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Status;

use crate::rows::{wire_batch, wire_schema};
use crate::run::StatementRun;
use crate::state::ServerState;
use crate::status::fault;

/// Messages that are ready before a client takes them.
const MESSAGES_AHEAD: usize = 1;

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

/// A message between the threads that compute and the connection.
enum Message {
    Data(Box<FlightData>),
    Failed(Status),
    /// Without it, a part of the rows is missing.
    End,
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
    fn batches(self, run: &Arc<StatementRun>) -> BoxStream<'static, Result<RecordBatch, Status>> {
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
        parts.map(move |batch| wire_batch(&batch?, &schema).map_err(|error| fault(error))).boxed()
    }

    /// Sends the rows. They are computed on other threads than the connection's, as fast as the client takes them. `handle` is the handle by which
    /// clients cancel it.
    pub(crate) fn messages(self, state: &Arc<ServerState>, handle: Bytes) -> Messages {
        let (run, idle) = (state.start(), state.limits().idle_time);
        state.handles().add_running(handle.clone(), Arc::clone(&run));
        let (sender, receiver) = mpsc::channel(MESSAGES_AHEAD);
        let running = Arc::clone(state);
        state.computing().spawn(async move {
            let failed = tokio::select! {
                // The client is gone.
                () = sender.closed() => {
                    run.end(Status::cancelled("the client has ended the statement"));
                    None
                }
                failed = self.send(&run, &sender, idle) => failed,
            };
            // From here on, nothing of the statement is in memory.
            running.handles().remove_running(&handle);
            drop(running);
            let last = failed.map_or(Message::End, Message::Failed);
            let _ = timeout(idle, sender.send(last)).await;
        });
        unfold(Some(receiver), |receiver| async move {
            let mut receiver = receiver?;
            match receiver.recv().await {
                Some(Message::Data(data)) => Some((Ok(*data), Some(receiver))),
                Some(Message::Failed(status)) => Some((Err(status), None)),
                Some(Message::End) => None,
                None => Some((Err(fault("the statement ended without its last rows")), None)),
            }
        })
        .boxed()
    }

    /// Sends the rows, until an error, which is returned.
    async fn send(
        self,
        run: &Arc<StatementRun>,
        sender: &mpsc::Sender<Message>,
        idle: std::time::Duration,
    ) -> Option<Status> {
        let schema = Arc::clone(&self.schema);
        let mut encoded = encode(schema, self.batches(run));
        while let Some(data) = encoded.next().await {
            let data = match data {
                Ok(data) => data,
                Err(status) => return Some(status),
            };
            // A client that takes nothing holds the memory of its statement no longer than the statement may take.
            let sent = run.stop().run(timeout(idle, sender.send(Message::Data(Box::new(data))))).await;
            match sent {
                Ok(Ok(Ok(()))) => {}
                Ok(Ok(Err(_))) => return None,
                Ok(Err(_)) => {
                    return Some(Status::deadline_exceeded(format!(
                        "the client took no rows for {} s, so the statement was ended; take them sooner, or start the server with a higher \
                         limit (--idle-time)",
                        idle.as_secs_f64()
                    )));
                }
                Err(stopped) => return Some(run.status(&stopped)),
            }
        }
        None
    }
}

/// Batches as messages.
pub(crate) fn encode(schema: SchemaRef, batches: BoxStream<'static, Result<RecordBatch, Status>>) -> Messages {
    let batches = batches.map(|batch| batch.map_err(|status| FlightError::Tonic(Box::new(status))));
    let encoded = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
    encoded.map(|data| data.map_err(Status::from)).boxed()
}
