//! Statements with parameters.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result as PlanResult, ScalarValue, plan_err};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use super::literal::literal;
use super::plan::StatementPlan;
use crate::error::{Result, without_place};
use crate::explain::explain;
use crate::grammar::parse_one;
use crate::prepared::PreparedStatement;
use crate::session::Session;
use crate::stop::Stop;

/// A statement that a program runs several times, with other values of its parameters. It is planned at each run, so that it reads the columns that
/// its tables have then, and keeps no table or database open in between.
///
/// ```
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// use datafusion::common::ScalarValue;
/// use futures_util::StreamExt;
/// use lath_sql::{Session, Stop};
///
/// let (session, stop) = (Session::new(), Stop::new());
/// let statement = session.prepare("SELECT ? + 1 AS next").await?;
/// assert_eq!(statement.parameters().fields().len(), 1);
/// let plan = session.plan_with_values(&statement, &[ScalarValue::from(41_i64)], &stop).await?;
/// let rows = plan.execute(&stop)?.next().await.transpose()?.map(|batch| format!("{:?}", batch.column(0)));
/// assert!(rows.is_some_and(|rows| rows.contains("42")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ProgramStatement {
    text: Arc<str>,
    /// `None` for a statement that takes no parameters.
    prepared: Option<Arc<PreparedStatement>>,
    parameters: SchemaRef,
    columns: SchemaRef,
}

impl ProgramStatement {
    /// The text, as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters `$1`, `$2` and so on, which may be written as `?`, with the types that their places ask for. Where any type fits, it is
    /// [`DataType::Null`].
    pub fn parameters(&self) -> &SchemaRef {
        &self.parameters
    }

    /// The columns of the result; none for a statement that is not planned before it runs, such as `CREATE TABLE`.
    pub fn columns(&self) -> &SchemaRef {
        &self.columns
    }
}

impl Session {
    /// Parses a statement with parameters, and plans it to find mistakes and types. Nothing runs.
    ///
    /// # Errors
    /// [`Error::Mistake`](crate::Error::Mistake) if the text cannot be parsed, is not a single statement, or names something that does not exist.
    pub async fn prepare(&self, text: &str) -> Result<ProgramStatement> {
        let prepared = self.prepare_unnamed(text).await;
        prepared.map_err(|error| explain(self, text, 0..text.len(), error))
    }

    async fn prepare_unnamed(&self, text: &str) -> PlanResult<ProgramStatement> {
        let statement = parse_one(text)?;
        let none = Arc::new(Schema::empty());
        let text: Arc<str> = text.into();
        if let Some(prepared) = PreparedStatement::unnamed(&statement)? {
            let frame = Box::pin(self.check_prepared(&prepared, &text)).await?;
            let parameters = Arc::new(parameters(frame.logical_plan())?);
            let columns = Arc::clone(frame.schema().inner());
            return Ok(ProgramStatement { text, prepared: Some(Arc::new(prepared)), parameters, columns });
        }
        let columns = match shows(&statement) {
            true => Arc::clone(Box::pin(self.run_parsed(statement, &text)).await?.schema().inner()),
            false => Arc::clone(&none),
        };
        Ok(ProgramStatement { text, prepared: None, parameters: none, columns })
    }

    /// Plans a statement with these values of its parameters.
    ///
    /// # Errors
    /// As [`plan_text`](Self::plan_text), and if there are more or fewer values than parameters, or a value cannot be written in a statement.
    pub async fn plan_with_values(
        &self,
        statement: &ProgramStatement,
        values: &[ScalarValue],
        stop: &Stop,
    ) -> Result<StatementPlan> {
        let (expected, text) = (statement.parameters.fields().len(), &statement.text);
        let Some(prepared) = statement.prepared.as_ref().filter(|_| expected > 0 || !values.is_empty()) else {
            return self.plan_text(text, stop).await;
        };
        let planned = async {
            if values.len() != expected {
                return plan_err!(
                    "the statement has {expected} parameters, and {} values are given; give one for each",
                    values.len()
                );
            }
            let values = values.iter().map(literal).collect::<PlanResult<Vec<_>>>()?;
            let frame = Box::pin(self.run_parsed(prepared.with_values(&values)?, text)).await?;
            StatementPlan::new(frame, true).await
        };
        // Places in a text with values are none of the text with parameters.
        let explained = |error| explain(self, text, 0..text.len(), without_place(error));
        stop.run(planned).await?.map_err(explained)
    }
}

/// Whether planning a statement that takes no parameters has no effect.
fn shows(statement: &Statement) -> bool {
    match statement {
        Statement::Explain(_) => true,
        Statement::Statement(statement) => matches!(
            statement.as_ref(),
            SqlStatement::Explain { .. }
                | SqlStatement::ExplainTable { .. }
                | SqlStatement::ShowTables { .. }
                | SqlStatement::ShowColumns { .. }
                | SqlStatement::ShowVariable { .. }
                | SqlStatement::ShowFunctions { .. }
                | SqlStatement::ShowCreate { .. }
                | SqlStatement::ShowSchemas { .. }
                | SqlStatement::ShowDatabases { .. }
        ),
        _ => false,
    }
}

/// The parameters of a plan in the order of their numbers.
fn parameters(plan: &LogicalPlan) -> PlanResult<Schema> {
    let mut numbered = Vec::new();
    for (name, field) in plan.get_parameter_fields()? {
        let number =
            name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok()).filter(|number| *number > 0);
        let Some(number) = number else {
            return plan_err!("the statement has the parameter {name}; call parameters $1, $2 and so on, or write ?");
        };
        numbered.push((number, field.map_or(DataType::Null, |field| field.data_type().clone())));
    }
    numbered.sort_by_key(|(number, _)| *number);
    let count = numbered.last().map_or(0, |(number, _)| *number);
    let mut fields: Vec<_> = (1..=count).map(|number| Field::new(format!("${number}"), DataType::Null, true)).collect();
    for (number, data_type) in numbered {
        fields[number - 1].set_data_type(data_type);
    }
    Ok(Schema::new(fields))
}
