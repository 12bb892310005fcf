//! The name and the abilities of the server.

use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::sql::metadata::SqlInfoDataBuilder;
use arrow_flight::sql::{
    CommandGetSqlInfo, SqlInfo, SqlNullOrdering, SqlSupportedCaseSensitivity, SqlSupportedTransaction,
    SqlTransactionIsolationLevel,
};
use tonic::Status;

use crate::state::Limits;

/// The version of Arrow's format.
const ARROW_VERSION: &str = "1.5.0";

fn milliseconds(time: Option<Duration>) -> i32 {
    // 0 is no limit.
    time.map_or(0, |time| i32::try_from(time.as_millis()).unwrap_or(i32::MAX))
}

/// The facts that a client asks for; all if it asks for none.
pub(crate) fn server_info(query: CommandGetSqlInfo, limits: Limits) -> Result<RecordBatch, Status> {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "Lath");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, ARROW_VERSION);
    info.append(SqlInfo::FlightSqlServerReadOnly, limits.is_read_only);
    info.append(SqlInfo::FlightSqlServerSql, true);
    info.append(SqlInfo::FlightSqlServerSubstrait, false);
    info.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::Transaction as i32);
    info.append(SqlInfo::FlightSqlServerCancel, true);
    info.append(SqlInfo::FlightSqlServerBulkIngestion, !limits.is_read_only);
    info.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, !limits.is_read_only);
    info.append(SqlInfo::FlightSqlServerStatementTimeout, milliseconds(limits.statement_time));
    info.append(SqlInfo::FlightSqlServerTransactionTimeout, milliseconds(Some(limits.idle_time)));
    info.append(SqlInfo::SqlDdlCatalog, false);
    info.append(SqlInfo::SqlDdlSchema, false);
    info.append(SqlInfo::SqlDdlTable, !limits.is_read_only);
    info.append(SqlInfo::SqlIdentifierCase, SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i32);
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.append(
        SqlInfo::SqlQuotedIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i32,
    );
    info.append(SqlInfo::SqlAllTablesAreSelectable, true);
    info.append(SqlInfo::SqlNullOrdering, SqlNullOrdering::SqlNullsSortedHigh as i32);
    info.append(SqlInfo::SqlSearchStringEscape, "\\");
    info.append(SqlInfo::SqlSupportsColumnAliasing, true);
    info.append(SqlInfo::SqlNullPlusNullIsNull, true);
    info.append(SqlInfo::SqlSupportsTableCorrelationNames, true);
    info.append(SqlInfo::SqlSupportsExpressionsInOrderBy, true);
    info.append(SqlInfo::SqlSupportsOrderByUnrelated, true);
    info.append(SqlInfo::SqlSupportsLikeEscapeClause, true);
    info.append(SqlInfo::SqlSupportsNonNullableColumns, true);
    info.append(SqlInfo::SqlSchemaTerm, "schema");
    info.append(SqlInfo::SqlCatalogTerm, "catalog");
    info.append(SqlInfo::SqlCatalogAtStart, true);
    info.append(SqlInfo::SqlCorrelatedSubqueriesSupported, true);
    info.append(SqlInfo::SqlMaxConnections, i64::try_from(limits.connections).unwrap_or(i64::MAX));
    info.append(
        SqlInfo::SqlDefaultTransactionIsolation,
        SqlTransactionIsolationLevel::SqlTransactionSerializable as i64,
    );
    info.append(SqlInfo::SqlTransactionsSupported, true);
    info.append(SqlInfo::SqlDataDefinitionCausesTransactionCommit, false);
    info.append(SqlInfo::SqlDataDefinitionsInTransactionsIgnored, false);
    info.append(SqlInfo::SqlBatchUpdatesSupported, true);
    info.append(SqlInfo::SqlSavepointsSupported, false);
    info.append(SqlInfo::SqlNamedParametersSupported, false);
    Ok(query.into_builder(&info.build()?).build()?)
}
