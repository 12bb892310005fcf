//! A DataFusion data source for tables with a primary key.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::source::{DataSource, OpenArgs};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::stream::poll_fn;
use lath_table::{Key, Predicate, Snapshot, TableScan};

use crate::error::table_error;
use crate::scan::{can_rule_out, implied_predicate, with_schema};

/// A way to read a snapshot.
#[derive(Debug, Clone)]
pub(crate) enum Reading {
    /// A scan, whose batches the partitions share.
    Rows,
    /// The rows with these keys.
    Keys(Vec<Key>),
    /// The rows with these values in the first columns of an index.
    Index { name: String, values: Vec<Key> },
    /// The changes after a commit.
    Changes { since: u64 },
    /// The rows of an earlier state, and the changes after it.
    ChangesFrom { first: Box<Snapshot> },
    /// The changes that a consumer has not acknowledged.
    Consumer { name: String },
}

/// A data source that reads a snapshot.
#[derive(Debug, Clone)]
pub(crate) struct KeyedSource {
    pub(crate) name: String,
    pub(crate) snapshot: Snapshot,
    pub(crate) reading: Reading,
    /// The indices of the columns to read; `schema` is theirs.
    pub(crate) columns: Vec<usize>,
    pub(crate) schema: SchemaRef,
    pub(crate) predicate: Option<Predicate>,
    /// Conditions of operators above, most of them dynamic: a scan tests what they are when it begins.
    pub(crate) pushed_filters: Vec<Arc<dyn PhysicalExpr>>,
    pub(crate) partitions: usize,
    pub(crate) fetch: Option<usize>,
    pub(crate) statistics: Arc<Statistics>,
    pub(crate) metrics: ExecutionPlanMetricsSet,
}

type Batches = Box<dyn Iterator<Item = lath_table::Result<RecordBatch>> + Send>;

/// The batches of one execution. Its partitions take them in turn; threads of the scan decode them.
struct SharedBatches(Mutex<ScanState>);

enum ScanState {
    /// Not started yet.
    Waiting(Box<KeyedSource>),
    Reading(Batches),
    Ended,
}

impl SharedBatches {
    fn next(&self) -> Result<Option<RecordBatch>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let ScanState::Waiting(source) = &*state {
            let begun = source.begin();
            *state = match begun {
                Ok(batches) => ScanState::Reading(batches),
                Err(error) => {
                    *state = ScanState::Ended;
                    return Err(table_error(error));
                }
            };
        }
        let ScanState::Reading(batches) = &mut *state else { return Ok(None) };
        let next = batches.next().transpose();
        if !matches!(next, Ok(Some(_))) {
            *state = ScanState::Ended;
        }
        next.map_err(table_error)
    }
}

impl KeyedSource {
    /// The scan of the rows.
    pub(crate) fn scan(&self) -> TableScan<'static> {
        let names = self.columns.iter().map(|&column| self.snapshot.schema().field(column).name().clone());
        let scan = self.snapshot.scan().select(names).limit(self.fetch.map_or(u64::MAX, |fetch| fetch as u64));
        self.predicate.iter().cloned().fold(scan, TableScan::predicate)
    }

    fn begin(&self) -> lath_table::Result<Batches> {
        Ok(match &self.reading {
            Reading::Rows => {
                let pushed = self.pushed_filters.iter().filter_map(|filter| implied_predicate(filter, &self.schema));
                Box::new(pushed.fold(self.scan(), TableScan::predicate).build()?)
            }
            Reading::Keys(keys) => {
                let found = self.snapshot.get_many(keys.as_slice())?.rows().clone();
                Box::new(self.first_rows(std::iter::once(Ok(found))))
            }
            Reading::Index { name, values } => {
                let (snapshot, name) = (self.snapshot.clone(), name.clone());
                let found = values.clone().into_iter().map(move |values| snapshot.get_by_index(&name, values));
                Box::new(self.first_rows(found))
            }
            Reading::Changes { since } => Box::new(self.first_rows(self.snapshot.changes(*since)?)),
            Reading::ChangesFrom { first } => Box::new(self.first_rows(self.snapshot.changes_from(first)?)),
            Reading::Consumer { name } => Box::new(self.first_rows(self.snapshot.consume(name)?)),
        })
    }

    /// Projects the columns of the source and stops at the limit.
    fn first_rows<B>(&self, batches: B) -> impl Iterator<Item = lath_table::Result<RecordBatch>> + use<B>
    where
        B: Iterator<Item = lath_table::Result<RecordBatch>>,
    {
        let columns = self.columns.clone();
        let mut left = self.fetch.unwrap_or(usize::MAX);
        batches.map_while(move |batch| {
            (left > 0).then(|| {
                let batch = batch?;
                let row_count = batch.num_rows().min(left);
                left -= row_count;
                Ok(batch.project(&columns)?.slice(0, row_count))
            })
        })
    }
}

