//! Functions of elements and their numbers: `list_transform(list, (x, i) -> x * i)` and `list_filter`. DataFusion 55 calls them with elements
//! alone; here an element is a struct of both. Also functions that are functions of elements: `list_where`, `list_select`, `list_grade_up`
//! and `map_from_entries`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, Ident, LambdaFunction, LambdaFunctionParameter, LambdaSyntax, OneOrManyWithParens, Value,
    visit_expressions_mut,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::{Rewrite, arguments, template};
use crate::dialect::normal;
use crate::syntax::call;

/// The parameter of the function of structs.
const PARAMETER: &str = "numbered element";

/// Whether a call has a function of an element and its number.
pub(super) fn has_number(name: &str, function: &Function) -> bool {
    kind(name).is_some()
        && matches!(arguments(function).as_deref(), Some([_, Expr::Lambda(body)]) if body.params.len() == 2)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Transform,
    Filter,
}

fn kind(name: &str) -> Option<Kind> {
    match name {
        "list_transform" | "array_transform" | "list_apply" | "array_apply" | "apply" => Some(Kind::Transform),
        "list_filter" | "array_filter" | "filter" => Some(Kind::Filter),
        _ => None,
    }
}

/// The expression of such a call; `None` for others.
pub(super) fn replacement(name: &str, function: &Function, rewrite: Rewrite) -> Result<Option<Expr>, ParserError> {
    let arguments = arguments(function);
    let (Some(kind), Some([list, Expr::Lambda(body)])) = (kind(name), arguments.as_deref()) else {
        return Ok(None);
    };
    let names: Vec<String> = body.params.iter().map(|parameter| normal(&parameter.name)).collect();
    let [element, number] = names.as_slice() else { return Ok(None) };
    let mut value = (*body.body).clone();
    let _ = visit_expressions_mut(&mut value, |expr| {
        let field = match expr {
            Expr::Identifier(name) if normal(name) == *element => "1",
            Expr::Identifier(name) if normal(name) == *number => "2",
            _ => return ControlFlow::<()>::Continue(()),
        };
        *expr = part(field);
        ControlFlow::Continue(())
    });
    let value = Expr::Nested(Box::new(value));
    let numbered = "list_zip($1, range(1, CAST(cardinality($1) AS BIGINT) + 1))";
    let text = match kind {
        Kind::Transform => format!("CASE WHEN $1 IS NOT NULL THEN array_transform({numbered}, $2) END"),
        Kind::Filter => format!("CASE WHEN $1 IS NOT NULL THEN array_transform(array_filter({numbered}, $2), $3) END"),
    };
    template::filled(&text, &[list, &lambda(value), &lambda(part("1"))], rewrite).map(Some)
}

/// The expression of a function that is a function of elements; `None` for others.
pub(super) fn element_expression(
    name: &str,
    function: &Function,
    rewrite: Rewrite,
) -> Result<Option<Expr>, ParserError> {
    let arguments = arguments(function).unwrap_or_default();
    let element = || Expr::Identifier(Ident::with_quote('"', PARAMETER));
    let filled = |text: &str, operands: &[&Expr]| template::filled(text, operands, rewrite).map(Some);
    match (name, arguments.as_slice()) {
        ("list_where" | "array_where", [list, chosen]) => filled(
            "array_transform(array_filter(list_zip($1, $2), $3), $4)",
            &[list, chosen, &lambda(part("2")), &lambda(part("1"))],
        ),
        ("list_select" | "array_select", [list, places]) => {
            let chosen = call("array_element", vec![Expr::Nested(Box::new((*list).clone())), element()]);
            filled("array_transform($1, $2)", &[places, &lambda(chosen)])
        }
        ("list_grade_up" | "array_grade_up", [list]) => filled(
            "array_transform(array_sort(list_zip($1, range(1, CAST(cardinality($1) AS BIGINT) + 1)), 'ASC', 'NULLS LAST'), $2)",
            &[list, &lambda(part("2"))],
        ),
        ("map_from_entries", [entries]) => filled(
            "map(array_transform($1, $2), array_transform($1, $3))",
            &[entries, &lambda(part("c0")), &lambda(part("c1"))],
        ),
        _ => Ok(None),
    }
}

/// A field of the parameter.
fn part(field: &str) -> Expr {
    let field = Expr::value(Value::SingleQuotedString(field.to_owned()));
    call("get_field", vec![Expr::Identifier(Ident::with_quote('"', PARAMETER)), field])
}

fn lambda(body: Expr) -> Expr {
    let parameter = LambdaFunctionParameter { name: Ident::with_quote('"', PARAMETER), data_type: None };
    Expr::Lambda(LambdaFunction {
        params: OneOrManyWithParens::One(parameter),
        body: Box::new(body),
        syntax: LambdaSyntax::Arrow,
    })
}
