//! Fields after a subscript, `lists[1].name`, and slices without a bound, `list[2:]`.
//!
//! DataFusion 55 supports fields with a dot only before the first subscript. After it, `.name` is rewritten to `['name']`. Its slices have
//! both bounds: the first element is 1, and the last is -1.

use datafusion::sql::sqlparser::ast::{AccessExpr, Expr, Subscript, Value};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::normal;

/// Rewrites dots after subscripts to subscripts, and adds the bounds of slices.
pub(super) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return Ok(()) };
    // Dots before the first subscript belong to the name of the column.
    let mut is_name = matches!(root.as_ref(), Expr::Identifier(_));
    for access in access_chain {
        match access {
            AccessExpr::Dot(Expr::Identifier(field)) if !is_name => {
                let index = Expr::value(Value::SingleQuotedString(normal(field)));
                *access = AccessExpr::Subscript(Subscript::Index { index });
            }
            AccessExpr::Dot(_) => {}
            AccessExpr::Subscript(subscript) => {
                is_name = false;
                if let Subscript::Slice { lower_bound, upper_bound, stride: None } = subscript {
                    lower_bound.get_or_insert_with(|| Expr::value(Value::Number("1".to_owned(), false)));
                    upper_bound.get_or_insert_with(|| Expr::value(Value::Number("-1".to_owned(), false)));
                }
            }
        }
    }
    Ok(())
}
