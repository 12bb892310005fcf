//! Rewrites `INSERT … ON CONFLICT` to a MERGE or to an insertion that ignores rows.

mod excluded;

use std::ops::ControlFlow;

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    ConflictTarget, DoUpdate, Expr, Ident, Insert, Merge, MergeAction, ObjectName, OnConflictAction, OnInsert, Query,
    SqliteOnConflict, Statement as SqlStatement, TableFactor, TableObject, VisitMut, VisitorMut,
};

use lath_table::IndexInfo;

use self::excluded::Defaults;
use super::computed_values::adapt_computed_assignments;
use crate::dialect::normal;
use crate::grammar::parse;
use crate::keyed::{KeyedTable, SessionTables};
use crate::statement::explained;

/// Handling of rows to insert whose key, or values of a unique index, exist in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// An error, unless the statement replaces rows.
    Refuse,
    /// The rows are ignored.
    Ignore(Conflicts),
}

/// The conflicts for which rows are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Conflicts {
    /// Conflicts in the key and in all unique indexes.
    All,
    /// Conflicts in the key. Others are errors.
    Key,
    /// Conflicts in the unique index with this name. Others are errors.
    Index(String),
}

/// Removes `ON CONFLICT` from a statement, even within EXPLAIN. Returns how to handle conflicts, or rewrites the statement to a MERGE.
pub(crate) fn adapt_conflict(statement: &mut Statement, tables: &SessionTables) -> Result<OnConflict> {
    let Statement::Statement(inner) = explained(statement) else { return Ok(OnConflict::Refuse) };
    let SqlStatement::Insert(insert) = inner.as_mut() else { return Ok(OnConflict::Refuse) };
    if insert.or == Some(SqliteOnConflict::Ignore) {
        insert.or = None;
        return Ok(OnConflict::Ignore(Conflicts::All));
    }
    let Some(OnInsert::OnConflict(conflict)) = insert.on.clone() else { return Ok(OnConflict::Refuse) };
    let TableObject::TableName(name) = &insert.table else {
        return plan_err!("INSERT needs the name of a table");
    };
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let table = tables.keyed(reference.table())?;
    let unique = unique_indexes(&table)?;
    let target = match &conflict.conflict_target {
        None => Conflicts::All,
        Some(ConflictTarget::Columns(columns)) => target(columns, &table, &unique)?,
        Some(ConflictTarget::OnConstraint(constraint)) => named_target(constraint, &table, &unique)?,
    };
    insert.on = None;
    match conflict.action {
        OnConflictAction::DoNothing => Ok(OnConflict::Ignore(target)),
        OnConflictAction::DoUpdate(update) => {
            let columns = match &target {
                Conflicts::Index(name) => {
                    unique.into_iter().find(|index| index.name == *name).map(|index| index.columns)
                }
                Conflicts::All | Conflicts::Key => None,
            };
            let columns = columns.unwrap_or_else(|| key_names(&table));
            **inner = merge_statement(insert, update, &table, &columns)?;
            Ok(OnConflict::Refuse)
        }
    }
}

fn key_names(table: &KeyedTable) -> Vec<String> {
    let schema = table.schema();
    table.key_columns().iter().map(|&place| schema.field(place).name().clone()).collect()
}

fn key_list(table: &KeyedTable) -> String {
    format!("({})", key_names(table).join(", "))
}

fn unique_indexes(table: &KeyedTable) -> Result<Vec<IndexInfo>> {
    let indexes = table.newest()?.indexes();
    Ok(indexes.into_iter().filter(|index| index.is_unique).collect())
}

/// The key or the unique index that has these columns.
fn target(columns: &[Ident], table: &KeyedTable, unique: &[IndexInfo]) -> Result<Conflicts> {
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    let given = sorted(columns.iter().map(normal).collect());
    if given == sorted(key_names(table)) {
        return Ok(Conflicts::Key);
    }
    match unique.iter().find(|index| sorted(index.columns.clone()) == given) {
        Some(index) => Ok(Conflicts::Index(index.name.clone())),
        None => plan_err!(
            "ON CONFLICT has to name the columns of the primary key, {}, or of a unique index",
            key_list(table)
        ),
    }
}

