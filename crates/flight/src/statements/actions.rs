//! Transactions, cancellation and the end of sessions.

use std::pin::Pin;

use arrow_flight::sql::{
    ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult, ActionEndTransactionRequest, Any,
    Command, EndTransaction,
};
use arrow_flight::{
    Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightInfo, Result as ActionResult,
};
use bytes::Bytes;
use futures_util::stream::{Stream, StreamExt, iter};
use prost::Message;
use tonic::{Request, Response, Status};

use super::Statements;
use crate::client::Client;
use crate::status::status;
use crate::transaction::ClientTransaction;

/// The answer of `CloseSession`: a message whose first field, `status`, is 1, which is "closed".
const SESSION_CLOSED: &[u8] = &[0x08, 0x01];

/// A stream of results of an action.
type Answers = Pin<Box<dyn Stream<Item = Result<ActionResult, Status>> + Send>>;

impl Statements {
    /// Begins a transaction, which takes nothing from others before its first change.
    pub(crate) async fn begin(&self, request: Request<Action>) -> Result<ActionBeginTransactionResult, Status> {
        let client = Client::from_request(&request)?;
        let state = self.state.clone();
        let begun = self.state.compute(async move {
            let session = state.session().sibling().map_err(|error| status(&error.into()))?;
            state.handles().add_transaction(ClientTransaction::new(session, client.number()))
        });
        Ok(ActionBeginTransactionResult { transaction_id: begun.await? })
    }

    /// Ends a transaction.
    pub(crate) async fn end(&self, action: ActionEndTransactionRequest) -> Result<(), Status> {
        let keeps_changes = match action.action() {
            EndTransaction::Commit => true,
            EndTransaction::Rollback => false,
            EndTransaction::Unspecified => {
                return Err(Status::invalid_argument("a transaction is ended by commit or by rollback; name one"));
            }
        };
        let transaction = self.state.handles().remove_transaction(&action.transaction_id)?;
        self.state.compute(async move { transaction.end(keeps_changes).await }).await
    }

    /// Cancels the statement of a result.
    pub(crate) fn cancel_query(&self, action: ActionCancelQueryRequest) -> Result<ActionCancelQueryResult, Status> {
        let info = FlightInfo::decode(action.info).map_err(|error| Status::invalid_argument(error.to_string()))?;
        // The results of this action have the numbers of the newer one.
        Ok(ActionCancelQueryResult { result: self.cancel(&info)? as i32 })
    }

    fn cancel(&self, info: &FlightInfo) -> Result<CancelStatus, Status> {
        let mut has_cancelled = false;
        for endpoint in &info.endpoint {
            let Some(ticket) = &endpoint.ticket else { continue };
            has_cancelled |= self.state.handles().cancel(&result_handle(&ticket.ticket)?);
        }
        Ok(if has_cancelled { CancelStatus::Cancelled } else { CancelStatus::NotCancellable })
    }

    /// Actions that are not of Flight SQL.
    pub(crate) fn other_action(&self, request: Request<Action>) -> Result<Response<Answers>, Status> {
        let body = match request.get_ref().r#type.as_str() {
            "CancelFlightInfo" => {
                let cancelled = CancelFlightInfoRequest::decode(request.get_ref().body.clone());
                let cancelled = cancelled.map_err(|error| Status::invalid_argument(error.to_string()))?;
                let info =
                    cancelled.info.ok_or_else(|| Status::invalid_argument("there is no FlightInfo to cancel"))?;
                CancelFlightInfoResult::new(self.cancel(&info)?).encode_to_vec()
            }
            "CloseSession" => {
                Client::from_request(&request)?.end_session();
                SESSION_CLOSED.to_vec()
            }
            other => return Err(Status::unimplemented(format!("there is no action {other:?}"))),
        };
        Ok(Response::new(iter([Ok(ActionResult { body: body.into() })]).boxed()))
    }
}

/// The handle of the result that a ticket is for.
fn result_handle(ticket: &[u8]) -> Result<Bytes, Status> {
    let any = Any::decode(ticket).map_err(|error| Status::invalid_argument(error.to_string()))?;
    match Command::try_from(any) {
        Ok(Command::TicketStatementQuery(ticket)) => Ok(ticket.statement_handle),
        Ok(Command::CommandPreparedStatementQuery(query)) => Ok(query.prepared_statement_handle),
        // The answers to questions about the database are short.
        _ => Ok(Bytes::new()),
    }
}
