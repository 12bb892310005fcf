//! The columns that `UPDATE … SET` names.

use std::collections::BTreeSet;

use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{AssignmentTarget, ObjectNamePart, Statement as SqlStatement};

use crate::dialect::normal;
use crate::statement::explained;

/// Normalizes the names of columns that an update sets, which DataFusion does not, and returns an error if one is set twice.
pub(crate) fn adapt_assignments(statement: &mut Statement) -> Result<()> {
    let Statement::Statement(inner) = explained(statement) else { return Ok(()) };
    let SqlStatement::Update(update) = inner.as_mut() else { return Ok(()) };
    let mut set = BTreeSet::new();
    for assignment in &mut update.assignments {
        let AssignmentTarget::ColumnName(name) = &mut assignment.target else { continue };
        let Some(ObjectNamePart::Identifier(ident)) = name.0.last_mut() else { continue };
        ident.value = normal(ident);
        if !set.insert(ident.value.clone()) {
            return plan_err!("column {:?} is set twice; set it once", ident.value);
        }
    }
    Ok(())
}