/// The unique index with this name.
fn named_target(name: &ObjectName, table: &KeyedTable, unique: &[IndexInfo]) -> Result<Conflicts> {
    let ident = name.0.last().and_then(|part| part.as_ident()).map(normal);
    match unique.iter().find(|index| Some(&index.name) == ident.as_ref()) {
        Some(index) => Ok(Conflicts::Index(index.name.clone())),
        None => plan_err!(
            "ON CONSTRAINT {name}: there is no unique index of this name; for the primary key, name its columns: {}",
            key_list(table)
        ),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Builds the MERGE that updates rows with the same values in the columns `unique`, and inserts the others.
fn merge_statement(insert: &Insert, update: DoUpdate, table: &KeyedTable, unique: &[String]) -> Result<SqlStatement> {
    let Some(source) = insert.source.clone() else { return plan_err!("there are no rows to insert") };
    let plain = Insert { source: None, on: None, columns: Vec::new(), ..insert.clone() };
    if !is_plain(&plain) {
        return plan_err!(
            "ON CONFLICT is supported in INSERT INTO table (columns) query ON CONFLICT …; leave out other clauses"
        );
    }
    let schema = table.schema();
    let defaults = Defaults::new(insert, &update, unique, table);
    let mut columns: Vec<String> = match insert.columns.as_slice() {
        [] => schema.fields().iter().map(|field| quoted(field.name())).collect(),
        columns => columns.iter().map(ToString::to_string).collect(),
    };
    columns.extend(defaults.names());
    let row: Vec<String> = columns.iter().cloned().chain(defaults.generated_names()).collect();
    let TableObject::TableName(name) = &insert.table else { return plan_err!("{} is not a table", insert.table) };
    // Joins distinguish the zeros of floats and different NaNs; keys do not.
    let equal = |key: &String| {
        let is_float = schema.field_with_name(key).is_ok_and(|field| field.data_type().is_floating());
        let key = quoted(key);
        match is_float {
            true => format!(
                "{name}.{key} = CASE WHEN isnan(excluded.{key}) THEN CAST('NaN' AS DOUBLE) ELSE excluded.{key} + 0e0 END"
            ),
            false => format!("{name}.{key} = excluded.{key}"),
        }
    };
    let text = format!(
        "MERGE INTO {name} USING (SELECT 1) AS excluded({row}) ON {on} WHEN MATCHED THEN UPDATE SET x = 1 \
         WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})",
        row = row.join(", "),
        columns = columns.join(", "),
        on = unique.iter().map(equal).collect::<Vec<_>>().join(" AND "),
        values = columns.iter().map(|column| format!("excluded.{column}")).collect::<Vec<_>>().join(", "),
    );
    let Some(Statement::Statement(merge)) = parse(&text)?.pop_front() else { return plan_err!("{text}") };
    let SqlStatement::Merge(mut merge) = *merge else { return plan_err!("{text}") };
    let mut update = update;
    adapt_computed_assignments(&mut update.assignments, table)?;
    let mut names = TableColumns { target: name, table, depth: 0 };
    let _ = update.assignments.iter_mut().try_for_each(|assignment| assignment.value.visit(&mut names));
    let _ = update.selection.visit(&mut names);
    fill(&mut merge, defaults.add_to(source)?, update);
    Ok(SqlStatement::Merge(merge))
}

/// Moves the parts of the insertion into the MERGE. They keep their positions in the text, for errors.
fn fill(merge: &mut Merge, source: Box<Query>, update: DoUpdate) {
    if let TableFactor::Derived { subquery, .. } = &mut merge.source {
        *subquery = source;
    }
    if let Some(clause) = merge.clauses.first_mut() {
        clause.predicate = update.selection;
        if let MergeAction::Update(action) = &mut clause.action {
            action.assignments = update.assignments;
        }
    }
}

/// Qualifies bare column names with the table: the row to insert may have a column of the same name.
struct TableColumns<'t> {
    target: &'t ObjectName,
    table: &'t KeyedTable,
    /// Depth of subqueries: their tables may have columns of these names.
    depth: usize,
}

impl VisitorMut for TableColumns<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(ident) = expr
            && self.depth == 0
            && self.table.schema().column_with_name(&normal(ident)).is_some()
        {
            let parts = self.target.0.iter().filter_map(|part| part.as_ident().cloned());
            *expr = Expr::CompoundIdentifier(parts.chain([ident.clone()]).collect());
        }
        ControlFlow::Continue(())
    }
}

/// Whether a MERGE can express everything in an insertion.
pub(super) fn is_plain(insert: &Insert) -> bool {
    insert.or.is_none()
        && !insert.ignore
        && !insert.overwrite
        && !insert.replace_into
        && insert.table_alias.is_none()
        && insert.partitioned.is_none()
        && insert.after_columns.is_empty()
        && insert.assignments.is_empty()
        && insert.returning.is_none()
        && insert.output.is_none()
        && insert.priority.is_none()
        && insert.insert_alias.is_none()
        && insert.settings.is_none()
        && insert.format_clause.is_none()
        && insert.multi_table_insert_type.is_none()
}
