//! Plans that another process executes: what of a plan can travel, how it is written, and how a scan is divided.
//!
//! [`PlanCodec`] writes the nodes and functions that Lath adds to DataFusion's. [`RemoteScan`] is a scan of files that any process can open
//! by their locations. [`DividedTables`] divides keyed tables into such scans of their files and [`HotRows`], which travel within the plan.
//! [`can_travel`] tells which operators another process can run; lookups of keys, text files, changes of tables, and rows that several
//! operators share stay in the process that planned the query. [`RemoteWrite`] is a statement whose files other processes can write.

mod codec;
mod form;
mod functions;
mod hot_rows;
mod operators;
mod scan;
mod tables;
mod write_part;
mod written_format;

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use crate::effect;

pub use self::codec::PlanCodec;
pub use self::hot_rows::HotRows;
pub use self::operators::can_travel;
pub use self::scan::{FileRefusal, RemoteScan};
pub use self::tables::DividedTables;
pub use self::write_part::WriteRefusal;
pub use crate::write::RemoteWrite;

/// Whether executing a plan writes files or changes tables.
pub fn writes(plan: &Arc<dyn ExecutionPlan>) -> bool {
    effect::writes(plan)
}
