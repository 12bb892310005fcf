//! `* EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d)`.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, IdentWithAlias, ObjectName, RenameSelectItem, ReplaceSelectElement,
    WildcardAdditionalOptions,
};

use super::FromColumn;
use crate::dialect::normal;

/// The columns behind `EXCLUDE`, `REPLACE` and `RENAME`.
#[derive(Debug)]
pub(super) struct StarOptions<'o> {
    excluded: Vec<Vec<String>>,
    replaced: Vec<&'o ReplaceSelectElement>,
    renamed: Vec<IdentWithAlias>,
}

impl<'o> StarOptions<'o> {
    /// Parses the options, whose names have to be ones of the columns.
    pub(super) fn new(options: &'o WildcardAdditionalOptions, columns: &[FromColumn]) -> Result<Self> {
        if options.opt_ilike.is_some() || options.opt_alias.is_some() {
            return plan_err!("*{options} is not supported here; write COLUMNS and a pattern");
        }
        let mut excluded = match &options.opt_exclude {
            None => Vec::new(),
            Some(ExcludeSelectItem::Single(name)) => vec![path(name)],
            Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(path).collect(),
        };
        if let Some(except) = &options.opt_except {
            let names = [&except.first_element].into_iter().chain(&except.additional_elements);
            excluded.extend(names.map(|name| vec![normal(name)]));
        }
        let renamed = match &options.opt_rename {
            None => Vec::new(),
            Some(RenameSelectItem::Single(name)) => vec![name.clone()],
            Some(RenameSelectItem::Multiple(names)) => names.clone(),
        };
        let replaced = options.opt_replace.iter().flat_map(|replace| &replace.items).map(AsRef::as_ref).collect();
        let options = Self { excluded, replaced, renamed };
        for name in &options.excluded {
            known("EXCLUDE", name, columns)?;
        }
        for item in &options.replaced {
            let name = normal(&item.column_name);
            if options.excluded.iter().any(|excluded| excluded.last() == Some(&name)) {
                return plan_err!("EXCLUDE and REPLACE both have the column {name}; leave it out of one of them");
            }
            known("REPLACE", &[name], columns)?;
        }
        for name in &options.renamed {
            known("RENAME", &[normal(&name.ident)], columns)?;
        }
        Ok(options)
    }

    pub(super) fn excludes(&self, column: &FromColumn) -> bool {
        self.excluded.iter().any(|name| is_named(column, name))
    }

    pub(super) fn replaces(&self, column: &FromColumn) -> bool {
        self.replacement(column).is_some()
    }

    /// The value of a column, which is another expression with REPLACE.
    pub(super) fn value(&self, column: &FromColumn) -> Expr {
        self.replacement(column).map_or_else(|| column.expr(), |item| item.expr.clone())
    }

    /// The name of a column that has another value or another name.
    pub(super) fn name(&self, column: &FromColumn) -> Option<String> {
        let renamed = self.renamed.iter().find(|name| normal(&name.ident) == column.name);
        let replaced = self.replacement(column).map(|_| column.name.clone());
        renamed.map(|name| normal(&name.alias)).or(replaced)
    }

    fn replacement(&self, column: &FromColumn) -> Option<&ReplaceSelectElement> {
        self.replaced.iter().copied().find(|item| normal(&item.column_name) == column.name)
    }
}

fn path(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(normal).collect()
}

/// Whether a name, or a table's name and a name, is the column's.
fn is_named(column: &FromColumn, name: &[String]) -> bool {
    match name {
        [own] => *own == column.name,
        [.., table, own] => *own == column.name && column.table.as_ref() == Some(table),
        [] => false,
    }
}

fn known(clause: &str, name: &[String], columns: &[FromColumn]) -> Result<()> {
    if columns.iter().any(|column| is_named(column, name)) {
        return Ok(());
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    plan_err!("{clause}: there is no column {}; there are {}", name.join("."), names.join(", "))
}
