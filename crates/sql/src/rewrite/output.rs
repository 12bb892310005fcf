//! Names the output columns of a query.
//!
//! DataFusion 55 refuses a select list with equal columns (`SELECT id, id`). The second one gets another name while the query is planned,
//! and its own again in the result; in subqueries, views and files it stays `id_1`, as in DuckDB. A computed column with a number is named
//! by its text, because DataFusion would put the number's type into the name.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::{Column, Result, TableReference};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CastKind, Distinct, Expr as SqlExpr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement as SqlStatement, TypedString, UnaryOperator, Value,
    ValueWithSpan, VisitMut, VisitorMut, visit_expressions, visit_expressions_mut,
};

use crate::rewrite::foreign_calls;
use crate::rewrite::values::{functions, types};

use crate::dialect::normal;

/// Separates the name of a column from its number, until the result has the bare name.
const MARK: char = '\u{1f}';

/// Whether renamed columns get their own names back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputNames {
    /// Names are restored in the result.
    Restored,
    /// Names stay changed, in views and files.
    Kept,
}

/// Names the output columns of a query.
pub(crate) fn name_answer(query: &mut Query) {
    let mut body = query.body.as_mut();
    loop {
        body = match body {
            SetExpr::Select(select) => return name(select, OutputNames::Restored),
            SetExpr::SetOperation { left, .. } => left.as_mut(),
            SetExpr::Query(query) => query.body.as_mut(),
            _ => return,
        };
    }
}

/// Names the columns of a select list.
pub(super) fn name_items(select: &mut Select) {
    name(select, OutputNames::Kept);
}

fn name(select: &mut Select, names: OutputNames) {
    let wildcards = Wildcards::new(select);
    let items: Vec<Option<Item>> = select.projection.iter().map(Item::new).collect();
    let mut taken: HashSet<String> = items.iter().flatten().map(|item| item.name.clone()).collect();
    let mut seen: Vec<(usize, Item)> = Vec::new();
    // With DISTINCT, ORDER BY has to match expressions of the list, which an alias would hide.
    let is_distinct = select.distinct.is_some();
    for (at, item) in items.into_iter().enumerate() {
        let Some(item) = item else { continue };
        let twin = seen.iter().find(|(_, other)| other.clashes(&item));
        // A second alias of a name.
        if let Some((_, twin)) = twin
            && !item.is_unnamed
            && !twin.is_unnamed
        {
            let free = free_name(&item.name, names, &mut taken);
            if let SelectItem::ExprWithAlias { alias, .. } = &mut select.projection[at] {
                *alias = Ident::with_quote('"', free);
            }
            seen.push((at, item));
            continue;
        }
        if item.is_unnamed && (twin.is_some() || wildcards.have(&item)) {
            let is_same = twin.is_none_or(|(_, twin)| twin.name == item.name);
            if let Some((twin_at, twin)) = twin
                && !twin.is_column
            {
                set_name(&mut select.projection[*twin_at], &twin.name);
            }
            if is_same {
                let name = free_name(&item.name, names, &mut taken);
                set_name(&mut select.projection[at], &name);
            } else if !item.is_column {
                set_name(&mut select.projection[at], &item.name);
            }
        } else if item.is_unnamed && !item.is_column && !is_distinct && needs_name(&select.projection[at]) {
            set_name(&mut select.projection[at], &item.name);
        }
        seen.push((at, item));
    }
}

fn free_name(name: &str, names: OutputNames, taken: &mut HashSet<String>) -> String {
    let separator = if names == OutputNames::Restored { MARK } else { '_' };
    let free = (1..).map(|number: usize| format!("{name}{separator}{number}")).find(|name| !taken.contains(name));
    let free = free.unwrap_or_else(|| name.to_owned());
    taken.insert(free.clone());
    free
}

fn set_name(item: &mut SelectItem, name: &str) {
    if let SelectItem::UnnamedExpr(expr) = item {
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', name) };
    }
}

/// Whether DataFusion would give an expression another name than its text: the name of a cast's operand, or of a rewritten call.
fn needs_name(item: &SelectItem) -> bool {
    matches!(item, SelectItem::UnnamedExpr(SqlExpr::Cast { .. })) || is_rewritten(item)
}

