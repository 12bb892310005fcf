//! Replaces names of merged columns in a select and its ORDER BY.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, ObjectName, OrderBy, OrderByKind, Query, Select, SelectItem, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};

use super::columns::FactorColumns;
use super::merge::{MergedColumn, Side};
use crate::dialect::normal;

/// Rewrites references to merged columns in a select and its ORDER BY.
pub(super) fn rewrite(
    select: &mut Select,
    order_by: Option<&mut OrderBy>,
    sides: &[Side],
    columns: &FactorColumns,
) -> Result<()> {
    let merged: Vec<&MergedColumn> = sides.iter().flat_map(|side| &side.merged).collect();
    let mut names = Names { merged: &merged, columns, hidden: Vec::new() };
    let mut items = Vec::new();
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::Wildcard(options) => items.extend(all_columns(options, sides)?),
            SelectItem::UnnamedExpr(Expr::Identifier(name)) if names.value(&name).is_some() => {
                let expr = names.value(&name).cloned().unwrap_or_else(|| Expr::Identifier(name.clone()));
                items.push(SelectItem::ExprWithAlias { expr, alias: name });
            }
            mut other => {
                let _ = other.visit(&mut names);
                items.push(other);
            }
        }
    }
    let selected: HashSet<String> = items.iter().filter_map(output_name).collect();
    select.projection = items;
    let _ = select.distinct.visit(&mut names);
    let _ = select.selection.visit(&mut names);
    let _ = select.group_by.visit(&mut names);
    let _ = select.having.visit(&mut names);
    let _ = select.qualify.visit(&mut names);
    let _ = select.named_window.visit(&mut names);
    if let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = order_by {
        for key in keys {
            // In ORDER BY, the name of a selected column refers to that column.
            let is_selected = matches!(&key.expr, Expr::Identifier(name) if selected.contains(&normal(name)));
            if !is_selected {
                let _ = key.visit(&mut names);
            }
        }
    }
    Ok(())
}

fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(normal(name)),
        _ => None,
    }
}

/// Expands `*`: every column once, a merged one at its position in the first table.
fn all_columns(options: WildcardAdditionalOptions, sides: &[Side]) -> Result<Vec<SelectItem>> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike: None,
        opt_exclude,
        opt_except: None,
        opt_replace: None,
        opt_rename: None,
        opt_alias: None,
    } = options
    else {
        return plan_err!("*{options} beside a join with USING or NATURAL is not supported; name the columns");
    };
    let excluded: Vec<String> = match opt_exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => vec![last_name(&name)],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(last_name).collect(),
    };
    let mut items = Vec::new();
    for side in sides {
        let mut taken: Vec<&str> = Vec::new();
        for (table, column) in
            side.tables.iter().flat_map(|table| table.columns.iter().map(move |column| (table, column)))
        {
            if excluded.contains(column) || taken.contains(&&**column) {
                continue;
            }
            let name = Ident::with_quote('"', column.clone());
            match side.merged.iter().find(|merged| merged.name == *column) {
                Some(merged) => {
                    taken.push(column);
                    items.push(SelectItem::ExprWithAlias { expr: merged.value.clone(), alias: name });
                }
                None => {
                    let parts = table.name.iter().cloned().chain([name]).collect();
                    items.push(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)));
                }
            }
        }
    }
    Ok(items)
}

fn last_name(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(normal).unwrap_or_default()
}

/// Replaces names of merged columns, except names that a subquery's own tables define.
struct Names<'m> {
    merged: &'m [&'m MergedColumn],
    columns: &'m FactorColumns,
    /// Names that enclosing subqueries define.
    hidden: Vec<HashSet<String>>,
}

impl Names<'_> {
    fn value(&self, name: &Ident) -> Option<&Expr> {
        let name = normal(name);
        if self.hidden.iter().any(|hidden| hidden.contains(&name)) {
            return None;
        }
        self.merged.iter().find(|merged| merged.name == name).map(|merged| &merged.value)
    }
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.hidden.push(self.columns.names_within(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.hidden.pop();
        ControlFlow::Continue(())
    }

    // Runs after the parts of an expression, so that a replacement is not visited again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(value) = self.value(name)
        {
            *expr = value.clone();
        }
        ControlFlow::Continue(())
    }
}
