//! The calls of Flight SQL.

use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionBeginTransactionRequest, ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult,
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult,
    ActionEndTransactionRequest, CommandGetCatalogs, CommandGetCrossReference, CommandGetDbSchemas,
    CommandGetExportedKeys, CommandGetImportedKeys, CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes,
    CommandGetTables, CommandGetXdbcTypeInfo, CommandPreparedStatementQuery, CommandPreparedStatementUpdate,
    CommandStatementIngest, CommandStatementQuery, CommandStatementUpdate, DoPutPreparedStatementResult, SqlInfo,
    TicketStatementQuery,
};
use arrow_flight::{Action, ActionType, FlightDescriptor, FlightInfo, HandshakeRequest, HandshakeResponse, Ticket};
use futures_util::stream::{StreamExt, iter};
use http::HeaderValue;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};

use crate::access::{AUTHORIZATION, Access};
use crate::answer::Messages;
use crate::metadata;
use crate::state::ServerState;
use crate::statements::Statements;

type FlightInfos = Result<Response<FlightInfo>, Status>;
type Rows = Result<Response<Messages>, Status>;

/// Answers calls with the state of a server.
#[derive(Debug, Clone)]
pub(crate) struct FlightSql {
    pub(crate) statements: Statements,
    pub(crate) access: Access,
}

impl FlightSql {
    fn state(&self) -> &Arc<ServerState> {
        self.statements.state()
    }
}

#[tonic::async_trait]
impl FlightSqlService for FlightSql {
    type FlightService = Self;

    async fn do_handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<<Self as FlightService>::HandshakeStream>, Status> {
        // The request had the token, or it would not be here.
        let granted: HeaderValue = self.access.granted();
        let payload = granted.as_bytes().to_vec().into();
        let answer = iter([Ok(HandshakeResponse { protocol_version: 0, payload })]);
        let mut response = Response::new(answer.boxed() as <Self as FlightService>::HandshakeStream);
        if let Ok(value) = MetadataValue::try_from(granted.as_bytes()) {
            response.metadata_mut().insert(AUTHORIZATION, value);
        }
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        self.statements.query(query, request).await
    }

    async fn do_get_statement(&self, ticket: TicketStatementQuery, _: Request<Ticket>) -> Rows {
        self.statements.rows(&ticket.statement_handle)
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        self.statements.query_prepared(query, request).await
    }

    async fn do_get_prepared_statement(&self, query: CommandPreparedStatementQuery, request: Request<Ticket>) -> Rows {
        self.statements.prepared_rows(query, request).await
    }

    async fn do_put_statement_update(
        &self,
        command: CommandStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        self.statements.update(command, request).await
    }

    async fn do_put_statement_ingest(
        &self,
        command: CommandStatementIngest,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        self.statements.ingest(command, request).await
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        self.statements.set_values(query, request).await
    }

    async fn do_put_prepared_statement_update(
        &self,
        command: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        self.statements.update_prepared(command, request).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        action: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        self.statements.prepare(action, request).await
    }

    async fn do_action_close_prepared_statement(
        &self,
        action: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        self.state().handles().remove_prepared(&action.prepared_statement_handle);
        Ok(())
    }

    async fn do_action_begin_transaction(
        &self,
        _: ActionBeginTransactionRequest,
        request: Request<Action>,
    ) -> Result<ActionBeginTransactionResult, Status> {
        self.statements.begin(request).await
    }

    async fn do_action_end_transaction(
        &self,
        action: ActionEndTransactionRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        self.statements.end(action).await
    }

    async fn do_action_cancel_query(
        &self,
        action: ActionCancelQueryRequest,
        _: Request<Action>,
    ) -> Result<ActionCancelQueryResult, Status> {
        self.statements.cancel_query(action)
    }

    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Result<Response<<Self as FlightService>::DoActionStream>, Status> {
        self.statements.other_action(request)
    }

    async fn list_custom_actions(&self) -> Option<Vec<Result<ActionType, Status>>> {
        let action = |name: &str, description: &str| {
            Ok(ActionType { r#type: name.to_owned(), description: description.to_owned() })
        };
        Some(vec![
            action("CancelFlightInfo", "Cancels the statement of a FlightInfo."),
            action("CloseSession", "Ends the session of the connection, with its transaction and temporary tables."),
        ])
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&query.into_builder().schema(), request)
    }

    async fn do_get_catalogs(&self, _: CommandGetCatalogs, request: Request<Ticket>) -> Rows {
        self.statements.metadata(request, move |session| async move { metadata::catalogs(&session) }).await
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&query.into_builder().schema(), request)
    }

    async fn do_get_schemas(&self, query: CommandGetDbSchemas, request: Request<Ticket>) -> Rows {
        self.statements.metadata(request, move |session| async move { metadata::schemas(&session, query) }).await
    }

    async fn get_flight_info_tables(&self, query: CommandGetTables, request: Request<FlightDescriptor>) -> FlightInfos {
        metadata::described(&query.into_builder().schema(), request)
    }

    async fn do_get_tables(&self, query: CommandGetTables, request: Request<Ticket>) -> Rows {
        self.statements.metadata(request, move |session| async move { metadata::tables(&session, query).await }).await
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&query.into_builder().schema(), request)
    }

    async fn do_get_table_types(&self, query: CommandGetTableTypes, request: Request<Ticket>) -> Rows {
        self.statements.metadata(request, move |_| async move { metadata::table_types(query) }).await
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&metadata::server_info(query, self.state().limits())?.schema(), request)
    }

    async fn do_get_sql_info(&self, query: CommandGetSqlInfo, request: Request<Ticket>) -> Rows {
        let limits = self.state().limits();
        self.statements.metadata(request, move |_| async move { metadata::server_info(query, limits) }).await
    }

    async fn get_flight_info_primary_keys(
        &self,
        _: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&metadata::primary_key_schema(), request)
    }

    async fn do_get_primary_keys(&self, query: CommandGetPrimaryKeys, request: Request<Ticket>) -> Rows {
        self.statements
            .metadata(request, move |session| async move { metadata::primary_keys(&session, query).await })
            .await
    }

    async fn get_flight_info_exported_keys(
        &self,
        _: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&metadata::foreign_key_schema(), request)
    }

    async fn do_get_exported_keys(&self, query: CommandGetExportedKeys, request: Request<Ticket>) -> Rows {
        self.statements.foreign_keys(request, None, Some(query.table)).await
    }

    async fn get_flight_info_imported_keys(
        &self,
        _: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&metadata::foreign_key_schema(), request)
    }

    async fn do_get_imported_keys(&self, query: CommandGetImportedKeys, request: Request<Ticket>) -> Rows {
        self.statements.foreign_keys(request, Some(query.table), None).await
    }

    async fn get_flight_info_cross_reference(
        &self,
        _: CommandGetCrossReference,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&metadata::foreign_key_schema(), request)
    }

    async fn do_get_cross_reference(&self, query: CommandGetCrossReference, request: Request<Ticket>) -> Rows {
        self.statements.foreign_keys(request, Some(query.fk_table), Some(query.pk_table)).await
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> FlightInfos {
        metadata::described(&metadata::type_info(query.data_type)?.schema(), request)
    }

    async fn do_get_xdbc_type_info(&self, query: CommandGetXdbcTypeInfo, request: Request<Ticket>) -> Rows {
        self.statements.metadata(request, move |_| async move { metadata::type_info(query.data_type) }).await
    }

    // The facts about the server do not change.
    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
