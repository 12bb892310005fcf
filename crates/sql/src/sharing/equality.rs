//! Compares plans and the tables that they read.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{LogicalPlan, TableSource};

/// A plan that equals another one if both compute the same rows of the same tables. DataFusion (55) compares only the names of tables.
#[derive(Clone)]
pub(super) struct ComparablePlan {
    plan: LogicalPlan,
    sources: Vec<Arc<dyn TableSource>>,
    hash: u64,
}

impl ComparablePlan {
    pub(super) fn new(plan: &LogicalPlan) -> Result<Self> {
        let mut sources = Vec::new();
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                sources.push(Arc::clone(&scan.source));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let mut hasher = DefaultHasher::new();
        plan.hash(&mut hasher);
        Ok(Self { plan: plan.clone(), sources, hash: hasher.finish() })
    }

    fn has_same_sources(&self, other: &Self) -> bool {
        self.sources.len() == other.sources.len()
            && self.sources.iter().zip(&other.sources).all(|(one, other)| is_same(one, other))
    }
}

/// Whether both are the same table.
fn is_same(one: &Arc<dyn TableSource>, other: &Arc<dyn TableSource>) -> bool {
    if std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)) {
        return true;
    }
    match (source_as_provider(one), source_as_provider(other)) {
        (Ok(one), Ok(other)) => std::ptr::addr_eq(Arc::as_ptr(&one), Arc::as_ptr(&other)),
        _ => false,
    }
}

impl PartialEq for ComparablePlan {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.has_same_sources(other) && self.plan == other.plan
    }
}

impl Eq for ComparablePlan {}

impl Hash for ComparablePlan {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}
