//! Decides what is shared, from the optimized uses.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::display::{PlanType, StringifiedPlan};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, internal_datafusion_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder, TableScan, TableSource};

use super::conditions::Conditions;
use super::read::SharedRead;
use super::table::SharedTable;
use super::uses::{fallible_nodes, has_widest_use, scanned_columns, used_columns};

/// A plan whose shared tables are decided.
pub(super) struct ResolvedPlan {
    pub(super) plan: LogicalPlan,
    /// The tables that are computed once, and their optimized plans, each after the ones that it uses.
    pub(super) tables: Vec<(SharedRead, LogicalPlan)>,
}

/// Decides for the shared tables of an optimized plan which are computed once, and with which columns and rows.
pub(super) fn resolve(plan: &LogicalPlan, state: &SessionState) -> Result<ResolvedPlan> {
    let mut resolver = Resolver { state, plans: vec![plan.clone()], reads: Vec::new() };
    for table in users_first(plan)? {
        resolver.resolve_table(&table)?;
    }
    let mut plans = resolver.plans.into_iter();
    let plan = plans.next().unwrap_or_default();
    let mut tables: Vec<_> = resolver.reads.into_iter().zip(plans).collect();
    tables.reverse();
    let plan = with_explained(plan, &tables);
    Ok(ResolvedPlan { plan, tables })
}

/// The source of a shared table.
#[derive(Clone)]
struct SharedSource(Arc<dyn TableSource>);

