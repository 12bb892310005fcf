//! Statements about a session and its tables: TRUNCATE, SET, SHOW, DESCRIBE, PREPARE, transactions, schemas, external tables and COPY.

use datafusion::common::format::ExplainStatementOptions;
use datafusion::sql::parser::{CopyToStatement, CreateExternalTable, ExplainStatement};
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, ColumnOptionDef, DataType, Set, ShowStatementFilter, ShowStatementFilterPosition,
    ShowStatementIn, ShowStatementOptions, Spanned, Statement, TableConstraint, TransactionModifier, Truncate,
    TruncateTableTarget,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::{CheckResult, Clauses};

const TABLES: &str = "ask information_schema.tables or information_schema.columns, with WHERE";
const ONE_SETTING: &str = "write SET name = value, a statement for each";
const ONE_SCHEMA: &str = "a schema has a name and nothing else";

impl Clauses<'_> {
    /// Checks statements that DataFusion plans. It refuses all others, including statements that its parser may support later.
    pub(super) fn session_statement(&self, statement: &Statement) -> CheckResult {
        let start = Span::empty();
        match statement {
            Statement::Truncate(truncate) => self.truncate(truncate),
            Statement::Set(set) => self.set(set),
            Statement::ShowTables { terse, history, extended, full, external, show_options } => {
                let has_word = *terse || *history || *extended || *full || *external;
                self.refuse_if(
                    has_word,
                    "SHOW",
                    start,
                    "write SHOW TABLES, SHOW ALL TABLES, or SHOW TABLES FROM name",
                )?;
                self.show_options(show_options)
            }
            Statement::ShowColumns { extended, full, show_options: _ } => {
                self.refuse_if(*extended || *full, "SHOW", start, "write SHOW COLUMNS FROM table")
            }
            Statement::ShowFunctions { filter: _ }
            | Statement::ShowVariable { variable: _ }
            // COPY FROM, whose options are checked once the format is known.
            | Statement::Copy { source: _, to: _, target: _, options: _, legacy_options: _, values: _ }
            | Statement::ShowCreate { obj_type: _, obj_name: _ }
            | Statement::Deallocate { name: _, prepare: _ } => Ok(()),
            Statement::Prepare { name: _, data_types: _, statement: _ } => Ok(()),
            Statement::Execute {
                name: _,
                parameters: _,
                has_parentheses: _,
                immediate,
                into,
                using,
                output,
                default,
            } => {
                let is_plain = !immediate && into.is_empty() && using.is_empty() && !output && !default;
                self.refuse_if(!is_plain, "EXECUTE", start, "write EXECUTE name (values)")
            }
            Statement::ExplainTable { describe_alias: _, hive_format, has_table_keyword: _, table_name } => {
                let word = if self.place("FORMATTED", start).is_some() { "FORMATTED" } else { "EXTENDED" };
                self.refuse_if(hive_format.is_some(), word, start, &format!("write DESCRIBE {table_name}"))
            }
            Statement::StartTransaction {
                modes: _,
                begin: _,
                transaction: _,
                modifier,
                statements,
                exception,
                has_end_keyword,
            } => {
                let is_block = !statements.is_empty() || exception.is_some() || *has_end_keyword;
                self.refuse_if(is_block, "BEGIN", start, "a block is no statement; write its statements one by one")?;
                let word = modifier.as_ref().map(ToString::to_string).unwrap_or_default();
                let is_block = matches!(modifier, Some(TransactionModifier::Try | TransactionModifier::Catch));
                self.refuse_if(is_block, &word, start, "write BEGIN")
            }
            Statement::Commit { chain, end: _, modifier } => {
                self.refuse_if(modifier.is_some(), "END", start, "write COMMIT")?;
                self.refuse_if(*chain, "AND CHAIN", start, "write COMMIT, and then BEGIN")
            }
            Statement::Rollback { chain, savepoint: _ } => {
                self.refuse_if(*chain, "AND CHAIN", start, "write ROLLBACK, and then BEGIN")
            }
            Statement::Savepoint { name: _ } | Statement::ReleaseSavepoint { name: _ } => Ok(()),
            Statement::CreateSchema {
                schema_name: _,
                if_not_exists: _,
                with,
                options,
                default_collate_spec,
                clone,
            } => {
                self.refuse_if(with.is_some(), "WITH", start, ONE_SCHEMA)?;
                self.refuse_if(options.is_some(), "OPTIONS", start, ONE_SCHEMA)?;
                self.refuse_if(default_collate_spec.is_some(), "DEFAULT COLLATE", start, ONE_SCHEMA)?;
                self.refuse_if(clone.is_some(), "CLONE", start, ONE_SCHEMA)
            }
            Statement::CreateDatabase { .. } => {
                self.refuse("DATABASE", start, "a database is a folder, which the session opens; write CREATE SCHEMA")
            }
            _ => Ok(()),
        }
    }

    fn truncate(&self, truncate: &Truncate) -> CheckResult {
        let Truncate { table_names, partitions, table: _, if_exists, identity, cascade, on_cluster } = truncate;
        let start = Span::empty();
        self.refuse_if(*if_exists, "IF EXISTS", start, "leave it out")?;
        for TruncateTableTarget { name, only, has_asterisk } in table_names {
            self.refuse_if(*only, "ONLY", start, "a table has no tables below it; leave it out")?;
            self.refuse_if(*has_asterisk, &name.to_string(), name.span(), "leave out the *")?;
        }
        let after = table_names.first().map_or(start, |table| table.name.span());
        self.refuse_if(table_names.len() > 1, "TRUNCATE", start, "write a statement for each table")?;
        self.refuse_if(partitions.is_some(), "PARTITION", after, "write DELETE FROM … WHERE")?;
        self.refuse_if(
            identity.is_some(),
            "IDENTITY",
            after,
            "leave it out; CALL restart_identity('table', 'column', 1) restarts the numbers",
        )?;
        let word = if self.place("CASCADE", after).is_some() { "CASCADE" } else { "RESTRICT" };
        let decided = "the foreign keys of other tables say by ON DELETE what happens to rows that refer to this one; leave it out";
        self.refuse_if(cascade.is_some(), word, after, decided)?;
        self.refuse_if(on_cluster.is_some(), "ON CLUSTER", after, "leave it out; queries run on one machine")
    }

    fn set(&self, set: &Set) -> CheckResult {
        let start = Span::empty();
        match set {
            Set::SingleAssignment { scope, hivevar, variable, values: _ } => {
                self.refuse_if(scope.is_some() || *hivevar, "SET", start, &format!("write SET {variable} = value"))
            }
            Set::ParenthesizedAssignments { variables: _, values: _ } | Set::MultipleAssignments { assignments: _ } => {
                self.refuse("SET", start, ONE_SETTING)
            }
            Set::SetTimeZone { local: _, value: _ } => {
                let advice = "timestamps without a zone are in UTC; write timestamp AT TIME ZONE 'name'";
                self.refuse("TIME ZONE", start, advice)
            }
            Set::SetTransaction { modes: _, snapshot: _, session: _ } => {
                self.refuse("TRANSACTION", start, "each statement reads one commit; leave it out")
            }
            Set::SetNames { charset_name: _, collation_name: _ } | Set::SetNamesDefault {} => {
                self.refuse("NAMES", start, "texts are UTF-8; leave it out")
            }
            Set::SetRole { context_modifier: _, role_name: _ } => {
                self.refuse("ROLE", start, "there are no roles; the permissions of the folder control access")
            }
            Set::SetSessionAuthorization(_) => {
                self.refuse("AUTHORIZATION", start, "there are no roles; the permissions of the folder control access")
            }
            Set::SetSessionParam(_) => self.refuse("SET", start, ONE_SETTING),
        }
    }

    fn show_options(&self, options: &ShowStatementOptions) -> CheckResult {
        let ShowStatementOptions { show_in, starts_with, limit, limit_from, filter_position } = options;
        let is_in_name = show_in.as_ref().is_none_or(|ShowStatementIn { clause: _, parent_type, parent_name }| {
            parent_type.is_none() && parent_name.is_some()
        });
        let has_condition = match filter_position {
            Some(ShowStatementFilterPosition::Infix(filter) | ShowStatementFilterPosition::Suffix(filter)) => {
                matches!(filter, ShowStatementFilter::Where(_))
            }
            None => false,
        };
        let is_plain = is_in_name && starts_with.is_none() && limit.is_none() && limit_from.is_none() && !has_condition;
        self.refuse_if(!is_plain, "SHOW TABLES", Span::empty(), TABLES)
    }

    pub(super) fn external_table(&self, create: &CreateExternalTable) -> CheckResult {
        let CreateExternalTable {
            name,
            columns,
            file_type,
            locations: _,
            table_partition_cols: _,
            order_exprs: _,
            if_not_exists: _,
            or_replace: _,
            // All external tables belong to the session only.
            temporary: _,
            unbounded,
            options: _,
            constraints,
        } = create;
        let after = name.span();
        self.refuse_if(*unbounded, "UNBOUNDED", Span::empty(), "files have an end; leave it out")?;
        if file_type.eq_ignore_ascii_case("LATH") {
            // A table with a key is created with its key.
            let mut key = None;
            for column in columns {
                self.column(column, &mut key)?;
                let has_length = matches!(
                    column.data_type,
                    DataType::Varchar(Some(_)) | DataType::Char(Some(_)) | DataType::CharacterVarying(Some(_))
                );
                let checked = "create the table in a database, whose CREATE TABLE has CHECK and VARCHAR(n)";
                self.refuse_if(has_length, &column.data_type.to_string(), column.name.span, checked)?;
                let has_check = column.options.iter().any(|option| matches!(option.option, ColumnOption::Check(_)));
                self.refuse_if(has_check, "CHECK", column.name.span, checked)?;
                let refers = column.options.iter().any(|option| matches!(option.option, ColumnOption::ForeignKey(_)));
                self.refuse_if(refers, "REFERENCES", column.name.span, "create the table in a database")?;
                let gives_values = |option: &ColumnOptionDef| {
                    matches!(option.option, ColumnOption::Generated { .. } | ColumnOption::DialectSpecific(_))
                };
                if let Some(option) = column.options.iter().find(|option| gives_values(option)) {
                    let words = first_words(&option.option.to_string());
                    self.refuse(&words, column.name.span, "create the table in a database, by CREATE TABLE")?;
                }
            }
            let has_check = constraints.iter().any(|constraint| matches!(constraint, TableConstraint::Check(_)));
            self.refuse_if(has_check, "CHECK", after, "create the table in a database")?;
            let refers = constraints.iter().any(|constraint| matches!(constraint, TableConstraint::ForeignKey(_)));
            self.refuse_if(refers, "FOREIGN KEY", after, "create the table in a database")?;
            return constraints.iter().try_for_each(|constraint| self.constraint(constraint, after, &mut key));
        }
        let unchecked = "nothing checks it in files; leave it out";
        for ColumnDef { name, data_type: _, options } in columns {
            for ColumnOptionDef { name: _, option } in options {
                match option {
                    ColumnOption::Null | ColumnOption::NotNull => {}
                    other => self.refuse(&first_words(&other.to_string()), name.span, unchecked)?,
                }
            }
        }
        match constraints.first() {
            None => Ok(()),
            Some(TableConstraint::PrimaryKey(_)) => self.refuse("PRIMARY KEY", after, unchecked),
            Some(TableConstraint::Unique(_)) => self.refuse("UNIQUE", after, unchecked),
            Some(TableConstraint::ForeignKey(_)) => self.refuse("FOREIGN KEY", after, unchecked),
            Some(TableConstraint::Check(_)) => self.refuse("CHECK", after, unchecked),
            Some(other) => self.refuse(&first_words(&other.to_string()), after, unchecked),
        }
    }

    /// COPY and EXPLAIN check their own options.
    pub(super) fn copy(&self, copy: &CopyToStatement) -> CheckResult {
        let CopyToStatement { source: _, target: _, partitioned_by: _, stored_as: _, options: _ } = copy;
        Ok(())
    }

    pub(super) fn explain(&self, explain: &ExplainStatement) -> CheckResult {
        let ExplainStatement { options, statement: _ } = explain;
        let ExplainStatementOptions {
            analyze: _,
            verbose: _,
            format: _,
            analyze_level: _,
            analyze_categories: _,
            show_statistics: _,
        } = options;
        Ok(())
    }
}

/// The first two words of a clause.
fn first_words(clause: &str) -> String {
    clause.split([' ', '(']).take(2).collect::<Vec<_>>().join(" ")
}