/// The text of an expression, in which `a::INT` is `CAST(a AS INT)`.
fn text(expr: &SqlExpr) -> String {
    match expr {
        SqlExpr::Cast { kind: CastKind::DoubleColon, expr, data_type, .. } => {
            format!("CAST({} AS {data_type})", text(expr))
        }
        other => other.to_string(),
    }
}

/// Gives ORDER BY of a query with DISTINCT the numbers of the columns that it repeats: a name would hide them.
pub(super) fn number_order(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else { return };
    let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = &mut query.order_by else { return };
    if !matches!(select.distinct, Some(Distinct::Distinct)) {
        return;
    }
    let has_wildcard = select
        .projection
        .iter()
        .any(|item| !matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }));
    for by in order.iter_mut().filter(|by| !has_wildcard && matches!(by.expr, SqlExpr::Cast { .. })) {
        let is_same = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(expr) if *expr == by.expr);
        if let Some(at) = select.projection.iter().position(is_same) {
            by.expr = SqlExpr::value(Value::Number((at + 1).to_string(), false));
        }
    }
}

/// Renames columns of the select list that have the name of a column which ORDER BY names with its table: `SELECT -id AS id …
/// ORDER BY t.id`. DataFusion 55 adds the column of the table to the select list, where two columns of a name are an error.
pub(crate) fn hide_aliases(statement: &mut Statement) {
    let Statement::Statement(statement) = statement else { return };
    let SqlStatement::Query(query) = statement.as_mut() else { return };
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = &mut query.order_by else { return };
    let mut sorted = HashSet::new();
    let _ = visit_expressions(order, |expr| {
        if let SqlExpr::CompoundIdentifier(parts) = expr {
            sorted.extend(parts.last().map(normal));
        }
        ControlFlow::<()>::Continue(())
    });
    for item in &mut select.projection {
        let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
        let name = normal(alias);
        if !sorted.contains(&name) || matches!(expr, SqlExpr::CompoundIdentifier(_) | SqlExpr::Identifier(_)) {
            continue;
        }
        let hidden = Ident::with_quote('"', format!("{name}{MARK}0"));
        let _ = visit_expressions_mut(order, |expr| {
            if matches!(expr, SqlExpr::Identifier(by) if normal(by) == name) {
                *expr = SqlExpr::Identifier(hidden.clone());
            }
            ControlFlow::<()>::Continue(())
        });
        *alias = hidden;
    }
}

