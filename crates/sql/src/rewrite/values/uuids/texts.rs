//! Conversions between texts and UUIDs that DataFusion 55, for which UUIDs are bytes, does not make.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, Projection, Union};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use lath_text::is_uuid;

use super::arguments::{Conversion, conversion, plain_function};
use super::fields::{has_bytes, mark, mark_columns};
use super::uuid::{holds_bytes, inner_fields, uuid_function, uuid_text_function};
use crate::rewrite::expressions::{case_parts, is_comparison, rewrite_expressions};

/// Reads texts that meet UUIDs, writes UUIDs that become texts, and keeps the mark of UUIDs.
#[derive(Debug)]
pub(crate) struct UuidTexts;

impl AnalyzerRule for UuidTexts {
    fn name(&self) -> &str {
        "uuid_texts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let has_bytes = has_bytes(&plan)?;
        let changed = plan.transform_up_with_subqueries(|plan| {
            if !has_bytes {
                return plan.map_expressions(|expr| expr.transform_up(|expr| Ok(with_plain_function(expr))));
            }
            let marks = !matches!(plan, LogicalPlan::Values(_));
            let plan = with_marked_terms(plan)?;
            let plan = if has_own_schema(&plan) { plan.recompute_schema()? } else { plan };
            let plan = rewrite_expressions(plan, |expr, schema| {
                expr.transform_up(|expr| converted(with_plain_function(expr).data, schema, marks))
            })?;
            let plan = if plan.transformed { plan.data.recompute_schema()? } else { plan.data };
            Ok(Transformed::yes(mark_columns(unify_columns(plan)?)?))
        })?;
        Ok(changed.data)
    }
}

/// Whether a plan has a schema that its inputs decide on.
fn has_own_schema(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Unnest(unnest) => {
            unnest.input.schema().fields().iter().any(|field| holds_bytes(field.data_type()))
        }
        other => !other.inputs().is_empty(),
    }
}

/// Replaces a function that accepts texts and UUIDs together by the function itself.
fn with_plain_function(mut expr: Expr) -> Transformed<Expr> {
    if let Expr::ScalarFunction(call) = &mut expr {
        let plain = Arc::clone(plain_function(&call.func));
        if !Arc::ptr_eq(&plain, &call.func) {
            call.func = plain;
            return Transformed::yes(expr);
        }
    }
    Transformed::no(expr)
}

/// Reads the texts of a union, of keys of a join and of a subquery as UUIDs where the others are UUIDs.
fn unify_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(Union { inputs, schema }) => {
            let width = schema.fields().len();
            let has_uuids = |at: &usize| {
                inputs.iter().any(|input| input.schema().fields().get(*at).is_some_and(|field| is_uuid(field)))
            };
            let columns: Vec<usize> = (0..width).filter(has_uuids).collect();
            let has_texts = |at: &usize| {
                inputs
                    .iter()
                    .any(|input| input.schema().fields().get(*at).is_some_and(|field| field.data_type().is_string()))
            };
            if !columns.iter().any(has_texts) {
                return Ok(LogicalPlan::Union(Union { inputs, schema }));
            }
            let inputs = inputs.into_iter().map(|input| read_columns(input, &columns));
            Ok(LogicalPlan::Union(Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)?))
        }
        LogicalPlan::Join(mut join) => {
            let schema = join.left.schema().join(join.right.schema())?;
            for (left, right) in &mut join.on {
                read_texts(vec![left, right], &schema);
            }
            Ok(LogicalPlan::Join(join))
        }
        other => Ok(other),
    }
}

/// Marks the columns of the recursive term of a query whose static term has UUIDs.
fn with_marked_terms(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::RecursiveQuery(mut query) = plan else { return Ok(plan) };
    let fields = query.static_term.schema().fields().iter().enumerate();
    let columns: Vec<usize> = fields.filter(|(_, field)| is_uuid(field)).map(|(at, _)| at).collect();
    let is_plain = |field: &Field| *field.data_type() == DataType::FixedSizeBinary(16) && !is_uuid(field);
    query.recursive_term = uuid_columns(query.recursive_term, &columns, is_plain)?;
    Ok(LogicalPlan::RecursiveQuery(query))
}

