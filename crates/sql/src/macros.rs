//! `CREATE MACRO name(a, b := 1) AS expression` and `… AS TABLE query`: calls are replaced by the expression or the query. A macro lasts as long
//! as its session.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{Result, plan_err};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    DropFunction, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, MacroArg, MacroDefinition, Query,
    Select, SelectItem, Statement as SqlStatement, TableFactor, VisitMut, VisitorMut, visit_expressions,
};

use crate::captures::{column_among, lambda_parameters};
use crate::dialect::normal;
use crate::statement::explained;

/// Maximum depth of macros within macros, and so of one that calls itself.
const MAX_DEPTH: usize = 50;

/// The macros of a session, by name.
#[derive(Debug, Default)]
pub(crate) struct Macros {
    known: Mutex<HashMap<String, Macro>>,
}

#[derive(Debug, Clone)]
struct Macro {
    parameters: Vec<MacroArg>,
    definition: MacroDefinition,
}

impl Macros {
    /// Runs CREATE MACRO and DROP MACRO, or replaces the calls of a statement. Returns whether it was one of the first two.
    pub(crate) fn run_or_expand(&self, statement: &mut Statement) -> Result<bool> {
        if let Statement::Statement(inner) = statement
            && let SqlStatement::CreateMacro { or_replace, temporary: _, name, args, definition } = inner.as_ref()
        {
            let name = name.to_string().to_lowercase();
            let mut known = self.lock();
            if known.contains_key(&name) && !or_replace {
                return plan_err!("there is a macro {name} already; write CREATE OR REPLACE MACRO");
            }
            let created = Macro { parameters: args.clone().unwrap_or_default(), definition: definition.clone() };
            known.insert(name, created);
            return Ok(true);
        }
        if let Statement::Statement(inner) = statement
            && let SqlStatement::DropFunction(DropFunction { if_exists, func_desc, .. }) = inner.as_ref()
        {
            let mut known = self.lock();
            for dropped in func_desc {
                let name = dropped.name.to_string().to_lowercase();
                if known.remove(&name).is_none() && !if_exists {
                    return plan_err!("there is no macro {name}; DROP MACRO IF EXISTS drops it if there is one");
                }
            }
            return Ok(true);
        }
        let known = self.lock().clone();
        if known.is_empty() {
            return Ok(false);
        }
        for _ in 0..MAX_DEPTH {
            let mut calls = Calls { known: &known, has_found: false };
            let flow = match explained(statement) {
                Statement::Statement(statement) => statement.visit(&mut calls),
                Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => {
                    query.visit(&mut calls)
                }
                _ => ControlFlow::Continue(()),
            };
            if let ControlFlow::Break(message) = flow {
                return plan_err!("{message}");
            }
            if !calls.has_found {
                return Ok(false);
            }
        }
        plan_err!("a macro calls itself, or macros are more than {MAX_DEPTH} deep")
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Macro>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Macro {
    /// Puts the arguments of a call into the places of the parameters. Breaks with a message if they do not fit.
    fn put_values(&self, name: &str, arguments: &[FunctionArg], body: &mut impl VisitMut) -> ControlFlow<String> {
        match self.values(name, arguments) {
            Ok(values) => body.visit(&mut Parameters { name, values: &values, queries: 0, lambdas: Vec::new() }),
            Err(message) => ControlFlow::Break(message),
        }
    }

    /// The values of the parameters of a call.
    fn values(&self, name: &str, arguments: &[FunctionArg]) -> Result<HashMap<String, Expr>, String> {
        let mut values = HashMap::new();
        let names: Vec<String> = self.parameters.iter().map(|parameter| normal(&parameter.name)).collect();
        for (at, argument) in arguments.iter().enumerate() {
            let (parameter, value) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (names.get(at).cloned(), value),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => (Some(normal(name)), value),
                other => return Err(format!("{name}: {other} is not an argument of a macro")),
            };
            let Some(parameter) = parameter.filter(|parameter| names.contains(parameter)) else {
                return Err(format!("the macro {name} has the parameters ({}), and not {argument}", names.join(", ")));
            };
            if values.insert(parameter.clone(), Expr::Nested(Box::new(value.clone()))).is_some() {
                return Err(format!("{name}: the parameter {parameter} is given twice"));
            }
        }
        for parameter in &self.parameters {
            let own = normal(&parameter.name);
            if values.contains_key(&own) {
                continue;
            }
            let Some(default) = &parameter.default_expr else {
                return Err(format!("the macro {name} is called without {own}, which has no default"));
            };
            values.insert(own, default.clone());
        }
        Ok(values)
    }
}

struct Calls<'m> {
    known: &'m HashMap<String, Macro>,
    has_found: bool,
}

impl Calls<'_> {
    fn calls(&self, expr: &Expr) -> bool {
        let call = |expr: &Expr| match expr {
            Expr::Function(function) if self.known.contains_key(&function.name.to_string().to_lowercase()) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        visit_expressions(expr, call).is_break()
    }
}

impl VisitorMut for Calls<'_> {
    type Break = String;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        // A column has the name of the call.
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && self.calls(expr)
            {
                let alias = Ident::with_quote('"', expr.to_string());
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let name = function.name.to_string().to_lowercase();
        let Some(called) = self.known.get(&name) else { return ControlFlow::Continue(()) };
        let MacroDefinition::Expr(body) = &called.definition else {
            return ControlFlow::Break(format!("{name} is a macro of a table: write FROM {name}(…)"));
        };
        let FunctionArguments::List(list) = &function.args else { return ControlFlow::Continue(()) };
        if function.over.is_some() || function.filter.is_some() || !list.clauses.is_empty() {
            return ControlFlow::Break(format!("{name} is a macro; write OVER, FILTER and ORDER BY within it"));
        }
        let mut body = body.clone();
        called.put_values(&name, &list.args, &mut body)?;
        self.has_found = true;
        *expr = Expr::Nested(Box::new(body));
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<String> {
        let TableFactor::Table { name, args: Some(arguments), alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let name = name.to_string().to_lowercase();
        let Some(called) = self.known.get(&name) else { return ControlFlow::Continue(()) };
        let MacroDefinition::Table(query) = &called.definition else {
            return ControlFlow::Break(format!("{name} is a macro of a value: write SELECT {name}(…)"));
        };
        let mut subquery = query.clone();
        called.put_values(&name, &arguments.args, &mut subquery)?;
        self.has_found = true;
        *factor = TableFactor::Derived { lateral: false, subquery, alias: alias.take(), sample: None };
        ControlFlow::Continue(())
    }
}

/// Replaces parameters by values.
struct Parameters<'v> {
    /// The name of the macro.
    name: &'v str,
    values: &'v HashMap<String, Expr>,
    /// The number of queries around an expression, within the macro.
    queries: usize,
    /// The parameters of the lambdas around an expression.
    lambdas: Vec<Vec<String>>,
}

impl VisitorMut for Parameters<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        self.lambdas.extend(lambda_parameters(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        if lambda_parameters(expr).is_some() {
            self.lambdas.pop();
        }
        if let Expr::Identifier(name) = expr
            && let Some(value) = self.values.get(&normal(name))
        {
            // A query of the macro may have a column of the name.
            let is_other =
                |column: &str| self.queries > 0 || self.lambdas.iter().flatten().any(|parameter| parameter == column);
            if let Some(column) = column_among(value, is_other) {
                return ControlFlow::Break(format!(
                    "the argument {column} of {} may be another column within the macro: write it with its table",
                    self.name
                ));
            }
            *expr = value.clone();
        }
        ControlFlow::Continue(())
    }
}
