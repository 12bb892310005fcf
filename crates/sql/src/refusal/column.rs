//! Column declarations, keys and constraints.

use datafusion::sql::sqlparser::ast::{
    CharLengthUnits, CharacterLength, CheckConstraint, ColumnDef, ColumnOption, ColumnOptionDef, DataType, Expr,
    ForeignKeyConstraint, Ident, IndexColumn, NullsDistinctOption, OrderByExpr, PrimaryKeyConstraint, Spanned,
    TableConstraint, UniqueConstraint,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::definition::PLAIN;
use super::{CheckResult, Clauses};

const ONE_KEY: &str = "a table has one; write PRIMARY KEY (a, b) for a key of several columns, and UNIQUE for others";
const NOT_CHECKED: &str = "nothing would check it when rows change; leave it out";
const NOT_COMPUTED: &str = "compute the value where rows are inserted, or in a view";

impl Clauses<'_> {
    pub(super) fn column(&self, column: &ColumnDef, key: &mut Option<Span>) -> CheckResult {
        let ColumnDef { name, data_type, options } = column;
        self.declared_type(data_type, name)?;
        for ColumnOptionDef { name: _, option } in options {
            let after = name.span;
            match option {
                ColumnOption::Null | ColumnOption::NotNull | ColumnOption::Default(_) => {}
                ColumnOption::PrimaryKey(constraint) => {
                    self.primary_key(constraint, after, key)?;
                    *key = Some(after);
                }
                ColumnOption::Unique(constraint) => self.unique(constraint, after)?,
                ColumnOption::ForeignKey(_) => self.refuse("REFERENCES", after, NOT_CHECKED)?,
                ColumnOption::Check(check) => self.check(check, after)?,
                ColumnOption::Collation(_) => {
                    self.refuse("COLLATE", after, "texts are ordered by their bytes; leave it out")?;
                }
                ColumnOption::CharacterSet(_) => {
                    self.refuse("CHARACTER SET", after, "texts are UTF-8; leave it out")?;
                }
                ColumnOption::Generated { .. } => {
                    self.refuse(self.generated_word(after), after, NOT_COMPUTED)?;
                }
                ColumnOption::Identity(_) => self.refuse("IDENTITY", after, NOT_COMPUTED)?,
                ColumnOption::Materialized(_) => self.refuse("MATERIALIZED", after, NOT_COMPUTED)?,
                ColumnOption::Ephemeral(_) => self.refuse("EPHEMERAL", after, NOT_COMPUTED)?,
                ColumnOption::Alias(_) => self.refuse("ALIAS", after, NOT_COMPUTED)?,
                ColumnOption::OnUpdate(_) => self.refuse("ON UPDATE", after, NOT_COMPUTED)?,
                ColumnOption::DialectSpecific(tokens) => {
                    let word = tokens.first().map_or_else(|| name.to_string(), ToString::to_string);
                    self.refuse(&word, after, NOT_COMPUTED)?;
                }
                ColumnOption::Comment(_) => self.refuse("COMMENT", after, "tables keep no comments; leave it out")?,
                ColumnOption::OnConflict(_) => self.refuse("ON CONFLICT", after, "write it in each INSERT")?,
                ColumnOption::Options(_) => self.refuse("OPTIONS", after, PLAIN)?,
                ColumnOption::Policy(_) => self.refuse("POLICY", after, PLAIN)?,
                ColumnOption::Tags(_) => self.refuse("TAG", after, PLAIN)?,
                ColumnOption::Srid(_) => self.refuse("SRID", after, PLAIN)?,
                ColumnOption::Invisible => self.refuse("INVISIBLE", after, PLAIN)?,
            }
        }
        Ok(())
    }

    fn check(&self, check: &CheckConstraint, after: Span) -> CheckResult {
        let CheckConstraint { name: _, expr: _, enforced } = check;
        self.refuse_if(*enforced == Some(false), "NOT ENFORCED", after, "constraints are enforced; leave both out")
    }

    fn generated_word(&self, after: Span) -> &'static str {
        if self.place("GENERATED", after).is_some() { "GENERATED" } else { "AS" }
    }

    /// Refuses lengths that nothing would enforce. VARCHAR and CHAR with a number of characters are supported.
    pub(super) fn declared_type(&self, data_type: &DataType, name: &Ident) -> CheckResult {
        let (is_limited, word) = match data_type {
            DataType::Varchar(length)
            | DataType::CharacterVarying(length)
            | DataType::CharVarying(length)
            | DataType::Nvarchar(length)
            | DataType::Char(length)
            | DataType::Character(length) => {
                (has_other_unit(length.as_ref()), "VARCHAR(n), where n is a number of characters")
            }
            DataType::String(length) | DataType::Clob(length) => (length.is_some(), "VARCHAR(n)"),
            DataType::Binary(length) | DataType::Blob(length) | DataType::Bytes(length) => (length.is_some(), "BYTEA"),
            DataType::Varbinary(length) => (length.is_some(), "BYTEA"),
            _ => (false, ""),
        };
        let advice = format!("the length would not be checked; write {word}");
        let text = data_type.to_string();
        let first = text.split(['(', ' ']).next().unwrap_or_default();
        match is_limited {
            true => {
                let place = self.place(first, name.span).unwrap_or(name.span.start);
                Err(crate::dialect::error_at(&format!("{text} is not supported: {advice}"), place))
            }
            false => Ok(()),
        }
    }

    pub(super) fn constraint(&self, constraint: &TableConstraint, after: Span, key: &mut Option<Span>) -> CheckResult {
        let place = constraint.span();
        let after = if place.start.line == 0 { after } else { place };
        match constraint {
            TableConstraint::PrimaryKey(_) if key.is_some() => self.refuse_before("PRIMARY KEY", after, ONE_KEY),
            TableConstraint::PrimaryKey(constraint) => {
                self.primary_key(constraint, after, key)?;
                *key = Some(after);
                Ok(())
            }
            TableConstraint::Unique(constraint) => self.unique(constraint, after),
            TableConstraint::ForeignKey(ForeignKeyConstraint { .. }) => {
                self.refuse_before("FOREIGN KEY", after, NOT_CHECKED)
            }
            TableConstraint::Check(check) => self.check(check, after),
            TableConstraint::Index(_) => self.refuse("INDEX", after, "write CREATE INDEX"),
            TableConstraint::FulltextOrSpatial(_) => self.refuse("an index of texts", after, "write CREATE INDEX"),
            TableConstraint::PrimaryKeyUsingIndex(_) | TableConstraint::UniqueUsingIndex(_) => {
                self.refuse("USING INDEX", after, "name the columns")
            }
        }
    }

    fn primary_key(&self, constraint: &PrimaryKeyConstraint, after: Span, key: &Option<Span>) -> CheckResult {
        // The name of a constraint is only a label.
        let PrimaryKeyConstraint { name: _, index_name, index_type, columns, index_options, characteristics } =
            constraint;
        if let Some(first) = key {
            // Both are found by the same words, so the search for the second begins after the first.
            let behind = Span::new(first.end, first.end);
            return self.refuse("PRIMARY KEY", if after.start > behind.start { after } else { behind }, ONE_KEY);
        }
        self.key_columns(columns)?;
        let is_plain = index_name.is_none() && index_type.is_none() && index_options.is_empty();
        self.refuse_if(!is_plain, "PRIMARY KEY", after, "write PRIMARY KEY (columns)")?;
        self.refuse_if(
            characteristics.is_some(),
            "DEFERRABLE",
            after,
            "keys are checked when rows change; leave it out",
        )
    }

    fn unique(&self, constraint: &UniqueConstraint, after: Span) -> CheckResult {
        let UniqueConstraint {
            name: _,
            index_name,
            index_type_display: _,
            index_type,
            columns,
            index_options,
            characteristics,
            nulls_distinct,
        } = constraint;
        self.key_columns(columns)?;
        let is_plain = index_name.is_none() && index_type.is_none() && index_options.is_empty();
        self.refuse_if(!is_plain, "UNIQUE", after, "write UNIQUE (columns)")?;
        self.refuse_if(characteristics.is_some(), "DEFERRABLE", after, "it is checked when rows change; leave it out")?;
        let nulls = matches!(nulls_distinct, NullsDistinctOption::NotDistinct);
        self.refuse_if(
            nulls,
            "NULLS NOT DISTINCT",
            after,
            "rows with nulls are never equal; declare the columns NOT NULL",
        )
    }

    fn key_columns(&self, columns: &[IndexColumn]) -> CheckResult {
        for IndexColumn { column, operator_class } in columns {
            let OrderByExpr { expr, options, with_fill } = column;
            let after = expr.span();
            let ascending = "keys are in ascending order; leave it out, and write ORDER BY in queries";
            self.refuse_if(options.asc == Some(false), "DESC", after, ascending)?;
            self.refuse_if(options.nulls_first.is_some(), "NULLS", after, ascending)?;
            let is_column = matches!(expr, Expr::Identifier(_));
            self.refuse_if(!is_column, &expr.to_string(), after, "a key takes columns; add one for the expression")?;
            let is_plain = operator_class.is_none() && with_fill.is_none();
            self.refuse_if(!is_plain, &column.to_string(), after, "name the column alone")?;
        }
        Ok(())
    }
}

/// Whether a length is not a number of characters.
fn has_other_unit(length: Option<&CharacterLength>) -> bool {
    match length {
        None => false,
        Some(CharacterLength::IntegerLength { length: _, unit }) => matches!(unit, Some(CharLengthUnits::Octets)),
        Some(CharacterLength::Max) => true,
    }
}
