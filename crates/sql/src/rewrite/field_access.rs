//! Fields of what a subscript answers: `lists[1].name`.
//!
//! DataFusion 55 knows fields behind a dot only in front of the first subscript. Behind it, `.name` is `['name']`.

use datafusion::sql::sqlparser::ast::{AccessExpr, Expr, Subscript, Value};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::normal;

/// Makes dots behind subscripts subscripts.
pub(super) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return Ok(()) };
    // Dots in front of the first subscript belong to the name of the column.
    let mut is_name = matches!(root.as_ref(), Expr::Identifier(_));
    for access in access_chain {
        match access {
            AccessExpr::Dot(Expr::Identifier(field)) if !is_name => {
                let index = Expr::value(Value::SingleQuotedString(normal(field)));
                *access = AccessExpr::Subscript(Subscript::Index { index });
            }
            AccessExpr::Dot(_) => {}
            AccessExpr::Subscript(_) => is_name = false,
        }
    }
    Ok(())
}
