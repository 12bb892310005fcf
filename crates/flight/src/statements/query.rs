//! Queries.

use std::future::Future;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::sql::{CommandStatementQuery, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc, SchemaResult, Ticket};
use arrow_schema::ArrowError;
use arrow_schema::Schema;
use bytes::Bytes;
use futures_util::stream::{StreamExt, iter};
use lath_sql::Session;
use prost::Message;
use tonic::{Request, Response, Status};

use super::Statements;
use crate::answer::{Answer, AnswerPart, Messages, encode};
use crate::metadata::{KeyQuery, foreign_keys};
use crate::rows::wire_schema;
use crate::sending::messages;
use crate::status::{fault, status};

/// The number of rows, if it is not known.
const UNKNOWN: i64 = -1;

impl Statements {
    /// Plans a query, whose rows are computed when the client reads them. Other statements run.
    pub(crate) async fn query(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let session = self.session(&request, query.transaction_id.as_ref())?;
        let run = self.state.start();
        let answer = self.state.compute(async move {
            let begun = session.begun().await?;
            let plan = begun.plan_text(&query.query, run.stop()).await.map_err(|error| run.status(&error))?;
            Ok(Answer::new(vec![AnswerPart::new(plan, &run).await?]))
        });
        self.described(answer.await?, request.into_inner())
    }

    /// Keeps an answer until the client reads it.
    pub(super) fn described(
        &self,
        answer: Answer,
        descriptor: FlightDescriptor,
    ) -> Result<Response<FlightInfo>, Status> {
        let info = FlightInfo::new().try_with_schema(answer.schema()).map_err(fault)?;
        let statement_handle = self.state.handles().add_result(answer)?;
        let ticket = Ticket { ticket: TicketStatementQuery { statement_handle }.as_any().encode_to_vec().into() };
        let info = info.with_endpoint(FlightEndpoint::new().with_ticket(ticket)).with_descriptor(descriptor);
        Ok(Response::new(info.with_total_records(UNKNOWN).with_total_bytes(UNKNOWN)))
    }

    /// The rows of an answer.
    pub(crate) fn rows(&self, handle: &Bytes) -> Result<Response<Messages>, Status> {
        let answer = self.state.handles().take_result(handle)?;
        Ok(Response::new(messages(answer, &self.state, handle.clone())))
    }

    /// The columns of a query, which does not run.
    pub(crate) async fn schema(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        let session = self.session(&request, query.transaction_id.as_ref())?;
        let prepared = self.state.compute(async move {
            let begun = session.begun().await?;
            begun.prepare(&query.query).await.map_err(|error| status(&error))
        });
        let schema = wire_schema(prepared.await?.columns());
        let result = SchemaResult::try_from(SchemaAsIpc::new(&schema, &Default::default()));
        result.map(Response::new).map_err(|error: ArrowError| fault(error))
    }

    /// The answer to a question about the database.
    pub(crate) async fn metadata<F>(
        &self,
        request: Request<Ticket>,
        answer: impl FnOnce(Session) -> F + Send + 'static,
    ) -> Result<Response<Messages>, Status>
    where
        F: Future<Output = Result<RecordBatch, Status>> + Send + 'static,
    {
        let session = self.session(&request, None)?.session;
        let batch = self.state.compute(async move { answer(session).await }).await?;
        let schema = batch.schema();
        Ok(Response::new(encode(schema, iter([Ok(batch)]).boxed())))
    }

    /// The foreign keys of a table, to a table, or both.
    pub(crate) async fn foreign_keys(
        &self,
        request: Request<Ticket>,
        from: Option<String>,
        to: Option<String>,
    ) -> Result<Response<Messages>, Status> {
        let query = KeyQuery { from, to };
        self.metadata(request, move |session| async move { foreign_keys(&session, &query) }).await
    }
}

/// A schema as bytes.
pub(super) fn schema_bytes(schema: &Schema) -> Result<Bytes, Status> {
    let schema = Arc::new(schema.clone());
    let message = IpcMessage::try_from(SchemaAsIpc::new(&schema, &Default::default()));
    message.map(|IpcMessage(bytes)| bytes).map_err(|error: ArrowError| fault(error))
}
