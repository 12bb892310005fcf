//! `DEFAULT` as a value, `INSERT INTO t DEFAULT VALUES`, and values that statements may not give because the table gives them.

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Ident, Insert, MergeAction, MergeInsertKind, ObjectName, SetExpr,
    Statement as SqlStatement, TableFactor, TableObject, Values,
};

use crate::computed::{Computation, ComputedColumn};
use crate::dialect::normal;
use crate::grammar::{Overriding, parse, take_overriding};
use crate::keyed::{KeyedTable, SessionTables};
use crate::statement::explained;

/// Replaces `DEFAULT` by the columns' defaults, and returns an error for values of columns that the table itself gives.
pub(crate) fn adapt_computed(statement: &mut Statement, tables: &SessionTables) -> Result<()> {
    let Statement::Statement(inner) = explained(statement) else { return Ok(()) };
    let inner = match inner.as_mut() {
        SqlStatement::Prepare { statement, .. } => statement.as_mut(),
        other => other,
    };
    match inner {
        SqlStatement::Insert(insert) => adapt_insert(insert, tables),
        SqlStatement::Update(update) => match keyed(&update.table.relation, tables)? {
            Some(table) => adapt_computed_assignments(&mut update.assignments, &table),
            None => Ok(()),
        },
        SqlStatement::Merge(merge) => {
            let Some(table) = keyed(&merge.table, tables)? else { return Ok(()) };
            for clause in &mut merge.clauses {
                match &mut clause.action {
                    MergeAction::Update(update) => adapt_computed_assignments(&mut update.assignments, &table)?,
                    MergeAction::Insert(insert) => {
                        if insert.columns.is_empty() && !table.computed().is_empty() {
                            insert.columns = all_given(&table);
                        }
                        if let MergeInsertKind::Values(values) = &mut insert.kind {
                            adapt_values(&mut insert.columns, values, &table, false)?;
                        }
                    }
                    MergeAction::Delete { .. } => {}
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The table of the database that a statement changes.
fn keyed(target: &TableFactor, tables: &SessionTables) -> Result<Option<KeyedTable>> {
    let TableFactor::Table { name, args: None, .. } = target else { return Ok(None) };
    named(name, tables)
}

fn named(name: &ObjectName, tables: &SessionTables) -> Result<Option<KeyedTable>> {
    let reference = object_name_to_table_reference(name.clone(), true)?;
    Ok(tables.keyed(reference.table()).ok())
}

/// The columns for which an insertion without a list gives values.
fn all_given(table: &KeyedTable) -> Vec<ObjectName> {
    let is_generated = |name: &str| table.computed().iter().any(|column| column.name == name && column.is_generated());
    let schema = table.schema();
    let names = schema.fields().iter().map(|field| field.name().clone()).filter(|name| !is_generated(name));
    names.map(|name| ObjectName::from(vec![Ident::with_quote('"', name)])).collect()
}

fn adapt_insert(insert: &mut Insert, tables: &SessionTables) -> Result<()> {
    let overriding = take_overriding(&mut insert.columns);
    let overrides = overriding == Some(Overriding::System);
    let TableObject::TableName(name) = &insert.table else { return Ok(()) };
    let Some(table) = named(name, tables)? else {
        return match overriding {
            Some(_) => plan_err!("{name} has no identity columns; leave out OVERRIDING … VALUE"),
            None => Ok(()),
        };
    };
    let has_values = insert.source.is_some() || !insert.assignments.is_empty();
    if !has_values && insert.columns.is_empty() {
        let schema = table.schema();
        let row = vec!["DEFAULT"; schema.fields().len()].join(", ");
        let Some(Statement::Statement(values)) = parse(&format!("VALUES ({row})"))?.pop_front() else { return Ok(()) };
        if let SqlStatement::Query(query) = *values {
            insert.source = Some(query);
        }
    }
    let values = match insert.source.as_mut().map(|source| source.body.as_mut()) {
        Some(SetExpr::Values(values)) => Some(values),
        _ => None,
    };
    let has_default =
        values.as_ref().is_some_and(|values| values.rows.iter().any(|row| row.content.iter().any(is_default)));
    if insert.columns.is_empty() && (has_default || !table.computed().is_empty()) {
        let schema = table.schema();
        let is_full = |values: &Values| values.rows.iter().all(|row| row.content.len() == schema.fields().len());
        insert.columns = match &values {
            Some(values) if is_full(values) => {
                let names = schema.fields().iter().map(|field| Ident::with_quote('"', field.name()));
                names.map(|name| ObjectName::from(vec![name])).collect()
            }
            _ => all_given(&table),
        };
    }
    if overriding == Some(Overriding::User) {
        if insert.columns.is_empty() {
            insert.columns = all_given(&table);
        }
        ignore_identities(insert, &table)?;
    }
    let values = match insert.source.as_mut().map(|source| source.body.as_mut()) {
        Some(SetExpr::Values(values)) => Some(values),
        _ => None,
    };
    match values {
        Some(values) => adapt_values(&mut insert.columns, values, &table, overrides),
        None => check_given(&insert.columns, &table, overrides),
    }
}

/// Removes identity columns and their values from an insertion.
fn ignore_identities(insert: &mut Insert, table: &KeyedTable) -> Result<()> {
    let is_identity = |name: &ObjectName| {
        let name = column_name(name);
        let computed = table.computed().iter().find(|column| Some(&column.name) == name.as_ref());
        computed.is_some_and(|column| !column.is_generated())
    };
    let ignored: Vec<bool> = insert.columns.iter().map(is_identity).collect();
    if !ignored.contains(&true) {
        return Ok(());
    }
    let Some(source) = insert.source.take() else { return Ok(()) };
    // A query with other columns than the list is refused when it is planned.
    let names: Vec<String> = (0..ignored.len()).map(|at| format!("c{at}")).collect();
    let kept: Vec<&str> =
        names.iter().zip(&ignored).filter(|(_, ignored)| !**ignored).map(|(name, _)| name.as_str()).collect();
    if kept.is_empty() {
        return plan_err!(
            "OVERRIDING USER VALUE leaves no column of {}; write INSERT INTO {} DEFAULT VALUES",
            insert.table,
            insert.table
        );
    }
    let text = format!("SELECT {} FROM (SELECT 1) AS given({})", kept.join(", "), names.join(", "));
    let Some(Statement::Statement(query)) = parse(&text)?.pop_front() else { return plan_err!("{text}") };
    let SqlStatement::Query(mut query) = *query else { return plan_err!("{text}") };
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        *subquery = source;
    }
    insert.source = Some(query);
    let mut ignored = ignored.into_iter();
    insert.columns.retain(|_| !ignored.next().unwrap_or(false));
    Ok(())
}

/// Replaces `DEFAULT` among values, and removes columns that are generated from others.
fn adapt_values(columns: &mut Vec<ObjectName>, values: &mut Values, table: &KeyedTable, overrides: bool) -> Result<()> {
    let mut place = 0;
    let mut given = Vec::new();
    while place < columns.len() {
        let name = column_name(&columns[place]);
        let computed = table.computed().iter().find(|column| Some(&column.name) == name.as_ref());
        let rows = || values.rows.iter().map(|row| row.content.get(place));
        let are_defaults = rows().all(|value| value.is_some_and(is_default)) && !values.rows.is_empty();
        if are_defaults && computed.is_some_and(ComputedColumn::is_generated) {
            columns.remove(place);
            for row in &mut values.rows {
                row.content.remove(place);
            }
            continue;
        }
        if !are_defaults {
            given.push(columns[place].clone());
        }
        for row in &mut values.rows {
            if let Some(value) = row.content.get_mut(place).filter(|value| is_default(value)) {
                *value = default_expr(table, name.as_deref().unwrap_or_default())?;
            }
        }
        place += 1;
    }
    check_given(&given, table, overrides)
}

/// Returns an error for columns that the table itself gives.
fn check_given(columns: &[ObjectName], table: &KeyedTable, overrides: bool) -> Result<()> {
    for name in columns.iter().filter_map(column_name) {
        let Some(column) = table.computed().iter().find(|column| column.name == name) else { continue };
        match &column.computation {
            Computation::Generated(text) => {
                return plan_err!(
                    "column {name:?} is generated by {text}; leave it out, or write DEFAULT as its value"
                );
            }
            Computation::Identity { always: true, .. } if !overrides => {
                return plan_err!(
                    "column {name:?} is GENERATED ALWAYS AS IDENTITY; leave it out, or write (columns) OVERRIDING SYSTEM VALUE before the values"
                );
            }
            Computation::Identity { .. } => {}
        }
    }
    Ok(())
}

/// Replaces `DEFAULT` among assigned values, and returns an error for columns that the table itself gives.
pub(crate) fn adapt_computed_assignments(assignments: &mut Vec<Assignment>, table: &KeyedTable) -> Result<()> {
    for assignment in assignments {
        let AssignmentTarget::ColumnName(target) = &assignment.target else { continue };
        let Some(name) = column_name(target) else { continue };
        match table.computed().iter().find(|column| column.name == name).map(|column| &column.computation) {
            Some(Computation::Generated(text)) => {
                return plan_err!("column {name:?} is generated by {text}; set the columns that it is generated from");
            }
            Some(Computation::Identity { always: true, .. }) if !is_default(&assignment.value) => {
                return plan_err!("column {name:?} is GENERATED ALWAYS AS IDENTITY, and is set to DEFAULT alone");
            }
            _ if is_default(&assignment.value) => assignment.value = default_expr(table, &name)?,
            _ => {}
        }
    }
    Ok(())
}

fn column_name(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(normal)
}

fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// The default of a column as an expression.
fn default_expr(table: &KeyedTable, column: &str) -> Result<Expr> {
    let text = format!("SELECT {}", table.default_text(column).unwrap_or("NULL"));
    let Some(Statement::Statement(statement)) = parse(&text)?.pop_front() else { return plan_err!("{text}") };
    match *statement {
        SqlStatement::Query(query) => match *query.body {
            SetExpr::Select(select) => match select.projection.into_iter().next() {
                Some(
                    datafusion::sql::sqlparser::ast::SelectItem::UnnamedExpr(expr)
                    | datafusion::sql::sqlparser::ast::SelectItem::ExprWithAlias { expr, .. },
                ) => Ok(expr),
                _ => plan_err!("{text}"),
            },
            _ => plan_err!("{text}"),
        },
        _ => plan_err!("{text}"),
    }
}
