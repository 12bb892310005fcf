//! Lists within functions of elements, `x -> [x, x + 1]`, and fields of their parameters, `x -> x.price`.
//!
//! DataFusion 55 plans the elements of a list literal without the parameters around it, so that `x` is a column, or nothing. It does not
//! take `x.price` for a field of a parameter.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Array, Expr, Ident, LambdaFunctionParameter, OneOrManyWithParens, Select, TableFactor, Value, VisitMut, VisitorMut,
    visit_expressions_mut,
};
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

/// Renames parameters with the name of a table of FROM, whose columns `name.column` are.
pub(crate) fn rename_parameters(select: &mut Select) {
    let factors = select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
    let name = |factor: &TableFactor| match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. } => Some(normal(&alias.name)),
        TableFactor::Table { name, args: None, .. } => name.0.last().and_then(|part| part.as_ident()).map(normal),
        _ => None,
    };
    let tables: Vec<String> = factors.filter_map(name).collect();
    if !tables.is_empty() {
        let _ = select.visit(&mut Parameters { tables });
    }
}

struct Parameters {
    tables: Vec<String>,
}

impl VisitorMut for Parameters {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Lambda(lambda) = expr else { return ControlFlow::Continue(()) };
        let mut names: Vec<Ident> = lambda.params.iter().map(|parameter| parameter.name.clone()).collect();
        for name in &mut names {
            let old = normal(name);
            if !self.tables.contains(&old) {
                continue;
            }
            let new = Ident::with_quote('"', format!("{old} element"));
            let _ = visit_expressions_mut(lambda.body.as_mut(), |inner| {
                match inner {
                    Expr::Identifier(used) if normal(used) == old => *used = new.clone(),
                    _ => {}
                }
                ControlFlow::<()>::Continue(())
            });
            *name = new;
        }
        let renamed = lambda.params.iter().zip(names).map(|(parameter, name)| {
            let data_type = parameter.data_type.clone();
            LambdaFunctionParameter { name, data_type }
        });
        let mut renamed: Vec<LambdaFunctionParameter> = renamed.collect();
        lambda.params = match (&lambda.params, renamed.len()) {
            (OneOrManyWithParens::One(_), 1) => OneOrManyWithParens::One(renamed.remove(0)),
            _ => OneOrManyWithParens::Many(renamed),
        };
        ControlFlow::Continue(())
    }
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
