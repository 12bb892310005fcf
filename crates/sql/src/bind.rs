//! Binds a statement to one commit for all of its tables, and to one version of each external table of Delta Lake or Iceberg.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::LogicalPlan;
use lath_table::{DatabaseSnapshot, Snapshot, Table};

use crate::error::table_error;
use crate::files::{ExternalLake, LakePlace, LakeTable};
use crate::keyed::KeyedTable;
use crate::transaction::CurrentTransaction;

/// The commits that a statement reads.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    databases: Vec<(PathBuf, DatabaseSnapshot)>,
    /// The tables that are read at their newest commit, both attached and in databases.
    newest: Vec<(Table, Snapshot)>,
    /// The transaction of the session whose database has tables of the statement, and the number of the view that they are read in.
    transaction: Option<(Arc<CurrentTransaction>, Option<u64>)>,
}

/// Binds each table of a plan to the commit at which it is read.
pub(crate) fn bind(plan: LogicalPlan) -> Result<(LogicalPlan, Commits)> {
    let (mut commits, mut lakes) = (Commits::default(), Vec::new());
    let bound = plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let Ok(provider) = source_as_provider(&scan.source) else { return Ok(Transformed::no(node)) };
        let bound: Arc<dyn TableProvider> = if let Some(table) = provider.downcast_ref::<KeyedTable>() {
            Arc::new(table.bound(commits.snapshot(table)?)?)
        } else if let Some(lake) = provider.downcast_ref::<ExternalLake>() {
            lake_version(lake, &mut lakes)?
        } else {
            return Ok(Transformed::no(node));
        };
        let mut scan = scan.clone();
        scan.source = provider_as_source(bound);
        Ok(Transformed::new(LogicalPlan::TableScan(scan), true, TreeNodeRecursion::Continue))
    })?;
    Ok((bound.data, commits))
}

/// Returns the version at which a table is read.
fn lake_version(lake: &ExternalLake, known: &mut Vec<(LakePlace, Arc<LakeTable>)>) -> Result<Arc<LakeTable>> {
    if let Some((_, version)) = known.iter().find(|(place, _)| place == lake.place()) {
        return Ok(Arc::clone(version));
    }
    // Finding the version blocks, and this thread may belong to an asynchronous runtime.
    let version = thread::scope(|scope| scope.spawn(|| lake.version()).join());
    let version = Arc::new(version.map_err(|_| internal_datafusion_err!("opening a table panicked"))??);
    known.push((lake.place().clone(), Arc::clone(&version)));
    Ok(version)
}

impl Commits {
    /// Returns the commit at which a table is read.
    fn snapshot(&mut self, table: &KeyedTable) -> Result<Snapshot> {
        let snapshot = match table.database() {
            Some(database) => {
                let known = self.databases.iter().find(|(folder, _)| folder == database.folder());
                let commit = match known {
                    Some((_, commit)) => commit.clone(),
                    None => {
                        let view = table.view();
                        let number = view.as_ref().map(|view| view.number);
                        if let Some(transaction) = table.transaction() {
                            self.transaction = Some((Arc::clone(transaction), number));
                        }
                        let commit = match view {
                            Some(view) => view.snapshot,
                            None => database.snapshot().map_err(table_error)?,
                        };
                        self.databases.push((database.folder().to_owned(), commit.clone()));
                        commit
                    }
                };
                match table.earlier_state() {
                    Some(earlier) => earlier.read(&commit.contents(table.table()).map_err(table_error)?)?,
                    None => commit.table(table.name()).map_err(table_error)?,
                }
            }
            None => {
                let known = self.newest.iter().find(|(known, _)| known.folder() == table.table().folder());
                let newest = match known {
                    Some((_, snapshot)) => snapshot.clone(),
                    None => table.table().snapshot().map_err(table_error)?,
                };
                match table.earlier_state() {
                    Some(earlier) => return earlier.read(&newest),
                    None => newest,
                }
            }
        };
        let is_in_view =
            self.transaction.as_ref().is_some_and(|(_, number)| number.is_some()) && table.transaction().is_some();
        if table.earlier_state().is_none() && !is_in_view {
            self.newest.push((table.table().clone(), snapshot.clone()));
        }
        Ok(snapshot)
    }

    /// Whether these are still the newest commits.
    pub(crate) fn are_newest(&self) -> Result<bool> {
        if let Some((transaction, number)) = &self.transaction
            && transaction.view().map(|view| view.number) != *number
        {
            return Ok(false);
        }
        for (table, snapshot) in &self.newest {
            if table.snapshot().map_err(table_error)?.version() != snapshot.version() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
