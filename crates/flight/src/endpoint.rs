//! The calls of Flight: the ones of Flight SQL, and the schema of a query.

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::{Any, Command};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse,
    PollInfo, PutResult, Result as ActionResult, SchemaResult, Ticket,
};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};

use crate::service::FlightSql;

/// A stream of answers of a call.
type Answers<T> = std::pin::Pin<Box<dyn futures_util::Stream<Item = Result<T, Status>> + Send>>;

/// Answers calls; the crate of Flight SQL has no schema of a query.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint(pub(crate) FlightSql);

#[tonic::async_trait]
impl FlightService for Endpoint {
    type HandshakeStream = Answers<HandshakeResponse>;
    type ListFlightsStream = Answers<FlightInfo>;
    type DoGetStream = Answers<FlightData>;
    type DoPutStream = Answers<PutResult>;
    type DoActionStream = Answers<ActionResult>;
    type ListActionsStream = Answers<ActionType>;
    type DoExchangeStream = Answers<FlightData>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        self.0.handshake(request).await
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Result<Response<Self::ListFlightsStream>, Status> {
        // Clients of Flight SQL ask for tables instead.
        Ok(Response::new(Box::pin(futures_util::stream::empty())))
    }

    async fn get_flight_info(&self, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
        self.0.get_flight_info(request).await
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Result<Response<PollInfo>, Status> {
        Err(Status::unimplemented("queries are not polled; ask for GetFlightInfo, which returns before the query runs"))
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        let any = Any::decode(&*request.get_ref().cmd).map_err(|error| Status::invalid_argument(error.to_string()))?;
        match Command::try_from(any).map_err(|error| Status::invalid_argument(error.to_string()))? {
            Command::CommandStatementQuery(query) => self.0.statements.schema(query, request).await,
            Command::CommandPreparedStatementQuery(query) => self.0.statements.prepared_schema(&query),
            _ => {
                let info = self.0.get_flight_info(request).await?.into_inner();
                Ok(Response::new(SchemaResult { schema: info.schema }))
            }
        }
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        self.0.do_get(request).await
    }

    async fn do_put(&self, request: Request<Streaming<FlightData>>) -> Result<Response<Self::DoPutStream>, Status> {
        self.0.do_put(request).await
    }

    async fn do_exchange(&self, _: Request<Streaming<FlightData>>) -> Result<Response<Self::DoExchangeStream>, Status> {
        Err(Status::unimplemented("Flight SQL has no DoExchange"))
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        self.0.do_action(request).await
    }

    async fn list_actions(&self, request: Request<Empty>) -> Result<Response<Self::ListActionsStream>, Status> {
        self.0.list_actions(request).await
    }
}