impl SharedSource {
    fn from_plan(plan: &LogicalPlan) -> Option<Self> {
        match plan {
            LogicalPlan::TableScan(scan) => SharedTable::scanned(&scan.source).map(|_| Self(Arc::clone(&scan.source))),
            _ => None,
        }
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

/// All shared tables that a plan uses, also through others, each before the tables that it uses itself.
fn users_first(plan: &LogicalPlan) -> Result<Vec<SharedSource>> {
    fn visit(plan: &LogicalPlan, seen: &mut HashSet<usize>, order: &mut Vec<SharedSource>) -> Result<()> {
        let mut used = Vec::new();
        plan.apply_with_subqueries(|node| {
            used.extend(SharedSource::from_plan(node));
            Ok(TreeNodeRecursion::Continue)
        })?;
        for table in used {
            if seen.insert(table.address())
                && let Some(own) = SharedTable::scanned(&table.0)
            {
                visit(own.plan()?, seen, order)?;
                order.push(table);
            }
        }
        Ok(())
    }
    let mut order = Vec::new();
    visit(plan, &mut HashSet::new(), &mut order)?;
    order.reverse();
    Ok(order)
}

struct Resolver<'s> {
    state: &'s SessionState,
    /// The statement's plan, and the plans of tables that are computed once.
    plans: Vec<LogicalPlan>,
    /// These tables.
    reads: Vec<SharedRead>,
}

/// How the scans of a table are replaced.
enum Replacement {
    /// By a read of the rows that are computed for all scans.
    Read(SharedRead),
    /// By separate plans.
    Apart(HashMap<TableScan, LogicalPlan>),
}

impl Resolver<'_> {
    fn resolve_table(&mut self, source: &SharedSource) -> Result<()> {
        let Some(table) = SharedTable::scanned(&source.0) else { return Ok(()) };
        let scans = self.scans(source)?;
        let conditions = Conditions::new(scans.iter().map(|scan| scan.filters.clone()));
        let is_apart = scans.len() < 2
            || (!table.is_required
                && (self.may_raise_more_errors(table, &scans, conditions.as_ref())?
                    || self.is_better_apart(table, conditions.as_ref())?));
        let replacement = if is_apart {
            let mut plans = HashMap::new();
            for scan in scans {
                if let Entry::Vacant(place) = plans.entry(scan) {
                    let plan = self.plan_apart(table, place.key())?;
                    place.insert(plan);
                }
            }
            Replacement::Apart(plans)
        } else {
            let columns = used_columns(table, &scans)?;
            let filters = conditions.map(|conditions| conditions.combined()).unwrap_or_default();
            let plan = self.plan_shared(table, &columns, filters)?;
            let fields = columns.iter().map(|&at| (Some(table.name()), Arc::clone(&table.schema().fields()[at])));
            let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), HashMap::new())?);
            let read = SharedRead { id: self.reads.len(), number: table.number, schema };
            self.plans.push(plan);
            self.reads.push(read.clone());
            Replacement::Read(read)
        };
        for plan in &mut self.plans {
            let replaced = std::mem::take(plan).transform_up_with_subqueries(|node| match &node {
                LogicalPlan::TableScan(scan) if Arc::as_ptr(&scan.source).addr() == source.address() => {
                    replacement.plan(table, scan).map(Transformed::yes)
                }
                _ => Ok(Transformed::no(node)),
            })?;
            *plan = replaced.data;
        }
        Ok(())
    }

    /// The scans of a table in all plans.
    fn scans(&self, source: &SharedSource) -> Result<Vec<TableScan>> {
        let mut scans = Vec::new();
        for plan in &self.plans {
            plan.apply_with_subqueries(|node| {
                if let LogicalPlan::TableScan(scan) = node
                    && Arc::as_ptr(&scan.source).addr() == source.address()
                {
                    scans.push(scan.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(scans)
    }

    /// Whether each use alone reads only a part of the files, but all together read everything.
    fn is_better_apart(&self, table: &SharedTable, conditions: Option<&Conditions>) -> Result<bool> {
        let Some(conditions) = conditions else { return Ok(false) };
        if conditions.single().len() < 2 || !conditions.by_columns().is_empty() {
            return Ok(false);
        }
        let pushed = |filters: Vec<Expr>| {
            let plan = filtered(table, filters)?.build()?;
            pushed_conditions(&self.optimized(plan)?)
        };
        let without = pushed(Vec::new())?;
        if pushed(conditions.combined())? > without {
            return Ok(false);
        }
        for filters in conditions.single() {
            if pushed(filters)? <= without {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the rows of all uses may raise an error that each use alone does not: an expression would be computed for rows that only uses
    /// without it read.
    fn may_raise_more_errors(
        &self,
        table: &SharedTable,
        scans: &[TableScan],
        conditions: Option<&Conditions>,
    ) -> Result<bool> {
        if has_widest_use(table, scans)? {
            return Ok(false);
        }
        if fallible_nodes(table.plan()?)?.is_empty() {
            return Ok(false);
        }
        // An expression over the same rows as in one use raises no more errors.
        let filters = conditions.map(Conditions::combined).unwrap_or_default();
        let mut left = fallible_nodes(&self.plan_shared(table, &used_columns(table, scans)?, filters)?)?;
        for scan in scans {
            if left.is_empty() {
                break;
            }
            for own in fallible_nodes(&self.plan_apart(table, scan)?)? {
                left.remove(&own);
            }
        }
        Ok(!left.is_empty())
    }

    /// Plans the rows of all scans.
    fn plan_shared(&self, table: &SharedTable, columns: &[usize], filters: Vec<Expr>) -> Result<LogicalPlan> {
        let schema = table.plan()?.schema();
        let named = columns
            .iter()
            .map(|&at| Expr::Column(Column::from(schema.qualified_field(at))).alias(table.schema().field(at).name()));
        let named: Vec<Expr> = named.collect();
        self.optimized(filtered(table, filters)?.project(named)?.build()?)
    }

    /// Plans the rows of one scan.
    fn plan_apart(&self, table: &SharedTable, scan: &TableScan) -> Result<LogicalPlan> {
        let schema = table.plan()?.schema();
        let named = scanned_columns(table, scan).into_iter().map(|at| {
            let column = Expr::Column(Column::from(schema.qualified_field(at)));
            column.alias_qualified(Some(table.name()), table.schema().field(at).name())
        });
        let named: Vec<Expr> = named.collect();
        let plan = filtered(table, scan.filters.clone())?.project(named)?;
        let plan = if scan.fetch.is_some() { plan.limit(0, scan.fetch)? } else { plan };
        self.optimized(plan.build()?)
    }

    fn optimized(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        self.state.optimizer().optimize(plan, self.state, |_, _| {})
    }
}

impl Replacement {
    /// The plan that replaces a scan.
    fn plan(&self, table: &SharedTable, scan: &TableScan) -> Result<LogicalPlan> {
        let read = match self {
            Self::Apart(plans) => {
                let plan = plans.get(scan).cloned();
                return plan.ok_or_else(|| internal_datafusion_err!("a use of shared rows has no plan"));
            }
            Self::Read(read) => read,
        };
        let plan = LogicalPlan::Extension(Extension { node: Arc::new(read.clone()) });
        let plan = match conjunction(scan.filters.clone()) {
            Some(filter) => LogicalPlanBuilder::from(plan).filter(filter)?.build()?,
            None => plan,
        };
        let columns: Vec<_> = scanned_columns(table, scan).into_iter().map(|at| table.column(at)).collect();
        if plan.schema().columns() == columns {
            return Ok(plan);
        }
        LogicalPlanBuilder::from(plan).project(columns.into_iter().map(Expr::Column))?.build()
    }
}

/// The plan of a table with conditions on the table's columns.
fn filtered(table: &SharedTable, filters: Vec<Expr>) -> Result<LogicalPlanBuilder> {
    let plan = table.plan()?;
    let Some(filter) = conjunction(filters) else { return Ok(LogicalPlanBuilder::from(plan.clone())) };
    let own = filter.transform(|expr| match &expr {
        Expr::Column(column) => {
            let at = table.schema().index_of(column.name())?;
            Ok(Transformed::yes(Expr::Column(Column::from(plan.schema().qualified_field(at)))))
        }
        _ => Ok(Transformed::no(expr)),
    })?;
    LogicalPlanBuilder::from(plan.clone()).filter(own.data)
}

/// The number of conditions that have reached the scans.
fn pushed_conditions(plan: &LogicalPlan) -> Result<usize> {
    let mut count = 0;
    plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::TableScan(scan) => count += scan.filters.len(),
            LogicalPlan::Filter(filter) if matches!(filter.input.as_ref(), LogicalPlan::TableScan(_)) => {
                count += split_conjunction(&filter.predicate).len();
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}

/// Adds the plans of the tables to the output of EXPLAIN.
fn with_explained(plan: LogicalPlan, tables: &[(SharedRead, LogicalPlan)]) -> LogicalPlan {
    match plan {
        LogicalPlan::Explain(mut explain) => {
            let text = |(read, plan): &(SharedRead, LogicalPlan)| {
                let text = format!("SharedRead: {}, of\n{}", read.number, plan.display_indent());
                StringifiedPlan::new(PlanType::FinalLogicalPlan, text)
            };
            explain.stringified_plans.extend(tables.iter().map(text));
            LogicalPlan::Explain(explain)
        }
        other => other,
    }
}
