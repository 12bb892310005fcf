//! What written nodes have in common.

use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::common::{Result, internal_err, plan_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion_proto::protobuf;

pub(super) fn schema(written: Option<&protobuf::Schema>) -> Result<SchemaRef> {
    match written {
        Some(written) => Ok(Arc::new(written.try_into()?)),
        None => internal_err!("an operator without schema"),
    }
}

pub(super) fn unreadable(error: impl fmt::Display) -> DataFusionError {
    plan_datafusion_err!("a plan for another process cannot be written or read: {error}")
}
