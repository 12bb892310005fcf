//! Names that a statement may use, for suggestions.

use std::collections::BTreeSet;

use datafusion::execution::FunctionRegistry;

use crate::session::Session;

pub(crate) fn table_names(session: &Session) -> Vec<String> {
    let context = session.context();
    let mut names = BTreeSet::new();
    // Attached catalogs are not asked: they may take long to answer.
    let own = |name: &&String| session.catalogs().attached(name).is_none();
    for catalog in context.catalog_names().iter().filter(own).filter_map(|name| context.catalog(name)) {
        for schema in catalog.schema_names().iter().filter(|name| *name != "information_schema") {
            names.extend(catalog.schema(schema).map(|schema| schema.table_names()).unwrap_or_default());
        }
    }
    names.into_iter().collect()
}

pub(crate) fn function_names(session: &Session) -> Vec<String> {
    let state = session.context().state();
    let names: BTreeSet<String> = state.udfs().into_iter().chain(state.udafs()).chain(state.udwfs()).collect();
    names.into_iter().collect()
}
