//! `PREPARE`, `EXECUTE` and `DEALLOCATE`.
//!
//! A prepared statement is kept as it was written and planned at each execution, so that it reads the columns that its tables have then, and
//! keeps no table or database open in between.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::common::{DFSchema, Result, exec_err, plan_datafusion_err, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Execute, Expr as PlanExpr, LogicalPlan, Prepare, Statement as PlanStatement};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Ident, Statement as SqlStatement, Value, ValueWithSpan, VisitMut, VisitorMut,
    visit_expressions_mut,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use crate::dialect::normal;

/// The prepared statements of a session, by name.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements(Mutex<BTreeMap<String, Arc<PreparedStatement>>>);

/// A statement with parameters.
#[derive(Debug)]
pub(crate) struct PreparedStatement {
    name: Ident,
    /// The declared types of the parameters, if they have any.
    data_types: Vec<DataType>,
    statement: Box<SqlStatement>,
}

/// A statement to plan.
pub(crate) enum Request {
    /// As it was written.
    Plain(Statement),
    /// `PREPARE`: the statement is planned to find mistakes.
    Prepare(Arc<PreparedStatement>),
    /// `EXECUTE`, whose values the second statement has.
    Execute(Arc<PreparedStatement>, Statement),
    /// `DEALLOCATE`, which is done.
    Done,
}

impl PreparedStatements {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<PreparedStatement>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out what a statement asks for.
    pub(crate) fn request(&self, statement: Statement) -> Result<Request> {
        let Statement::Statement(inner) = &statement else { return Ok(Request::Plain(statement)) };
        Ok(match inner.as_ref() {
            SqlStatement::Prepare { name, data_types, statement } => {
                let prepared = PreparedStatement {
                    name: name.clone(),
                    data_types: data_types.clone(),
                    statement: statement.clone(),
                };
                self.check_is_new(&prepared)?;
                prepared.check()?;
                Request::Prepare(Arc::new(prepared))
            }
            SqlStatement::Execute { name: Some(name), .. } => {
                let name = name.0.last().and_then(|part| part.as_ident()).map(normal).unwrap_or_default();
                let Some(prepared) = self.lock().get(&name).cloned() else { return missing(&name) };
                Request::Execute(prepared, statement)
            }
            SqlStatement::Deallocate { name, .. } => {
                let name = normal(name);
                let removed = self.lock().remove(&name);
                match removed {
                    None if name != "all" => return missing(&name),
                    None => self.lock().clear(),
                    Some(_) => {}
                }
                Request::Done
            }
            _ => Request::Plain(statement),
        })
    }

    fn check_is_new(&self, prepared: &PreparedStatement) -> Result<()> {
        let name = normal(&prepared.name);
        match self.lock().contains_key(&name) {
            true => plan_err!("there is a prepared statement {name:?} already; DEALLOCATE {name} removes it"),
            false => Ok(()),
        }
    }

    /// Keeps a statement.
    pub(crate) fn add(&self, prepared: Arc<PreparedStatement>) -> Result<()> {
        self.check_is_new(&prepared)?;
        self.lock().insert(normal(&prepared.name), prepared);
        Ok(())
    }
}

fn missing<T>(name: &str) -> Result<T> {
    plan_err!("there is no prepared statement {name:?}; PREPARE {name} AS … makes one")
}

impl PreparedStatement {
    /// A statement that a program prepares, whose parameters get numbers if they are written as `?`; `None` for statements that take no
    /// parameters.
    pub(crate) fn unnamed(statement: &Statement) -> Result<Option<Self>> {
        let Statement::Statement(statement) = statement else { return Ok(None) };
        let prepared = Self { name: Ident::new(""), data_types: Vec::new(), statement: statement.clone() };
        if prepared.check().is_err() {
            return Ok(None);
        }
        Ok(Some(Self { statement: number_parameters(prepared.statement)?, ..prepared }))
    }

    /// Returns an error for statements that have no parameters.
    fn check(&self) -> Result<()> {
        match self.statement.as_ref() {
            SqlStatement::Query(_)
            | SqlStatement::Insert(_)
            | SqlStatement::Update(_)
            | SqlStatement::Delete(_)
            | SqlStatement::Merge(_) => Ok(()),
            _ => plan_err!(
                "PREPARE takes SELECT, VALUES, INSERT, UPDATE, DELETE and MERGE; run other statements as they are"
            ),
        }
    }

    /// The statement, without PREPARE.
    pub(crate) fn statement(&self) -> Statement {
        Statement::Statement(self.statement.clone())
    }

    /// The statement within PREPARE, which declares the types of its parameters. `statement` is the statement with its rewritings.
    pub(crate) fn declared(&self, statement: Statement) -> Statement {
        let Statement::Statement(statement) = statement else { return statement };
        let (name, data_types) = (self.name.clone(), self.data_types.clone());
        Statement::Statement(Box::new(SqlStatement::Prepare { name, data_types, statement }))
    }

