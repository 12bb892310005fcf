//! Refuses queries in WITH that are read more than once and whose rows differ from one computation to the next.
//!
//! DataFusion computes such a query for each of its uses, so that two uses would have different rows.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, Visit, Visitor, visit_expressions, visit_relations};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::{error_at, normal};

/// Checks all queries of a statement. `is_volatile` tells whether a function returns another value for each call.
pub(super) fn refuse_repeated(statement: &impl Visit, is_volatile: impl Fn(&str) -> bool) -> Result<(), ParserError> {
    match statement.visit(&mut Repetitions { is_volatile }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Repetitions<V> {
    is_volatile: V,
}

impl<V: Fn(&str) -> bool> Visitor for Repetitions<V> {
    type Break = ParserError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<ParserError> {
        let Some(with) = &query.with else { return ControlFlow::Continue(()) };
        let mut volatile: HashSet<String> = HashSet::new();
        for (at, table) in with.cte_tables.iter().enumerate() {
            let reads_volatile = || volatile.iter().any(|name| count_reads(table.query.as_ref(), name) > 0);
            if !self.calls_volatile(&table.query) && !reads_volatile() {
                continue;
            }
            let name = normal(&table.alias.name);
            let later = with.cte_tables[at + 1..].iter().map(|table| count_reads(table.query.as_ref(), &name));
            let reads = later.sum::<usize>() + count_reads(query.body.as_ref(), &name);
            if reads > 1 {
                let what = format!(
                    "{name} is read {reads} times, and each time its rows would be other ones, because a function returns another value for each \
                     call; CREATE TEMPORARY TABLE {name} AS … first, and read that"
                );
                return ControlFlow::Break(error_at(&what, table.alias.name.span.start));
            }
            volatile.insert(name);
        }
        ControlFlow::Continue(())
    }
}

impl<V: Fn(&str) -> bool> Repetitions<V> {
    fn calls_volatile(&self, query: &Query) -> bool {
        let found = visit_expressions(query, |expr| match expr {
            Expr::Function(function) if (self.is_volatile)(&function.name.to_string().to_ascii_lowercase()) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    }
}

/// How often a table is named.
fn count_reads(within: &impl Visit, name: &str) -> usize {
    let mut count = 0;
    let _: ControlFlow<()> = visit_relations(within, |relation| {
        if let [part] = relation.0.as_slice()
            && part.as_ident().is_some_and(|ident| normal(ident) == name)
        {
            count += 1;
        }
        ControlFlow::Continue(())
    });
    count
}
