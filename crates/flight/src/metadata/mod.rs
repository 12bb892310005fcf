//! Metadata of the server and its database.

mod info;
mod keys;
mod tables;
mod types;

use arrow_array::RecordBatch;
use arrow_flight::sql::CommandGetTableTypes;
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use arrow_schema::Schema;
use tonic::{Request, Response, Status};

use self::tables::TABLE_TYPES;
use crate::status::fault;

pub(crate) use self::info::server_info;
pub(crate) use self::keys::{KeyQuery, foreign_key_schema, foreign_keys, primary_key_schema, primary_keys};
pub(crate) use self::tables::{catalogs, schemas, tables};
pub(crate) use self::types::type_info;

/// The kinds of tables.
pub(crate) fn table_types(query: CommandGetTableTypes) -> Result<RecordBatch, Status> {
    let mut builder = query.into_builder();
    TABLE_TYPES.into_iter().for_each(|kind| builder.append(kind));
    Ok(builder.build()?)
}

/// The description of an answer, whose ticket is the question.
pub(crate) fn described(schema: &Schema, request: Request<FlightDescriptor>) -> Result<Response<FlightInfo>, Status> {
    let descriptor = request.into_inner();
    let ticket = Ticket { ticket: descriptor.cmd.clone() };
    let info = FlightInfo::new().try_with_schema(schema).map_err(fault)?;
    let info = info.with_endpoint(FlightEndpoint::new().with_ticket(ticket)).with_descriptor(descriptor);
    Ok(Response::new(info))
}