/// A plan whose texts in some columns are read as UUIDs.
fn read_columns(input: Arc<LogicalPlan>, columns: &[usize]) -> Result<Arc<LogicalPlan>> {
    uuid_columns(input, columns, |field| field.data_type().is_string())
}

/// A plan whose columns are UUIDs, where they are some of `columns` and of a kind.
fn uuid_columns(
    input: Arc<LogicalPlan>,
    columns: &[usize],
    is_kind: impl Fn(&Field) -> bool,
) -> Result<Arc<LogicalPlan>> {
    let is_read = |at: usize| columns.contains(&at) && is_kind(input.schema().field(at));
    if !(0..input.schema().fields().len()).any(is_read) {
        return Ok(input);
    }
    let exprs = input.schema().iter().enumerate().map(|(at, (qualifier, field))| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match is_read(at) {
            true => uuid_function().call(vec![column]).alias_qualified(qualifier.cloned(), field.name()),
            false => column,
        }
    });
    Ok(Arc::new(LogicalPlan::Projection(Projection::try_new(exprs.collect(), Arc::clone(&input))?)))
}

/// Does so in comparisons as soon as they are planned, when DataFusion asks for their type.
#[derive(Debug)]
pub(crate) struct UuidComparisons;

impl ExprPlanner for UuidComparisons {
    fn plan_array_literal(&self, mut exprs: Vec<Expr>, schema: &DFSchema) -> Result<PlannerResult<Vec<Expr>>> {
        if exprs.iter().any(|expr| has_bytes_type(expr, schema)) {
            read_values(exprs.iter_mut(), schema);
        }
        Ok(PlannerResult::Original(exprs))
    }

    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        match expr.op {
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Spaceship
                // The columns of subqueries have their marks only when the plan is analyzed.
                if has_bytes_type(&expr.left, schema) || has_bytes_type(&expr.right, schema) =>
            {
                read_texts_among(vec![&mut expr.left, &mut expr.right], schema);
            }
            BinaryOperator::StringConcat => {
                write_text(&mut expr.left, schema);
                write_text(&mut expr.right, schema);
            }
            _ => {}
        }
        Ok(PlannerResult::Original(expr))
    }
}