/// Whether an expression contains a number with a point or exponent, or another part that is rewritten.
fn is_rewritten(item: &SelectItem) -> bool {
    let SelectItem::UnnamedExpr(expr) = item else { return false };
    let decimal = |expr: &SqlExpr| match expr {
        SqlExpr::Value(ValueWithSpan { value: Value::Number(text, _), .. }) if text.contains(['.', 'e', 'E']) => {
            ControlFlow::Break(())
        }
        SqlExpr::AtTimeZone { .. } | SqlExpr::SimilarTo { .. } => ControlFlow::Break(()),
        SqlExpr::Function(function) if functions::is_rewritten(function) || foreign_calls::is_rewritten(function) => {
            ControlFlow::Break(())
        }
        SqlExpr::BinaryOp { op, .. } if foreign_calls::is_rewritten_operator(op) => ControlFlow::Break(()),
        SqlExpr::CompoundFieldAccess { .. }
        | SqlExpr::Interval(_)
        | SqlExpr::Position { .. }
        | SqlExpr::UnaryOp { op: UnaryOperator::BitwiseNot, .. } => ControlFlow::Break(()),
        // DataFusion gives all of them the same name.
        SqlExpr::Exists { .. } | SqlExpr::InSubquery { .. } | SqlExpr::AnyOp { .. } | SqlExpr::AllOp { .. } => {
            ControlFlow::Break(())
        }
        SqlExpr::Cast { data_type, .. } if types::is_call(data_type) => ControlFlow::Break(()),
        SqlExpr::TypedString(TypedString { data_type, .. }) if types::is_call(data_type) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(expr, decimal).is_break()
}

/// A column of a select list.
#[derive(Debug)]
struct Item {
    /// The name in the result.
    name: String,
    /// The name that DataFusion would use, without casts.
    key: String,
    qualifier: Option<Vec<String>>,
    is_column: bool,
    is_unnamed: bool,
}

impl Item {
    fn new(item: &SelectItem) -> Option<Self> {
        let expr = match item {
            SelectItem::UnnamedExpr(expr) => expr,
            SelectItem::ExprWithAlias { alias, .. } => {
                let name = normal(alias);
                return Some(Self { key: name.clone(), name, qualifier: None, is_column: false, is_unnamed: false });
            }
            _ => return None,
        };
        let mut value = expr.clone();
        let _ = value.visit(&mut WithoutCasts);
        let (key, qualifier) = match &value {
            SqlExpr::Identifier(name) => (normal(name), None),
            SqlExpr::CompoundIdentifier(parts) => {
                let (name, qualifier) = parts.split_last()?;
                (normal(name), Some(qualifier.iter().map(normal).collect()))
            }
            // A subquery has the name of its column.
            SqlExpr::Subquery(query) => match &*query.body {
                SetExpr::Select(select) => (select.projection.first().and_then(Self::new)?.key, None),
                _ => return None,
            },
            other => (other.to_string(), None),
        };
        let is_column = !matches!(expr, SqlExpr::Cast { .. })
            && matches!(value, SqlExpr::Identifier(_) | SqlExpr::CompoundIdentifier(_) | SqlExpr::Subquery(_));
        let name = if is_column { key.clone() } else { text(expr) };
        Some(Self { name, key, qualifier, is_column, is_unnamed: true })
    }

    /// Whether both have the same name and are not columns of different tables.
    fn clashes(&self, other: &Self) -> bool {
        let are_of_tables = self.qualifier.is_some() && other.qualifier.is_some();
        self.key == other.key && !(are_of_tables && self.qualifier != other.qualifier)
    }
}

/// Replaces casts by their operands.
struct WithoutCasts;

impl VisitorMut for WithoutCasts {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<()> {
        match expr {
            SqlExpr::Cast { expr: inner, .. } | SqlExpr::Nested(inner) => *expr = (**inner).clone(),
            SqlExpr::TypedString(TypedString { value, .. }) => *expr = SqlExpr::Value(value.clone()),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The `*` of a select list.
struct Wildcards {
    all: bool,
    tables: Vec<Vec<String>>,
    is_one_table: bool,
}

impl Wildcards {
    fn new(select: &Select) -> Self {
        let mut wildcards = Self {
            all: false,
            tables: Vec::new(),
            is_one_table: matches!(select.from.as_slice(), [table] if table.joins.is_empty()),
        };
        for item in &select.projection {
            match item {
                // A wildcard with EXCLUDE may not include this column.
                SelectItem::Wildcard(options) => {
                    wildcards.all |= options.opt_exclude.is_none() && options.opt_except.is_none();
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    wildcards.tables.push(name.0.iter().filter_map(|part| part.as_ident()).map(normal).collect());
                }
                _ => {}
            }
        }
        wildcards
    }

    fn have(&self, item: &Item) -> bool {
        item.is_column
            && (self.all
                || match &item.qualifier {
                    Some(qualifier) => self.tables.contains(qualifier),
                    None => self.is_one_table && !self.tables.is_empty(),
                })
    }
}

/// Restores the names that the query gives its columns.
pub(crate) fn with_output_names(plan: LogicalPlan) -> Result<LogicalPlan> {
    let own = |name: &str| name.split_once(MARK).map(|(name, _)| name.to_owned());
    let shared: HashSet<String> = plan.schema().fields().iter().filter_map(|field| own(field.name())).collect();
    if shared.is_empty() {
        return Ok(plan);
    }
    let columns: Vec<Expr> = plan
        .schema()
        .iter()
        .enumerate()
        .map(|(number, (qualifier, field))| {
            let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
            let name = own(field.name()).unwrap_or_else(|| field.name().clone());
            match shared.contains(&name) {
                // Columns of the same name are distinguished by made-up tables.
                true => column.alias_qualified(Some(TableReference::bare(format!("column {number}"))), name),
                false => column,
            }
        })
        .collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}
