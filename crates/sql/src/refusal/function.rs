//! Function calls and their windows.

use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Spanned,
    WindowFrame, WindowSpec, WindowType,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::{CheckResult, Clauses};
use crate::dialect::error_at;

impl Clauses<'_> {
    pub(super) fn function(&self, function: &Function) -> CheckResult {
        let Function {
            name,
            uses_odbc_syntax: _,
            parameters,
            args: _,
            filter: _,
            null_treatment: _,
            over,
            within_group,
        } = function;
        let after = name.span();
        let has_parameters = !matches!(parameters, FunctionArguments::None);
        self.refuse_if(has_parameters, &name.to_string(), after, "write all arguments in one pair of parentheses")?;
        self.order_exprs(within_group)?;
        match over {
            Some(WindowType::WindowSpec(spec)) => {
                let WindowSpec { window_name: _, partition_by: _, order_by, window_frame } = spec;
                if let Some(WindowFrame { units: _, start_bound: _, end_bound: _ }) = window_frame {}
                self.order_exprs(order_by)
            }
            Some(WindowType::NamedWindow(_)) | None => Ok(()),
        }
    }
}

/// Refuses FILTER, OVER and similar clauses after a scalar function.
pub(super) fn refuse_scalar(function: &Function, is_scalar: impl Fn(&str) -> bool) -> Result<(), ParserError> {
    let mut clause = None;
    if function.over.is_some() {
        clause = Some("OVER");
    } else if function.filter.is_some() {
        clause = Some("FILTER");
    } else if !function.within_group.is_empty() {
        clause = Some("WITHIN GROUP");
    } else if function.null_treatment.is_some() {
        clause = Some("IGNORE NULLS");
    } else if let FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args: _, clauses }) =
        &function.args
    {
        if matches!(duplicate_treatment, Some(DuplicateTreatment::Distinct)) {
            clause = Some("DISTINCT");
        } else if clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_))) {
            clause = Some("ORDER BY");
        } else if !clauses.is_empty() {
            clause = Some("a clause in the arguments");
        }
    }
    let Some(clause) = clause else { return Ok(()) };
    let name = function.name.to_string();
    if !is_scalar(&name.to_lowercase()) {
        return Ok(());
    }
    let message = format!("{clause} is for aggregates and window functions, and {name} is neither; leave it out");
    Err(error_at(&message, function.name.span().start))
}
