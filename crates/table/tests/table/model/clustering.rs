//! Random orders of files.

use lath_table::{Error, Table};
use lath_testkit::Seeded;

use super::History;
use super::schema::{Columns, Origin};

/// Up to two columns of a table, by their positions.
pub(super) fn random_places(columns: &Columns, random: &mut Seeded) -> Vec<usize> {
    (0..random.usize(..3)).map(|_| random.usize(..columns.len())).collect()
}

/// The origins of these columns, if files can be sorted by them.
fn sort_order(columns: &Columns, places: &[usize]) -> Option<Vec<Origin>> {
    let is_distinct = places.iter().enumerate().all(|(at, place)| !places[..at].contains(place));
    let is_allowed = is_distinct && !places.iter().any(|&place| columns.data_type(place).is_nested());
    is_allowed.then(|| places.iter().map(|&place| columns.origin(place).clone()).collect())
}

impl History {
    /// Changes the order of files written from then on, unless the columns have no order.
    pub(super) fn cluster_by(&mut self) -> String {
        let places = random_places(&self.columns, &mut self.random);
        let names: Vec<&str> = places.iter().map(|&place| self.columns.name_at(place)).collect();
        let clustered = self.table().cluster_by(&names);
        let what = format!("cluster by {names:?}");
        match sort_order(&self.columns, &places) {
            Some(order) => {
                clustered.unwrap();
                self.cluster = order;
            }
            None => assert!(matches!(clustered, Err(Error::Schema { .. })), "{what}: {clustered:?}"),
        }
        what
    }

    /// Returns whether new files are sorted by the column at this position.
    pub(super) fn is_clustered_by(&self, place: usize) -> bool {
        self.cluster.contains(self.columns.origin(place))
    }

    pub(super) fn compare_clustering(&self, table: &Table) {
        let places = table.snapshot().unwrap().cluster_columns();
        assert!(places.iter().map(|&place| self.columns.origin(place)).eq(&self.cluster), "{:?}", self.steps);
    }
}
