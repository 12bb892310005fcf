//! INSERT, UPDATE, DELETE and MERGE.

use datafusion::sql::sqlparser::ast::{
    Delete, FromTable, FunctionArg, Insert, Merge, MergeAction, MergeClause, MergeInsertExpr, MergeUpdateExpr,
    OutputClause, Spanned, SqliteOnConflict, TableFactor, Update, UpdateTableFromKind,
};

use super::{CheckResult, Clauses};
use crate::dialect::AT_PREFIX;

const OUTPUT: &str = "write RETURNING behind the statement";
const ONE_TABLE: &str = "choose the rows by WHERE, perhaps with a subquery that has ORDER BY and LIMIT";

impl Clauses<'_> {
    pub(super) fn insert(&self, insert: &Insert) -> CheckResult {
        let Insert {
            insert_token,
            // Hints are ignored like comments.
            optimizer_hints: _,
            or,
            ignore,
            into: _,
            table: _,
            table_alias,
            columns: _,
            // Files support OVERWRITE, and tables with a key return an error that says what to write instead.
            overwrite: _,
            source: _,
            assignments,
            partitioned,
            after_columns,
            has_table_keyword: _,
            // `ON CONFLICT` is handled once the table is known.
            on: _,
            returning: _,
            output,
            replace_into: _,
            priority,
            insert_alias,
            settings,
            format_clause,
            multi_table_insert_type,
            multi_table_into_clauses,
            multi_table_when_clauses,
            multi_table_else_clause,
        } = insert;
        let after = insert_token.0.span;
        let is_known = matches!(or, None | Some(SqliteOnConflict::Replace | SqliteOnConflict::Ignore));
        self.refuse_if(!is_known, "OR", after, "write INSERT, INSERT OR REPLACE or INSERT OR IGNORE")?;
        self.refuse_if(*ignore, "IGNORE", after, "write INSERT OR IGNORE")?;
        self.refuse_if(table_alias.is_some(), "AS", after, "name the table itself")?;
        self.refuse_if(!assignments.is_empty(), "SET", after, "write (columns) VALUES (…)")?;
        let partition = "write the partition columns as columns of the query";
        self.refuse_if(partitioned.is_some() || !after_columns.is_empty(), "PARTITION", after, partition)?;
        self.refuse_if(output.is_some(), "OUTPUT", after, OUTPUT)?;
        self.refuse_if(priority.is_some(), "INSERT", after, "leave out the words before INTO")?;
        self.refuse_if(insert_alias.is_some(), "AS", after, "write excluded.column for the row that is inserted")?;
        self.refuse_if(settings.is_some(), "SETTINGS", after, "change settings with SET")?;
        self.refuse_if(format_clause.is_some(), "FORMAT", after, "insert from a file: SELECT * FROM 'file'")?;
        let is_multiple = multi_table_insert_type.is_some()
            || !multi_table_into_clauses.is_empty()
            || !multi_table_when_clauses.is_empty()
            || multi_table_else_clause.is_some();
        self.refuse_if(is_multiple, "INSERT", after, "write a statement for each table")
    }

    pub(super) fn update(&self, update: &Update) -> CheckResult {
        let Update {
            update_token,
            optimizer_hints: _,
            table,
            assignments: _,
            from,
            selection: _,
            returning: _,
            output,
            or,
            order_by,
            limit,
        } = update;
        let after = update_token.0.span;
        self.joins(table)?;
        self.changed_table(&table.relation)?;
        if let Some(UpdateTableFromKind::BeforeSet(sources) | UpdateTableFromKind::AfterSet(sources)) = from {
            sources.iter().try_for_each(|source| self.joins(source))?;
        }
        let merge = "write FROM with the other table after SET, or a subquery";
        self.refuse_if(!table.joins.is_empty(), "JOIN", after, merge)?;
        self.refuse_if(output.is_some(), "OUTPUT", after, OUTPUT)?;
        self.refuse_if(or.is_some(), "OR", after, "leave it out; a key that is there already is an error")?;
        self.refuse_if(from.is_some() && !order_by.is_empty(), "ORDER BY", after, ONE_TABLE)?;
        self.refuse_if(from.is_some() && limit.is_some(), "LIMIT", after, ONE_TABLE)
    }

    fn changed_table(&self, table: &TableFactor) -> CheckResult {
        let TableFactor::Table { name, args: Some(arguments), .. } = table else { return Ok(()) };
        let is_at = |argument: &FunctionArg| matches!(argument, FunctionArg::Named { name, .. } if name.value.starts_with(AT_PREFIX));
        let advice = "only the newest rows of a table can be changed";
        let words = if arguments.args.iter().any(is_at) { "AT" } else { "(…) behind a table that is changed" };
        self.refuse(words, name.span(), advice)
    }

    pub(super) fn delete(&self, delete: &Delete) -> CheckResult {
        let Delete {
            delete_token,
            optimizer_hints: _,
            tables,
            from,
            using,
            selection: _,
            returning: _,
            output,
            order_by: _,
            limit: _,
        } = delete;
        let after = delete_token.0.span;
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = from;
        let one = "DELETE takes one table; select the rows with WHERE, for example by EXISTS and a subquery";
        self.refuse_if(!tables.is_empty() || from.len() > 1, "DELETE", after, one)?;
        for table in from {
            self.changed_table(&table.relation)?;
            self.refuse_if(!table.joins.is_empty(), "JOIN", after, one)?;
        }
        using.iter().flatten().try_for_each(|source| self.joins(source))?;
        self.refuse_if(output.is_some(), "OUTPUT", after, OUTPUT)
    }

    pub(super) fn merge(&self, merge: &Merge) -> CheckResult {
        let Merge { merge_token, optimizer_hints: _, into: _, table, source: _, on, clauses, output } = merge;
        self.changed_table(table)?;
        let is_output = matches!(output, Some(OutputClause::Output { .. }));
        self.refuse_if(is_output, "OUTPUT", on.span(), OUTPUT)?;
        for MergeClause { when_token, clause_kind: _, predicate: _, action } in clauses {
            let after = when_token.0.span;
            let condition = "write the condition after WHEN … AND";
            match action {
                MergeAction::Insert(MergeInsertExpr {
                    insert_token: _,
                    columns: _,
                    kind_token: _,
                    kind: _,
                    insert_predicate,
                }) => {
                    self.refuse_if(insert_predicate.is_some(), "WHERE", after, condition)?;
                }
                MergeAction::Update(MergeUpdateExpr {
                    update_token: _,
                    assignments: _,
                    update_predicate,
                    delete_predicate,
                }) => {
                    self.refuse_if(update_predicate.is_some(), "WHERE", after, condition)?;
                    self.refuse_if(delete_predicate.is_some(), "DELETE WHERE", after, "write WHEN … THEN DELETE")?;
                }
                MergeAction::Delete { delete_token: _ } => {}
            }
        }
        let _ = merge_token;
        Ok(())
    }
}
