//! Keeps the mark of UUIDs in the fields of plans. DataFusion 55 loses it in most functions, in CASE, aggregates, windows and lists, which
//! return plain bytes.
//!
//! An expression returns UUIDs if it returns values of 16 bytes, and all values of 16 bytes among its operands are UUIDs.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Projection, Union, Unnest, Values, Window};
use lath_text::is_uuid;

use super::uuid::{TRY_UUID, UUID, holds_bytes, inner_fields, uuid_function};

/// Whether values of 16 bytes are UUIDs.
#[derive(Debug, Clone, Copy, Default)]
struct Bytes {
    have_uuids: bool,
    have_others: bool,
}

impl Bytes {
    fn add(&mut self, field: &Field) {
        match field.data_type() {
            DataType::FixedSizeBinary(16) if is_uuid(field) => self.have_uuids = true,
            DataType::FixedSizeBinary(16) => self.have_others = true,
            other => inner_fields(other).iter().for_each(|inner| self.add(inner)),
        }
    }

    fn all<'f>(fields: impl IntoIterator<Item = &'f Field>) -> Self {
        let mut bytes = Self::default();
        fields.into_iter().for_each(|field| bytes.add(field));
        bytes
    }

    fn are_uuids(self) -> bool {
        self.have_uuids && !self.have_others
    }
}

/// Whether a plan has values of 16 bytes.
pub(super) fn has_bytes(plan: &LogicalPlan) -> Result<bool> {
    let mut has_bytes = false;
    plan.apply_with_subqueries(|node| {
        has_bytes |= node.schema().fields().iter().any(|field| holds_bytes(field.data_type()));
        node.apply_expressions(|expr| {
            has_bytes |= expr.exists(|expr| Ok(makes_uuids(expr)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if has_bytes { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_bytes)
}

fn makes_uuids(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if [UUID, TRY_UUID].contains(&call.func.name()))
}

/// Marks the values of an expression if it returns UUIDs as plain bytes. Returns whether it did.
pub(super) fn mark(expr: &mut Expr, schema: &DFSchema) -> Result<bool> {
    let is_value = matches!(
        expr,
        Expr::Case(_)
            | Expr::Cast(_)
            | Expr::TryCast(_)
            | Expr::ScalarFunction(_)
            | Expr::HigherOrderFunction(_)
            | Expr::ScalarSubquery(_)
    );
    let is_lost = is_value && returns_plain_uuids(expr, schema)?;
    if is_lost {
        *expr = uuid_function().call(vec![expr.clone()]);
    }
    Ok(is_lost)
}

fn returns_plain_uuids(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let Ok((_, field)) = expr.to_field(schema) else { return Ok(false) };
    Ok(Bytes::all([field.as_ref()]).have_others && operands(expr, schema)?.are_uuids())
}

/// The values of 16 bytes among the operands of an expression.
fn operands(expr: &Expr, schema: &DFSchema) -> Result<Bytes> {
    let mut bytes = Bytes::default();
    let mut add = |operand: &Expr| {
        if let Ok((_, field)) = operand.to_field(schema) {
            bytes.add(&field);
        }
    };
    match expr {
        Expr::AggregateFunction(call) => call.params.args.iter().for_each(add),
        Expr::WindowFunction(call) => call.params.args.iter().for_each(add),
        Expr::Alias(alias) => return operands(&alias.expr, schema),
        _ => {
            expr.apply_children(|operand| {
                if !matches!(operand, Expr::Lambda(_)) {
                    add(operand);
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
    }
    Ok(bytes)
}

/// Marks the columns of an operator that returns UUIDs as plain bytes.
pub(super) fn mark_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = match plan {
        LogicalPlan::Union(union) => LogicalPlan::Union(mark_union(union)?),
        other => other,
    };
    let is_plain = |at: usize| Bytes::all([plan.schema().field(at).as_ref()]).have_others;
    let width = plan.schema().fields().len();
    let mut lost = Vec::new();
    match &plan {
        LogicalPlan::Aggregate(aggregate) => {
            let first = width - aggregate.aggr_expr.len();
            for (at, expr) in aggregate.aggr_expr.iter().enumerate().filter(|(at, _)| is_plain(first + at)) {
                if operands(expr, aggregate.input.schema())?.are_uuids() {
                    lost.push(first + at);
                }
            }
        }
        LogicalPlan::Window(Window { input, window_expr, .. }) => {
            let first = width - window_expr.len();
            for (at, expr) in window_expr.iter().enumerate().filter(|(at, _)| is_plain(first + at)) {
                if operands(expr, input.schema())?.are_uuids() {
                    lost.push(first + at);
                }
            }
        }
        LogicalPlan::Unnest(Unnest { input, dependency_indices, .. }) => {
            for (at, input_at) in dependency_indices.iter().enumerate().filter(|(at, _)| is_plain(*at)) {
                if Bytes::all([input.schema().field(*input_at).as_ref()]).are_uuids() {
                    lost.push(at);
                }
            }
        }
        LogicalPlan::Values(Values { values, .. }) => {
            for at in (0..width).filter(|at| is_plain(*at)) {
                let empty = DFSchema::empty();
                let mut bytes = Bytes::default();
                for value in values.iter().filter_map(|row| row.get(at)) {
                    let own = value.to_field(&empty).map(|(_, field)| Bytes::all([field.as_ref()]));
                    let inner = operands(value, &empty)?;
                    bytes.have_uuids |= inner.are_uuids() || own.is_ok_and(Bytes::are_uuids);
                    bytes.have_others |= inner.have_others;
                }
                if bytes.are_uuids() {
                    lost.push(at);
                }
            }
        }
        _ => {}
    }
    if lost.is_empty() {
        return Ok(plan);
    }
    let columns = plan.schema().iter().enumerate().map(|(at, (qualifier, field))| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match lost.contains(&at) {
            true => uuid_function().call(vec![column]).alias_qualified(qualifier.cloned(), field.name()),
            false => column,
        }
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?))
}

/// Marks the columns of a union whose operands all return UUIDs.
fn mark_union(union: Union) -> Result<Union> {
    let Union { inputs, schema } = union;
    let mut is_changed = false;
    let fields = schema.iter().enumerate().map(|(at, (qualifier, field))| {
        let operands = inputs.iter().filter_map(|input| input.schema().fields().get(at).map(AsRef::as_ref));
        let is_lost = Bytes::all([field.as_ref()]).have_others && Bytes::all(operands).are_uuids();
        let mut marked = inputs.iter().filter_map(|input| input.schema().fields().get(at));
        let first = marked.find(|field| Bytes::all([field.as_ref()]).are_uuids());
        match first.filter(|_| is_lost) {
            Some(first) => {
                is_changed = true;
                let marked = field.as_ref().clone().with_data_type(first.data_type().clone());
                (qualifier.cloned(), Arc::new(marked.with_metadata(first.metadata().clone())))
            }
            None => (qualifier.cloned(), Arc::clone(field)),
        }
    });
    let fields: Vec<_> = fields.collect();
    let schema = match is_changed {
        true => Arc::new(DFSchema::new_with_metadata(fields, schema.metadata().clone())?),
        false => schema,
    };
    Ok(Union { inputs, schema })
}
