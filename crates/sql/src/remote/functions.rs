//! Writes functions as their name and what makes them differ from the function that sessions register under that name.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

use crate::rewrite::own_functions::{aggregate_form, aggregate_function, scalar_form, scalar_function};
use crate::rewrite::plain_function;
use crate::session::Session;

/// The functions that every session registers.
#[derive(Clone)]
pub(super) struct Functions {
    scalars: Arc<HashMap<String, Arc<ScalarUDF>>>,
    aggregates: Arc<HashMap<String, Arc<AggregateUDF>>>,
}

impl Functions {
    /// Takes the functions of a session that nothing was added to.
    pub(super) fn of(session: &Session) -> Self {
        let state = session.context().state();
        Self {
            scalars: Arc::new(
                state
                    .scalar_functions()
                    .iter()
                    .map(|(name, function)| (name.clone(), Arc::clone(plain_function(function))))
                    .collect(),
            ),
            aggregates: Arc::new(state.aggregate_functions().clone()),
        }
    }

    /// The written form of a function; empty for a registered one. `None` for functions that only the session knows.
    pub(super) fn scalar_form(&self, function: &ScalarUDF) -> Option<String> {
        let registered = self.scalars.get(function.name());
        if registered.is_some_and(|known| **known == *function) {
            return Some(String::new());
        }
        scalar_form(function, registered)
    }

    /// The function of a written form.
    pub(super) fn scalar(&self, name: &str, form: &str) -> Result<Arc<ScalarUDF>> {
        let registered = self.scalars.get(name);
        let function = if form.is_empty() { registered.cloned() } else { scalar_function(name, form, registered) };
        function.map_or_else(|| unknown(name), Ok)
    }

    /// The written form of an aggregate function, as [`scalar_form`](Self::scalar_form).
    pub(super) fn aggregate_form(&self, function: &AggregateUDF) -> Option<String> {
        let registered = self.aggregates.get(function.name());
        if registered.is_some_and(|known| **known == *function) {
            return Some(String::new());
        }
        aggregate_form(function).map(str::to_owned)
    }

    /// The aggregate function of a written form.
    pub(super) fn aggregate(&self, name: &str, form: &str) -> Result<Arc<AggregateUDF>> {
        let registered = self.aggregates.get(name);
        let function = if form.is_empty() { registered.cloned() } else { aggregate_function(name, form) };
        function.map_or_else(|| unknown(name), Ok)
    }
}

fn unknown<T>(name: &str) -> Result<T> {
    plan_err!(
        "the plan calls the function {name}, which this process does not know in that form: run the same version of Lath everywhere"
    )
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions").finish_non_exhaustive()
    }
}
