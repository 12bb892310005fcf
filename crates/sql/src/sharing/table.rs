//! The shared table: what the optimizer sees of a plan that is computed once.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow_schema::{Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DFSchema, Result, TableReference, internal_datafusion_err};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, TableProviderFilterPushDown, TableSource, TableType,
};

use crate::rewrite::{has_subquery, is_fallible};

/// A table whose rows a plan computes.
pub(super) struct SharedTable {
    /// Its number in the statement.
    pub(super) number: usize,
    /// Whether its rows may differ each time they are computed, so that all uses have to share them.
    pub(super) is_required: bool,
    /// The plan. It is set when the plans within it have been replaced by shared tables.
    plan: OnceLock<LogicalPlan>,
    schema: SchemaRef,
}

impl SharedTable {
    /// A table with the columns of a plan. Columns of different relations may have the same name, which columns of a table may not.
    pub(super) fn new(number: usize, is_required: bool, columns: &DFSchema) -> Arc<Self> {
        let mut fields: Vec<Field> = Vec::with_capacity(columns.fields().len());
        for field in columns.fields() {
            let is_taken = |name: &str| fields.iter().any(|field| field.name() == name);
            let name = match is_taken(field.name()) {
                false => field.name().clone(),
                true => {
                    let free = (1_usize..).map(|at| format!("{}:{at}", field.name())).find(|name| !is_taken(name));
                    free.unwrap_or_default()
                }
            };
            fields.push(field.as_ref().clone().with_name(name));
        }
        Arc::new(Self { number, is_required, plan: OnceLock::new(), schema: Arc::new(Schema::new(fields)) })
    }

    /// The table that a plan scans, if it is a shared one.
    pub(super) fn scanned(source: &Arc<dyn TableSource>) -> Option<&Self> {
        source.downcast_ref::<Self>()
    }

    pub(super) fn set_plan(&self, plan: LogicalPlan) {
        let _ = self.plan.set(plan);
    }

    pub(super) fn plan(&self) -> Result<&LogicalPlan> {
        self.plan.get().ok_or_else(|| internal_datafusion_err!("a shared table has no plan"))
    }

    pub(super) fn name(&self) -> TableReference {
        TableReference::bare(format!("shared_{}", self.number))
    }

    /// A column of the table.
    pub(super) fn column(&self, at: usize) -> Column {
        Column::new(Some(self.name()), self.schema.field(at).name())
    }

    /// A scan with the columns of the plan that the table replaces.
    pub(super) fn scan(self: &Arc<Self>, columns: &DFSchema) -> Result<LogicalPlan> {
        let source: Arc<dyn TableSource> = Arc::clone(self) as _;
        let named = columns.iter().enumerate().map(|(at, (relation, field))| {
            Expr::Column(self.column(at)).alias_qualified(relation.cloned(), field.name())
        });
        LogicalPlanBuilder::scan(self.name(), source, None)?.project(named)?.build()
    }

    /// Whether a condition may be tested for rows that another use does not read.
    fn accepts(&self, condition: &Expr, columns: &DFSchema) -> bool {
        let is_outer = |expr: &Expr| matches!(expr, Expr::OuterReferenceColumn(..));
        !condition.is_volatile()
            && !has_subquery(condition)
            && !condition.exists(|expr| Ok(is_outer(expr))).unwrap_or(true)
            && !is_fallible(condition, columns)
    }
}

impl TableSource for SharedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let columns = DFSchema::try_from_qualified_schema(self.name(), &self.schema)?;
        let support = |filter: &&Expr| match self.accepts(filter, &columns) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }
}

impl fmt::Debug for SharedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTable").field("number", &self.number).finish_non_exhaustive()
    }
}
