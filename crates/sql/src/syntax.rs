//! Builds parts of parsed statements, and asks about them.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Visit,
    visit_expressions,
};

/// Functions that may return another value when they are called again with the same arguments.
const VOLATILE: [&str; 5] = ["random", "rand", "uuid", "gen_random_uuid", "nextval"];

/// Builds a call of a function by name.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Whether an expression or a query may differ when it is evaluated again.
pub(crate) fn is_volatile(part: &impl Visit) -> bool {
    let volatile = |inner: &Expr| match inner {
        Expr::Function(function)
            if VOLATILE.iter().any(|name| function.name.to_string().eq_ignore_ascii_case(name)) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(part, volatile).is_break()
}
