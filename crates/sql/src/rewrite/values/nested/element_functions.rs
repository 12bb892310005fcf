//! Lists within functions of elements, `x -> [x, x + 1]`, and fields of their parameters, `x -> x.price`.
//!
//! DataFusion 55 plans the elements of a list literal without the parameters around it, so that `x` is a column, or nothing. It does not
//! take `x.price` for a field of a parameter.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Array, Expr, Value, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::normal;
use crate::syntax::call;

/// Writes lists in the body of a function as calls of `make_array`, and fields of its parameters as calls of `get_field`.
#[expect(clippy::unnecessary_wraps, reason = "a step of the rewriter")]
pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Expr::Lambda(lambda) = expr else { return Ok(()) };
    let parameters: Vec<String> = lambda.params.iter().map(|parameter| normal(&parameter.name)).collect();
    let _ = lambda.body.visit(&mut Body { parameters });
    Ok(())
}

struct Body {
    parameters: Vec<String>,
}

impl VisitorMut for Body {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Array(Array { elem, .. }) => *expr = call("make_array", std::mem::take(elem)),
            Expr::CompoundIdentifier(parts) => {
                if let Some((first, fields)) = parts.split_first()
                    && self.parameters.contains(&normal(first))
                {
                    let field = |value, name| {
                        let name = Expr::value(Value::SingleQuotedString(normal(name)));
                        call("get_field", vec![value, name])
                    };
                    *expr = fields.iter().fold(Expr::Identifier(first.clone()), field);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
