use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::table::LathTable;
use crate::scan::scan_by;

/// A view of some columns of a table.
///
/// Planning takes time in proportion to the number of columns. If a table has very many, queries of a few are planned faster this way.
#[derive(Debug)]
pub struct SomeColumns {
    table: Arc<LathTable>,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl SomeColumns {
    /// Selects the columns at these indices of `table`'s schema.
    ///
    /// # Errors
    /// If an index is out of range.
    pub fn new(table: &Arc<LathTable>, columns: Vec<usize>) -> Result<Self> {
        let schema = Arc::new(table.schema().project(&columns)?);
        Ok(Self { table: Arc::clone(table), columns, schema })
    }

    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let places = match projection {
            Some(projection) => projection.iter().filter_map(|&at| self.columns.get(at).copied()).collect(),
            None => self.columns.clone(),
        };
        self.table.scan(state, Some(&places), filters, limit).await
    }
}

impl TableProvider for SomeColumns {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    scan_by!(SomeColumns, plan_scan);
}
