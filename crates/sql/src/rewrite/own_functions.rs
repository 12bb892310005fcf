//! The functions that rules put into plans and that no session registers under their name. A plan for another process names them here.
//!
//! A function is written as its name and a *form*, which says what makes it differ from the function that is registered under the name.

use std::sync::Arc;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF};

use super::aggregates::{nested_extremes, ordered_list_function};
use super::float_order::{canonical_function, float_extremes};
use super::overflow::{arithmetic_functions, quotient_function};
use super::subquery::one_row_function;
use super::times::interval_length_function;
use super::values::nested::list_types::list_function;
use super::values::nested::maps::map_value_function;
use super::values::nested::nested_order::nested_order_functions;
use super::values::nested::null_lists::null_list_function;
use super::values::{coarse_moment_functions, round_to_even_function};

/// The form of functions that are listed here.
const OWN: &str = "own";
/// The form of registered functions over lists.
const LIST: &str = "list";
/// The form of lists of nulls; the name of the expression follows.
const NULLS: &str = "nulls ";
const FLOAT: &str = "float";
const NESTED: &str = "nested";
const ORDERED: &str = "ordered";

/// The function of a name and form; `registered` is the function that sessions register under the name.
pub(crate) fn scalar_function(name: &str, form: &str, registered: Option<&Arc<ScalarUDF>>) -> Option<Arc<ScalarUDF>> {
    match form {
        OWN => own_scalar_functions().into_iter().find(|function| function.name() == name).map(Arc::new),
        LIST => registered.map(|inner| Arc::new(list_function(Arc::clone(inner)))),
        _ => form.strip_prefix(NULLS).map(|replaced| Arc::new(null_list_function(replaced.to_owned()))),
    }
}

/// The form of a function that is not the registered one; `None` if it is not one of these.
pub(crate) fn scalar_form(function: &ScalarUDF, registered: Option<&Arc<ScalarUDF>>) -> Option<String> {
    let nulls = function.schema_name(&[]).map_or_else(|_| String::new(), |name| format!("{NULLS}{name}"));
    [OWN, LIST, nulls.as_str()]
        .into_iter()
        .find(|form| scalar_function(function.name(), form, registered).is_some_and(|known| *known == *function))
        .map(str::to_owned)
}

/// The aggregate function of a name and form.
pub(crate) fn aggregate_function(name: &str, form: &str) -> Option<Arc<AggregateUDF>> {
    let named = |functions: Vec<AggregateUDF>| functions.into_iter().find(|function| function.name() == name);
    match form {
        FLOAT => named(float_extremes().into()),
        NESTED => named(nested_extremes().into()),
        ORDERED => named(vec![ordered_list_function()]),
        _ => None,
    }
    .map(Arc::new)
}

/// The form of an aggregate function that is not the registered one; `None` if it is not one of these.
pub(crate) fn aggregate_form(function: &AggregateUDF) -> Option<&'static str> {
    let is_form = |form: &&str| aggregate_function(function.name(), form).is_some_and(|known| *known == *function);
    [FLOAT, NESTED, ORDERED].into_iter().find(is_form)
}

fn own_scalar_functions() -> Vec<ScalarUDF> {
    let single = [
        canonical_function(),
        interval_length_function(),
        map_value_function(),
        one_row_function(),
        round_to_even_function(),
    ];
    let several = arithmetic_functions().into_iter().chain([quotient_function()]).chain(nested_order_functions());
    single.into_iter().chain(several).chain(coarse_moment_functions()).collect()
}