    /// The statement within PREPARE with a parameter for each place, if no types are declared: a value may have another type at each.
    pub(crate) fn with_places(&self, statement: Statement) -> Option<Statement> {
        let Statement::Statement(mut statement) = statement else { return None };
        let mut places = 0;
        let _ = visit_expressions_mut(statement.as_mut(), |expr| {
            if let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), .. }) = expr {
                places += 1;
                *name = format!("${places}");
            }
            ControlFlow::<()>::Continue(())
        });
        self.data_types.is_empty().then(|| self.declared(Statement::Statement(statement)))
    }

    /// Takes the plan out of a plan of PREPARE.
    pub(crate) fn planned(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let LogicalPlan::Statement(PlanStatement::Prepare(Prepare { input, fields, .. })) = plan else {
            return Ok(plan);
        };
        let count = input.get_parameter_names()?.len();
        if !self.data_types.is_empty() && count != fields.len() {
            return plan_err!(
                "PREPARE {} declares {} types, and its statement has {count} parameters; declare one for each, or none",
                self.name,
                fields.len()
            );
        }
        Ok(Arc::unwrap_or_clone(input))
    }

    /// The statement with values in the places of its parameters, so that it means what it means when the values are written there. Values
    /// of parameters with a declared type are cast to it.
    pub(crate) fn with_values(&self, values: &[Expr]) -> Result<Statement> {
        let mut statement = self.statement.clone();
        let values = values.iter().enumerate().map(|(at, value)| {
            let value = Expr::Nested(Box::new(value.clone()));
            match self.data_types.get(at) {
                Some(data_type) => Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(value),
                    data_type: data_type.clone(),
                    array: false,
                    format: None,
                },
                None => value,
            }
        });
        let mut insertion = Insertion { values: values.collect(), used: BTreeSet::new() };
        let name = normal(&self.name);
        if let ControlFlow::Break(parameter) = statement.visit(&mut insertion) {
            return plan_err!(
                "the prepared statement {name:?} has the parameter {parameter}; call parameters $1, $2 and so on"
            );
        }
        let count = insertion.used.last().copied().unwrap_or(0);
        if insertion.values.len() != count {
            return exec_err!(
                "the prepared statement {name:?} has {count} parameters, and EXECUTE gives {} values; give one for each",
                insertion.values.len()
            );
        }
        Ok(Statement::Statement(statement))
    }
}

/// Makes `$1`, `$2` and so on of parameters that are written as `?`, in the order of the text.
fn number_parameters(mut statement: Box<SqlStatement>) -> Result<Box<SqlStatement>> {
    let mut found = Placeholders::default();
    let _ = statement.visit(&mut found);
    if found.unnamed.is_empty() {
        return Ok(statement);
    }
    if found.has_numbers {
        return plan_err!("the statement has parameters written as ? and as $1; write all of them in one way");
    }
    found.unnamed.sort_unstable();
    let _ = statement.visit(&mut Numbering { places: found.unnamed });
    Ok(statement)
}

/// The parameters of a statement.
#[derive(Default)]
struct Placeholders {
    /// The places of the ones without a number.
    unnamed: Vec<Location>,
    has_numbers: bool,
}

impl VisitorMut for Placeholders {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        match &value.value {
            Value::Placeholder(name) if name == "?" => self.unnamed.push(value.span.start),
            Value::Placeholder(name) if name.starts_with('$') => self.has_numbers = true,
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Gives parameters their numbers, by their places in ascending order.
struct Numbering {
    places: Vec<Location>,
}

impl VisitorMut for Numbering {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::Placeholder(name) = &mut value.value
            && name == "?"
            && let Ok(at) = self.places.binary_search(&value.span.start)
        {
            *name = format!("${}", at + 1);
        }
        ControlFlow::Continue(())
    }
}

/// Puts values in the places of parameters.
struct Insertion {
    values: Vec<Expr>,
    /// The numbers of the parameters.
    used: BTreeSet<usize>,
}

impl VisitorMut for Insertion {
    /// A parameter that has no number.
    type Break = String;

    // Runs after the parts of an expression, so that values are not visited.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), .. }) = expr else {
            return ControlFlow::Continue(());
        };
        let number =
            name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok()).filter(|number| *number > 0);
        let Some(number) = number else { return ControlFlow::Break(name.clone()) };
        self.used.insert(number);
        if let Some(value) = self.values.get(number - 1) {
            *expr = value.clone();
        }
        ControlFlow::Continue(())
    }
}

/// The values of EXECUTE, which have to be constant.
pub(crate) async fn executed_values(state: &SessionState, execute: Statement) -> Result<Vec<Expr>> {
    let values = match &execute {
        Statement::Statement(statement) => match statement.as_ref() {
            SqlStatement::Execute { parameters, .. } => parameters.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let plan = state.statement_to_plan(execute).await?;
    let LogicalPlan::Statement(PlanStatement::Execute(Execute { parameters, .. })) = plan else {
        return Err(plan_datafusion_err!("write EXECUTE name (values)"));
    };
    let context = SimplifyContext::builder()
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let simplifier = ExprSimplifier::new(context);
    for expr in parameters {
        let value = simplifier.simplify(simplifier.coerce(expr, &DFSchema::empty())?)?;
        if !matches!(value, PlanExpr::Literal(..)) {
            return plan_err!("EXECUTE takes values, and {value} is more than a value");
        }
    }
    Ok(values)
}
