//! Filters from decoded rows to wanted rows.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_select::filter::{FilterBuilder, FilterPredicate};

use crate::error::{Error, Result};
use crate::scan::rows::Mask;

/// The filters of a window, each made once for all columns that need it.
#[derive(Debug, Default)]
pub(super) struct Filters(Vec<Filter>);

#[derive(Debug)]
pub(super) struct Filter {
    held: Arc<Mask>,
    rows: Arc<Mask>,
    /// `rows`, relative to the rows in `held`.
    mask: Mask,
    /// For arrays without a faster filter.
    predicate: OnceCell<FilterPredicate>,
}

impl Filter {
    pub(super) fn mask(&self) -> &Mask {
        &self.mask
    }

    pub(super) fn filter(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let predicate = self.predicate.get_or_init(|| FilterBuilder::new(&self.mask.to_array()).optimize().build());
        predicate.filter(array).map_err(|error| Error::from_arrow(&error))
    }
}

impl Filters {
    /// The filter from arrays of the rows in `held` to arrays of `rows`.
    pub(super) fn get(&mut self, held: &Arc<Mask>, rows: &Arc<Mask>) -> Result<&Filter> {
        let is_it = |filter: &Filter| Arc::ptr_eq(&filter.held, held) && Arc::ptr_eq(&filter.rows, rows);
        let index = match self.0.iter().position(is_it) {
            Some(index) => index,
            None => {
                let mask = rows.within(held)?;
                let (held, rows) = (Arc::clone(held), Arc::clone(rows));
                self.0.push(Filter { held, rows, mask, predicate: OnceCell::new() });
                self.0.len() - 1
            }
        };
        Ok(&self.0[index])
    }

    /// Drops the filters of the previous window.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