fn converted(mut expr: Expr, schema: &DFSchema, marks: bool) -> Result<Transformed<Expr>> {
    let is_changed = match &mut expr {
        Expr::BinaryExpr(binary) if is_comparison(binary.op) => {
            read_texts(vec![&mut binary.left, &mut binary.right], schema)
        }
        Expr::BinaryExpr(binary) if binary.op == Operator::StringConcat => {
            write_text(&mut binary.left, schema) | write_text(&mut binary.right, schema)
        }
        Expr::Between(between) => read_texts(vec![&mut between.expr, &mut between.low, &mut between.high], schema),
        Expr::InList(list) => {
            let expr = std::iter::once(list.expr.as_mut());
            read_texts(expr.chain(&mut list.list).collect(), schema)
        }
        Expr::InSubquery(list) => {
            let subquery = &list.subquery.subquery;
            let read = subquery.schema().fields().first().is_some_and(|field| field.data_type().is_string());
            if read && holds_uuids(&list.expr, schema) {
                list.subquery.subquery = read_columns(Arc::clone(subquery), &[0])?;
            } else if subquery.schema().fields().first().is_some_and(|field| is_uuid(field))
                && list.expr.get_type(schema).is_ok_and(|data_type| data_type.is_string())
            {
                *list.expr = uuid_function().call(vec![list.expr.as_ref().clone()]);
            }
            true
        }
        Expr::Case(case) => {
            let (compared, results) = case_parts(case);
            read_texts(compared, schema) | read_texts(results, schema)
        }
        Expr::ScalarFunction(call) => convert_arguments(call, schema)?,
        // Elements of a list are known to be UUIDs only now.
        Expr::HigherOrderFunction(_) => {
            if let Ok(resolved) = expr.clone().resolve_lambda_variables(schema) {
                expr = resolved
                    .data
                    .map_children(|operand| match operand {
                        Expr::Lambda(_) => operand.transform_up(|expr| converted(expr, schema, marks)),
                        other => Ok(Transformed::no(other)),
                    })?
                    .data;
            }
            true
        }
        Expr::AggregateFunction(call) if call.func.name() == "string_agg" => {
            let ordered = call.params.order_by.iter_mut().map(|sort| &mut sort.expr);
            let mut written = false;
            for operand in ordered.chain(call.params.args.first_mut()) {
                written |= write_text(operand, schema);
            }
            written
        }
        Expr::Cast(cast) if holds_text(cast.field.data_type()) => write_text(&mut cast.expr, schema),
        Expr::TryCast(cast) if holds_text(cast.field.data_type()) => write_text(&mut cast.expr, schema),
        _ => false,
    };
    let is_marked = marks && mark(&mut expr, schema)?;
    Ok(if is_changed || is_marked { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Converts the arguments of a function that takes texts or UUIDs, but not both. Returns whether it did.
fn convert_arguments(call: &mut ScalarFunction, schema: &DFSchema) -> Result<bool> {
    if !call.args.iter().any(|argument| holds_uuids(argument, schema)) {
        return Ok(false);
    }
    let fields = call.args.iter().map(|argument| Ok(argument.to_field(schema)?.1)).collect::<Result<Vec<_>>>()?;
    match conversion(&call.func, &fields) {
        Some(Conversion::Read) => Ok(read_values(call.args.iter_mut(), schema)),
        Some(Conversion::Write) => {
            Ok(call.args.iter_mut().fold(false, |is, argument| write_text(argument, schema) | is))
        }
        None => Ok(false),
    }
}

/// Casts an expression to the type of a column, which may have UUIDs or texts of UUIDs.
pub(crate) fn cast_to_column(expr: Expr, column: &Field, schema: &DFSchema) -> Result<Expr> {
    let is_text = expr.get_type(schema)?.is_string();
    if is_uuid(column) && is_text {
        return Ok(uuid_function().call(vec![expr]));
    }
    let expr = match column.data_type().is_string() && holds_uuids(&expr, schema) {
        true => uuid_text_function().call(vec![expr]),
        false => expr,
    };
    expr.cast_to(column.data_type(), schema)
}

/// Makes texts among values that are compared UUIDs, if another value is one. Returns whether there were any.
fn read_texts(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    exprs.iter().any(|expr| holds_uuids(expr, schema)) && read_texts_among(exprs, schema)
}

fn read_texts_among(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let mut is_changed = false;
    for expr in exprs {
        if expr.get_type(schema).is_ok_and(|data_type| data_type.is_string()) {
            *expr = uuid_function().call(vec![expr.clone()]);
            is_changed = true;
        }
    }
    is_changed
}

/// Makes texts and nulls UUIDs. Returns whether there were any.
fn read_values<'e>(exprs: impl Iterator<Item = &'e mut Expr>, schema: &DFSchema) -> bool {
    let mut is_changed = false;
    for expr in exprs {
        if expr.get_type(schema).is_ok_and(|data_type| data_type.is_string() || data_type == DataType::Null) {
            *expr = uuid_function().call(vec![expr.clone()]);
            is_changed = true;
        }
    }
    is_changed
}

/// Whether an expression returns 16 bytes.
fn has_bytes_type(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type == DataType::FixedSizeBinary(16))
}

/// Makes a UUID its text. Returns whether it is one.
fn write_text(expr: &mut Expr, schema: &DFSchema) -> bool {
    let is_changed = holds_uuids(expr, schema);
    if is_changed {
        *expr = uuid_text_function().call(vec![expr.clone()]);
    }
    is_changed
}

/// Whether an expression returns UUIDs, or lists, structs or maps of them.
fn holds_uuids(expr: &Expr, schema: &DFSchema) -> bool {
    // Fields of other types need no look at their metadata.
    expr.get_type(schema).is_ok_and(|data_type| holds_bytes(&data_type))
        && expr.to_field(schema).is_ok_and(|(_, field)| has_uuids(&field))
}

fn has_uuids(field: &Field) -> bool {
    is_uuid(field) || inner_fields(field.data_type()).iter().any(|inner| has_uuids(inner))
}

/// Whether a type is text, or has texts within.
fn holds_text(data_type: &DataType) -> bool {
    data_type.is_string() || inner_fields(data_type).iter().any(|field| holds_text(field.data_type()))
}
