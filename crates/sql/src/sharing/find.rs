//! Replaces equal plans by scans of shared tables.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::config::{ConfigExtension, ConfigOptions};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, extensions_options};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;

use super::candidates::is_candidate;
use super::equality::ComparablePlan;
use super::table::SharedTable;
use crate::shared_plan::SharedPlan;
use crate::with_queries::shared_query_number;

extensions_options! {
    /// Settings of common subplans.
    pub struct SharingOptions {
        /// Whether equal plans of a statement are computed once. Plans that have to be are in any case.
        pub common_subplans: bool, default = true
    }
}

impl ConfigExtension for SharingOptions {
    const PREFIX: &'static str = "lath";
}

impl SharingOptions {
    /// Whether equal plans are computed once.
    fn are_common_subplans_on(options: &ConfigOptions) -> bool {
        options.extensions.get::<Self>().is_some_and(|options| options.common_subplans)
    }
}

/// Replaces equal plans. The rule is the last one of the analyzer: the plans are as DataFusion will optimize them.
#[derive(Debug)]
pub(crate) struct CommonSubplans {
    /// Whether workers run parts of plans. Then only plans that have to be are computed once.
    pub(crate) has_workers: bool,
}

impl AnalyzerRule for CommonSubplans {
    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        let mut tables = Tables::default();
        let is_on = !self.has_workers && SharingOptions::are_common_subplans_on(options);
        tables.plans.push(LogicalPlan::default());
        tables.plans[0] = tables.replace_marked(plan)?;
        if is_on {
            while tables.replace_equal()? {}
        }
        tables.finish()
    }

    fn name(&self) -> &'static str {
        "lath_common_subplans"
    }
}

/// A plan that has to be computed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mark {
    /// One that the rewrite of subqueries has marked.
    Plan(usize),
    /// A query in WITH with random values.
    Query(usize),
}

impl Mark {
    fn from_plan(node: &LogicalPlan) -> Option<(Self, &LogicalPlan)> {
        if let Some(marked) = SharedPlan::from_plan(node) {
            return Some((Self::Plan(marked.id()), marked.input()));
        }
        match node {
            LogicalPlan::SubqueryAlias(alias) => {
                shared_query_number(alias.alias.table()).map(|number| (Self::Query(number), alias.input.as_ref()))
            }
            _ => None,
        }
    }
}

/// A statement's plan, and the plans of its shared tables.
#[derive(Default)]
struct Tables {
    /// The statement's plan, followed by the ones of `tables`.
    plans: Vec<LogicalPlan>,
    tables: Vec<Arc<SharedTable>>,
    /// The tables of equal plans.
    known: HashMap<ComparablePlan, Arc<SharedTable>>,
}

impl Tables {
    fn add(&mut self, plan: LogicalPlan, is_required: bool) -> Arc<SharedTable> {
        let table = SharedTable::new(self.tables.len() + 1, is_required, plan.schema());
        self.tables.push(Arc::clone(&table));
        self.plans.push(plan);
        table
    }

    /// Replaces plans that are marked as shared.
    fn replace_marked(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut known: HashMap<Mark, Arc<SharedTable>> = HashMap::new();
        let replaced = plan.transform_up_with_subqueries(|node| {
            let Some((mark, marked)) = Mark::from_plan(&node) else { return Ok(Transformed::no(node)) };
            let table = known.entry(mark).or_insert_with(|| self.add(marked.clone(), true));
            table.scan(node.schema()).map(Transformed::yes)
        })?;
        Ok(replaced.data)
    }

    /// Replaces the largest plans that are equal. Returns whether there were any; then smaller ones may be equal within the others.
    fn replace_equal(&mut self) -> Result<bool> {
        let mut counts: HashMap<ComparablePlan, usize> = HashMap::new();
        for (at, plan) in self.plans.iter().enumerate() {
            let mut is_root = at > 0;
            visit(plan, &mut |node| {
                if !std::mem::take(&mut is_root) && is_candidate(node)? {
                    *counts.entry(ComparablePlan::new(node)?).or_default() += 1;
                }
                Ok(())
            })?;
        }
        counts.retain(|plan, count| *count > 1 || self.known.contains_key(plan));
        if counts.is_empty() {
            return Ok(false);
        }
        for at in 0..self.plans.len() {
            let plan = self.plans[at].clone();
            // The plan of a table is not replaced by a scan of the table.
            let mut is_root = at > 0;
            self.plans[at] = replace(plan, &mut |node| {
                if std::mem::take(&mut is_root) || !is_candidate(node)? {
                    return Ok(None);
                }
                let key = ComparablePlan::new(node)?;
                if !counts.contains_key(&key) {
                    return Ok(None);
                }
                let table = match self.known.get(&key) {
                    Some(table) => Arc::clone(table),
                    None => {
                        let table = self.add(node.clone(), false);
                        self.known.insert(key, Arc::clone(&table));
                        table
                    }
                };
                table.scan(node.schema()).map(Some)
            })?;
        }
        Ok(true)
    }

    /// Gives the tables their plans, and returns the statement's.
    fn finish(self) -> Result<LogicalPlan> {
        let mut plans = self.plans.into_iter();
        let plan = plans.next().unwrap_or_default();
        for (table, plan) in self.tables.iter().zip(plans) {
            table.set_plan(plan);
        }
        Ok(plan)
    }
}

/// Visits the nodes of a plan, but not the recursive part of a recursive query.
fn visit(plan: &LogicalPlan, visitor: &mut dyn FnMut(&LogicalPlan) -> Result<()>) -> Result<()> {
    visitor(plan)?;
    if let LogicalPlan::RecursiveQuery(recursive) = plan {
        return visit(&recursive.static_term, visitor);
    }
    plan.apply_subqueries(|subquery| {
        visit(subquery, visitor)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    plan.inputs().into_iter().try_for_each(|input| visit(input, visitor))
}

/// Replaces nodes that [`visit`] visits, from the root. Nodes below a replaced one stay.
fn replace(
    plan: LogicalPlan,
    replacement: &mut dyn FnMut(&LogicalPlan) -> Result<Option<LogicalPlan>>,
) -> Result<LogicalPlan> {
    if let Some(replaced) = replacement(&plan)? {
        return Ok(replaced);
    }
    if let LogicalPlan::RecursiveQuery(mut recursive) = plan {
        recursive.static_term = Arc::new(replace(Arc::unwrap_or_clone(recursive.static_term), replacement)?);
        return Ok(LogicalPlan::RecursiveQuery(recursive));
    }
    let plan = plan.map_subqueries(|subquery| replace(subquery, replacement).map(Transformed::yes))?.data;
    Ok(plan.map_children(|child| replace(child, replacement).map(Transformed::yes))?.data)
}
