//! Writes out `COLUMNS(…)`, `* RENAME (a AS b)` and `* REPLACE (a + 1 AS a)`.
//!
//! DataFusion 55 knows `* REPLACE`, but ignores columns that do not exist, and reads the replaced column where a field of a struct is read
//! in a query around it.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, Ident, Select, SelectItem, SelectItemQualifiedWildcardKind, VisitMut, VisitorMut,
    WildcardAdditionalOptions, visit_expressions,
};

use super::FromColumn;
use super::choice::{COLUMNS, ColumnChoice, choose, last_name};
use super::star_options::StarOptions;

pub(super) fn is_needed(select: &Select) -> bool {
    let in_item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => call(expr).is_some(),
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => has_names(options, select),
        SelectItem::ExprWithAliases { .. } => false,
    };
    select.projection.iter().any(in_item)
        || select.selection.as_ref().is_some_and(|condition| call(condition).is_some())
}

/// Whether DataFusion would refuse the select: it has no COLUMNS and no RENAME.
pub(super) fn is_required(select: &Select) -> bool {
    let in_item = |item: &SelectItem| match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => options.opt_rename.is_some(),
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => call(expr).is_some(),
        SelectItem::ExprWithAliases { .. } => false,
    };
    select.projection.iter().any(in_item)
        || select.selection.as_ref().is_some_and(|condition| call(condition).is_some())
}

/// Whether the columns of a `*` have to be written out.
fn has_names(options: &WildcardAdditionalOptions, select: &Select) -> bool {
    let is_joined = select.from.len() > 1 || select.from.iter().any(|table| !table.joins.is_empty());
    // DataFusion excludes columns of one table.
    options.opt_rename.is_some() || options.opt_replace.is_some() || options.opt_exclude.is_some() && is_joined
}

/// The first call of COLUMNS in an expression.
fn call(expr: &Expr) -> Option<Function> {
    let found = visit_expressions(&vec![expr.clone()], |expr| match expr {
        Expr::Function(function) if is_call(function) => ControlFlow::Break(function.clone()),
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(function) => Some(function),
        ControlFlow::Continue(()) => None,
    }
}

fn is_call(function: &Function) -> bool {
    function.name.to_string().eq_ignore_ascii_case(COLUMNS)
}

/// Writes out the items of a select and its condition.
pub(super) async fn expand(state: &SessionState, select: &mut Select, columns: &[FromColumn]) -> Result<()> {
    if !is_needed(select) {
        return Ok(());
    }
    let mut items = Vec::new();
    let mut taken = HashSet::new();
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::Wildcard(options) if has_names(&options, select) => {
                items.extend(starred(&options, columns, None, &mut taken)?);
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), options)
                if has_names(&options, select) =>
            {
                items.extend(starred(&options, columns, Some(&last_name(&table)), &mut taken)?);
            }
            SelectItem::UnnamedExpr(expr) => match copies(state, &expr, columns).await? {
                None => items.push(SelectItem::UnnamedExpr(expr)),
                Some(copies) => {
                    for (expr, chosen) in copies {
                        let alias = free_name(chosen.column.name, &mut taken);
                        items.push(SelectItem::ExprWithAlias { expr, alias });
                    }
                }
            },
            SelectItem::ExprWithAlias { expr, alias } => match copies(state, &expr, columns).await? {
                None => items.push(SelectItem::ExprWithAlias { expr, alias }),
                Some(copies) => {
                    // A name that stands for the text of the item is the column's.
                    let is_text = alias.value.to_lowercase().contains("columns(");
                    for (expr, chosen) in copies {
                        let name =
                            if is_text { chosen.column.name } else { pattern_name(&alias.value, &chosen.groups) };
                        items.push(SelectItem::ExprWithAlias { expr, alias: free_name(name, &mut taken) });
                    }
                }
            },
            other => items.push(other),
        }
    }
    select.projection = items;
    if let Some(condition) = &select.selection
        && let Some(copies) = copies(state, condition, columns).await?
    {
        let and = |left: Expr, right: Expr| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        };
        let conditions = copies.into_iter().map(|(expr, _)| Expr::Nested(Box::new(expr)));
        select.selection = conditions.reduce(and);
    }
    Ok(())
}

/// A name that no other item has: the second is `name_1`, as in subqueries.
fn free_name(name: String, taken: &mut HashSet<String>) -> Ident {
    let candidates = [name.clone()].into_iter().chain((1..).map(|number: usize| format!("{name}_{number}")));
    let free = candidates.into_iter().find(|candidate| !taken.contains(candidate)).unwrap_or(name);
    taken.insert(free.clone());
    Ident::with_quote('"', free)
}

/// `prefix_\0` with the groups of the pattern.
fn pattern_name(pattern: &str, groups: &[String]) -> String {
    let mut name = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek().and_then(|next| next.to_digit(10))) {
            ('\\', Some(number)) => {
                rest.next();
                name.push_str(groups.get(number as usize).map_or("", String::as_str));
            }
            _ => name.push(character),
        }
    }
    name
}

/// The copies of an expression for each column; `None` if it does not call COLUMNS.
async fn copies(
    state: &SessionState,
    expr: &Expr,
    columns: &[FromColumn],
) -> Result<Option<Vec<(Expr, ColumnChoice)>>> {
    let Some(first) = call(expr) else { return Ok(None) };
    let chosen = choose(state, &first, columns).await?;
    let text = first.to_string();
    let mut copies = Vec::new();
    for chosen in chosen {
        let mut copy = expr.clone();
        if copy.visit(&mut Calls { text: &text, value: &Expr::Nested(Box::new(chosen.value.clone())) }).is_break() {
            return plan_err!("the calls of COLUMNS in one item have to be the same, as in {expr}");
        }
        copies.push((copy, chosen));
    }
    Ok(Some(copies))
}

struct Calls<'c> {
    text: &'c str,
    value: &'c Expr,
}

impl VisitorMut for Calls<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && is_call(function)
        {
            if function.to_string() != self.text {
                return ControlFlow::Break(());
            }
            *expr = self.value.clone();
        }
        ControlFlow::Continue(())
    }
}

/// The items of `*` with EXCLUDE, REPLACE and RENAME.
fn starred(
    options: &WildcardAdditionalOptions,
    columns: &[FromColumn],
    table: Option<&str>,
    taken: &mut HashSet<String>,
) -> Result<Vec<SelectItem>> {
    let is_own = |column: &&FromColumn| table.is_none() || column.table.as_deref() == table;
    let mut own: Vec<FromColumn> = columns.iter().filter(is_own).cloned().collect();
    if table.is_some() {
        own.iter_mut().for_each(|column| column.is_unique = false);
    }
    let options = StarOptions::new(options, &own)?;
    let mut items = Vec::new();
    let mut replaced = HashSet::new();
    for column in &own {
        // REPLACE keeps the first of several columns with the name.
        if options.excludes(column) || options.replaces(column) && !replaced.insert(column.name.clone()) {
            continue;
        }
        items.push(match options.name(column) {
            Some(name) => SelectItem::ExprWithAlias { expr: options.value(column), alias: free_name(name, taken) },
            None => SelectItem::UnnamedExpr(column.expr()),
        });
    }
    Ok(items)
}
