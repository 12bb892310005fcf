//! Builds the plan of an order of joins.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{FieldRef, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, Result, internal_datafusion_err};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExecBuilder;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::projection::ProjectionExec;

use super::graph::{Filter, InputColumn, Inputs, JoinGraph, Order};

/// A plan and the origin of its columns.
type JoinPlan = (Arc<dyn ExecutionPlan>, Vec<InputColumn>);

/// Builds the plan that joins in this order, with the columns of `schema`; `None` if its schema would differ.
pub(super) fn build(graph: &JoinGraph, order: &Order, schema: &SchemaRef) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let wanted = graph.output.iter().copied().collect();
    let (plan, columns) = join(graph, order, &wanted)?;
    let column = |(output, field): (&InputColumn, &FieldRef)| {
        let at = columns.iter().position(|column| column == output)?;
        Some((column_at(&plan, at), field.name().clone()))
    };
    let projected = graph.output.iter().zip(schema.fields()).map(column).collect::<Option<Vec<_>>>();
    let Some(projected) = projected else { return Ok(None) };
    let plan: Arc<dyn ExecutionPlan> = Arc::new(ProjectionExec::try_new(projected, plan)?);
    Ok((plan.schema() == *schema).then_some(plan))
}

/// Builds the join of some inputs, with at least the `wanted` columns.
fn join(graph: &JoinGraph, order: &Order, wanted: &BTreeSet<InputColumn>) -> Result<JoinPlan> {
    let (table, probe) = match order {
        &Order::Input(input) => {
            let plan = with_own_names(graph, input)?;
            let columns = (0..plan.schema().fields().len()).map(|column| InputColumn { input, column });
            return Ok((plan, columns.collect()));
        }
        Order::Join(table, probe) => (table, probe),
    };
    let (left, right) = (table.inputs(), probe.inputs());
    let equal = equal_columns(graph, left, right);
    let is_here =
        |filter: &&Filter| filter.uses_only(left | right) && !filter.uses_only(left) && !filter.uses_only(right);
    let filters: Vec<&Filter> = graph.filters.iter().filter(is_here).collect();
    let mut needed = wanted.clone();
    needed.extend(equal.iter().flat_map(|&(left, right)| [left, right]));
    needed.extend(filters.iter().flat_map(|filter| &filter.columns));
    let of = |inputs| needed.iter().copied().filter(move |column: &InputColumn| column.is_in(inputs)).collect();
    let (left_plan, left_columns) = join(graph, table, &of(left))?;
    let (right_plan, right_columns) = join(graph, probe, &of(right))?;

    let mut on = Vec::with_capacity(equal.len());
    for (one, other) in equal {
        let (one, other) = (place(&left_columns, one)?, place(&right_columns, other)?);
        on.push((column_at(&left_plan, one), column_at(&right_plan, other)));
    }
    let filter = join_filter(&filters, left, &left_columns, &right_columns)?;
    let all = [left_columns, right_columns].concat();
    // A join without columns would lose the number of its rows.
    let kept: Vec<usize> = (0..all.len()).filter(|&at| wanted.contains(&all[at])).collect();
    let kept = if kept.is_empty() { vec![0] } else { kept };
    let columns = kept.iter().map(|&at| all[at]).collect();
    let join = HashJoinExecBuilder::new(left_plan, right_plan, on, JoinType::Inner)
        .with_filter(filter)
        .with_partition_mode(graph.mode)
        .with_projection((kept.len() < all.len()).then_some(kept))
        .build_exec()?;
    Ok((join, columns))
}

/// Renames columns of an input whose names another input has, too.
///
/// DataFusion resolves columns by name when it pushes conditions of joins down to scans.
fn with_own_names(graph: &JoinGraph, input: usize) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = &graph.inputs[input];
    let schema = plan.schema();
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    let is_shared = |name: &String| graph.columns_named(name) > 1;
    if !names.iter().any(|name| is_shared(name)) {
        return Ok(Arc::clone(plan));
    }
    let renamed = names.iter().enumerate().map(|(at, &name)| {
        let own = if is_shared(name) { format!("{name}:{input}.{at}") } else { name.clone() };
        (column_at(plan, at), own)
    });
    let renamed: Vec<_> = renamed.collect();
    Ok(Arc::new(ProjectionExec::try_new(renamed, Arc::clone(plan))?))
}

/// A pair of columns for each list of equal columns that spans both sides. Within a side they are equal already.
fn equal_columns(graph: &JoinGraph, left: Inputs, right: Inputs) -> Vec<(InputColumn, InputColumn)> {
    let first = |equal: &[InputColumn], inputs| equal.iter().copied().find(|column| column.is_in(inputs));
    graph.equal.iter().filter_map(|equal| first(equal, left).zip(first(equal, right))).collect()
}

/// Combines the conditions to one.
fn join_filter(
    filters: &[&Filter],
    left: Inputs,
    left_columns: &[InputColumn],
    right_columns: &[InputColumn],
) -> Result<Option<JoinFilter>> {
    let mut fields = Vec::new();
    let mut indices = Vec::new();
    let mut all: Option<Arc<dyn PhysicalExpr>> = None;
    for filter in filters {
        let before = fields.len();
        fields.extend(filter.schema.fields().iter().cloned());
        for &column in &filter.columns {
            indices.push(match column.is_in(left) {
                true => ColumnIndex { index: place(left_columns, column)?, side: JoinSide::Left },
                false => ColumnIndex { index: place(right_columns, column)?, side: JoinSide::Right },
            });
        }
        let moved = moved(&filter.expression, before)?;
        all = Some(match all {
            Some(all) => Arc::new(BinaryExpr::new(all, Operator::And, moved)),
            None => moved,
        });
    }
    Ok(all.map(|all| JoinFilter::new(all, indices, Arc::new(Schema::new(fields)))))
}

/// Adds `by` to the indices of an expression's columns.
fn moved(expression: &Arc<dyn PhysicalExpr>, by: usize) -> Result<Arc<dyn PhysicalExpr>> {
    let expression = Arc::clone(expression).transform(|part| {
        Ok(match part.downcast_ref::<Column>() {
            Some(column) if by > 0 => {
                Transformed::yes(Arc::new(Column::new(column.name(), column.index() + by)) as Arc<dyn PhysicalExpr>)
            }
            _ => Transformed::no(part),
        })
    });
    expression.map(|expression| expression.data)
}

fn column_at(plan: &Arc<dyn ExecutionPlan>, at: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(plan.schema().field(at).name(), at))
}

fn place(columns: &[InputColumn], wanted: InputColumn) -> Result<usize> {
    let place = columns.iter().position(|&column| column == wanted);
    place.ok_or_else(|| internal_datafusion_err!("a column of a join is missing"))
}
