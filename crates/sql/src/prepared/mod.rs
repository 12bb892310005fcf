//! `PREPARE`, `EXECUTE` and `DEALLOCATE`.
//!
//! A prepared statement is kept as it was written and planned at each execution, so that it reads the columns that its tables have then, and
//! keeps no table or database open in between.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::{DataType as ArrowType, FieldRef};
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::{ParamValues, Result, exec_err, plan_datafusion_err, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Execute, Expr, LogicalPlan, Prepare, Statement as PlanStatement};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{DataType, Ident, Statement as SqlStatement};

use crate::dialect::normal;
use crate::rewrite::uuid_value;

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

    /// Takes the plan out of a plan of PREPARE, with the types of its parameters.
    pub(crate) fn planned(&self, plan: LogicalPlan) -> Result<(LogicalPlan, Vec<FieldRef>)> {
        let LogicalPlan::Statement(PlanStatement::Prepare(Prepare { input, fields, .. })) = plan else {
            return Ok((plan, Vec::new()));
        };
        let count = input.get_parameter_names()?.len();
        if !self.data_types.is_empty() && count != fields.len() {
            return plan_err!(
                "PREPARE {} declares {} types, and its statement has {count} parameters; declare one for each, or none",
                self.name,
                fields.len()
            );
        }
        Ok((Arc::unwrap_or_clone(input), fields))
    }

    /// Replaces the parameters of a plan by values, cast to their types.
    pub(crate) fn with_values(
        &self,
        plan: LogicalPlan,
        fields: &[FieldRef],
        values: Vec<ScalarAndMetadata>,
    ) -> Result<LogicalPlan> {
        let count = plan.get_parameter_names()?.len();
        if values.len() != count {
            return exec_err!(
                "the prepared statement {:?} has {count} parameters, and EXECUTE gives {} values; give one for each",
                normal(&self.name),
                values.len()
            );
        }
        let values = match fields.len() == values.len() {
            true => values.into_iter().zip(fields).map(|(value, field)| typed(value, field)).collect::<Result<_>>()?,
            false => values,
        };
        plan.replace_params_with_values(&ParamValues::List(values))
    }
}

/// A value in the type of its parameter.
fn typed(value: ScalarAndMetadata, field: &FieldRef) -> Result<ScalarAndMetadata> {
    let value = match field.data_type() {
        ArrowType::FixedSizeBinary(16) => {
            let (value, metadata) = value.into_inner();
            ScalarAndMetadata::new(uuid_value(value)?, metadata)
        }
        _ => value,
    };
    value.cast_storage_to(field.data_type())
}

/// The values of EXECUTE.
pub(crate) async fn executed_values(state: &SessionState, execute: Statement) -> Result<Vec<ScalarAndMetadata>> {
    let plan = state.statement_to_plan(execute).await?;
    let LogicalPlan::Statement(PlanStatement::Execute(Execute { parameters, .. })) = plan else {
        return Err(plan_datafusion_err!("write EXECUTE name (values)"));
    };
    let context = SimplifyContext::builder()
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let simplifier = ExprSimplifier::new(context);
    let value = |expr: Expr| -> Result<ScalarAndMetadata> {
        match simplifier.simplify(expr)? {
            Expr::Literal(value, metadata) => Ok(ScalarAndMetadata::new(value, metadata)),
            other => plan_err!("EXECUTE takes values, and {other} is more than a value"),
        }
    };
    parameters.into_iter().map(value).collect()
}