impl DataSource for KeyedSource {
    fn open(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.open_with_args(OpenArgs::new(partition, context))
    }

    fn create_sibling_state(&self, _: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(SharedBatches(Mutex::new(ScanState::Waiting(Box::new(self.clone()))))))
    }

    fn open_with_args(&self, args: OpenArgs) -> Result<SendableRecordBatchStream> {
        let shared = args.sibling_state.and_then(|state| state.downcast::<SharedBatches>().ok());
        // Without shared state, the first partition reads all rows.
        let state = if args.partition == 0 { ScanState::Waiting(Box::new(self.clone())) } else { ScanState::Ended };
        let batches = shared.unwrap_or_else(|| Arc::new(SharedBatches(Mutex::new(state))));
        let baseline = BaselineMetrics::new(&self.metrics, args.partition);
        let schema = Arc::clone(&self.schema);
        let rows = poll_fn(move |_| {
            let timer = baseline.elapsed_compute().timer();
            let next = batches.next().and_then(|batch| batch.map(|batch| with_schema(&batch, &schema)).transpose());
            drop(timer);
            baseline.record_poll(Poll::Ready(next.transpose()))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows)))
    }

    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.reading {
            Reading::Rows => String::new(),
            Reading::Keys(keys) => format!(", keys={}", keys.len()),
            Reading::Index { name, values } => format!(", index={name}, values={}", values.len()),
            Reading::Changes { since } => format!(", changes since={since}"),
            Reading::ChangesFrom { first } => format!(", changes from={}", first.version()),
            Reading::Consumer { name } => format!(", consumer={name}"),
        };
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
                write!(f, "lath, table={}{what}, columns=[{}]", self.name, columns.join(", "))?;
                write!(f, ", partitions={}", self.partitions)?;
                if let Some(predicate) = &self.predicate {
                    write!(f, ", predicate={predicate}")?;
                }
                for condition in &self.pushed_filters {
                    write!(f, ", dynamic={condition}")?;
                }
                self.fetch.map_or(Ok(()), |limit| write!(f, ", fetch={limit}"))
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "format=lath")?;
                writeln!(f, "table={}{what}", self.name)?;
                self.predicate.as_ref().map_or(Ok(()), |predicate| writeln!(f, "predicate={predicate}"))
            }
        }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions)
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.schema))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(match partition {
            None => Arc::clone(&self.statistics),
            // Batches are assigned to partitions while the query runs.
            Some(_) => Arc::new(Statistics::new_unknown(&self.schema)),
        })
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        Some(Arc::new(Self { fetch: limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    fn try_swapping_with_projection(&self, _: &ProjectionExprs) -> Result<Option<Arc<dyn DataSource>>> {
        Ok(None)
    }

    /// Keeps every condition that can rule out rows of a scan, and returns `No` for each, so that the operator above still evaluates it.
    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]);
        let is_used = |filter: &Arc<dyn PhysicalExpr>| {
            matches!(self.reading, Reading::Rows) && can_rule_out(filter, &self.schema)
        };
        let new: Vec<_> = filters.into_iter().filter(is_used).collect();
        if new.is_empty() {
            return Ok(propagation);
        }
        let pushed_filters = self.pushed_filters.iter().cloned().chain(new).collect();
        let source: Arc<dyn DataSource> = Arc::new(Self { pushed_filters, ..self.clone() });
        Ok(propagation.with_updated_node(source))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for condition in &self.pushed_filters {
            if f(condition)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}
