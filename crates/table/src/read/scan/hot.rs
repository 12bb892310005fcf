//! Scans the hot rows on several threads: evaluates the condition and decodes the columns.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use arrow_select::filter::filter_record_batch;
use lath_parquet::{BatchFilter, Predicate};
use lath_store::Tree;

use crate::error::{Error, Result};
use crate::file::filter_columns;
use crate::records::TreeName;
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, TableSchema, as_type, batch};
use crate::view::{HotColumns, HotRows, View};

/// Batches that a thread decodes each time it starts. Starting a thread takes as long as decoding some hundred rows.
const BATCHES_PER_START: usize = 8;

/// Batches of the hot rows for which a condition is true, in the order of keys.
pub(crate) struct HotScan {
    columns: Arc<HotColumns>,
    filter: Option<BatchFilter>,
    /// The requested columns, followed by columns that only the condition needs.
    read: SchemaRef,
    /// Strings and binary may be dictionaries here.
    output: SchemaRef,
    threads: usize,
    /// Number of hot rows that were read.
    done: u64,
    ready: VecDeque<RecordBatch>,
}

impl HotScan {
    /// The columns at these places of the schema, as `output` has them.
    pub(crate) fn new(
        schema: &Arc<TableSchema>,
        columns: &[usize],
        output: &SchemaRef,
        predicate: Option<&Predicate>,
        threads: usize,
    ) -> Result<Self> {
        let filter = predicate.map(|predicate| predicate.filter(schema.arrow())).transpose()?;
        let mut columns = columns.to_vec();
        if let Some(filter) = &filter {
            let needed = filter_columns(filter, schema.arrow().fields());
            columns.extend(needed.into_iter().filter(|column| !columns.contains(column)).collect::<Vec<_>>());
        }
        let read = Arc::new(schema.arrow().project(&columns)?);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            columns: Arc::new(HotColumns::new(schema, &columns)?),
            filter,
            read,
            output: Arc::clone(output),
            threads: if threads == 0 { cores } else { threads.min(cores) },
            done: 0,
            ready: VecDeque::new(),
        })
    }

    /// The next batch, which has rows; `None` at the end.
    pub(crate) fn next(&mut self, view: &mut dyn View) -> Result<Option<RecordBatch>> {
        while self.ready.is_empty() {
            let Some(tree) = view.tree(TreeName::Hot)? else { break };
            let left = usize::try_from(tree.len()?.saturating_sub(self.done)).unwrap_or(usize::MAX);
            if left == 0 {
                break;
            }
            let batches = left.div_ceil(BATCH_ROWS).min(self.threads * BATCHES_PER_START);
            let first = self.done;
            self.done += left.min(batches * BATCH_ROWS) as u64;
            self.ready = self.read(tree, first, batches)?.into_iter().filter(|batch| batch.num_rows() > 0).collect();
        }
        Ok(self.ready.pop_front())
    }

    /// Decodes a number of batches, beginning with a row, on this and other threads.
    fn read(&self, tree: Tree<'_>, first: u64, batches: usize) -> Result<Vec<RecordBatch>> {
        let per_thread = batches.div_ceil(self.threads);
        let part = move |start: usize| {
            let batches = start..batches.min(start + per_thread);
            batches.map(|at| self.batch(tree, first + (at * BATCH_ROWS) as u64)).collect::<Result<Vec<_>>>()
        };
        std::thread::scope(|scope| {
            let others: Vec<_> =
                (per_thread..batches).step_by(per_thread).map(|start| scope.spawn(move || part(start))).collect();
            let mut all = part(0)?;
            for other in others {
                let failed = |_| Err(Error::internal("reading hot rows has failed"));
                all.extend(other.join().unwrap_or_else(failed)?);
            }
            Ok(all)
        })
    }

    /// The batch whose rows begin with this one.
    fn batch(&self, tree: Tree<'_>, first: u64) -> Result<RecordBatch> {
        let mut cursor = tree.cursor();
        cursor.nth(first)?;
        let mut rows = HotRows::new(Arc::clone(&self.columns));
        rows.fill(&mut cursor, &KeyRange::default(), BATCH_ROWS)?;
        let mut found = batch(&self.read, rows.decode()?, rows.len())?;
        if let Some(filter) = &self.filter {
            found = filter_record_batch(&found, &filter.evaluate(&found)?)?;
        }
        let wanted = found.columns().iter().zip(self.output.fields());
        let column = |(array, field): (&_, &FieldRef)| as_type(Arc::clone(array), field.data_type());
        batch(&self.output, wanted.map(column).collect::<Result<_>>()?, found.num_rows())
    }
}
