//! Names of constraints.

use std::collections::BTreeSet;

use lath_table::Constraint;

/// The names of CHECK constraints.
pub(super) fn check_names(constraints: &[Constraint]) -> BTreeSet<String> {
    let name = |constraint: &Constraint| match constraint {
        Constraint::Check { name, .. } => Some(name.clone()),
        _ => None,
    };
    constraints.iter().filter_map(name).collect()
}

pub(super) fn free_name(base: String, taken: &BTreeSet<String>) -> String {
    if !taken.contains(&base) {
        return base;
    }
    (1_u64..).map(|number| format!("{base}{number}")).find(|name| !taken.contains(name)).unwrap_or(base)
}
