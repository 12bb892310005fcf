//! Conditions that Lath evaluates in part, and pyarrow or polars the rest, batch by batch.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{iter, thread};

use arrow_select::filter::FilterBuilder;
use lath::Predicate;
use lath::arrow::array::cast::AsArray;
use lath::arrow::array::{
    Array, ArrayRef, BooleanArray, GenericListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions, StructArray,
};
use lath::arrow::buffer::BooleanBufferBuilder;
use lath::arrow::schema::{DataType, Schema, SchemaRef, TimeUnit};
use lath_pyo3::capsule;
use lath_pyo3::error::Failure;
use lath_pyo3::work;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use super::expression::PyPredicate;
use crate::arrow::PyBatch;

/// A condition on the rows of a scan.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    /// The condition that Lath tests; without one, every row passes.
    pub(crate) predicate: Option<Predicate>,
    pub(crate) residual: Option<Residual>,
}

/// A test by another library of the rows that Lath has found.
#[derive(Debug, Clone)]
pub(crate) struct Residual {
    /// The columns that it needs.
    columns: Arc<[String]>,
    /// Makes a column of booleans from a batch of these columns.
    test: Arc<Py<PyAny>>,
    /// Number of threads that test.
    threads: usize,
}

impl Condition {
    /// SQL text, a condition of Lath, or an expression of pyarrow or polars, on rows of `schema`.
    pub(crate) fn of(condition: Option<&Bound<'_, PyAny>>, schema: &Schema) -> PyResult<Self> {
        let Some(condition) = condition else { return Ok(Self::default()) };
        if let Some(condition) = Self::from_other_library(condition, schema)? {
            return Ok(condition);
        }
        let predicate = PyPredicate::of(condition)?.predicate();
        predicate.filter(schema).map_err(Failure::predicate)?;
        Ok(Self { predicate: Some(predicate), residual: None })
    }

    fn from_other_library(condition: &Bound<'_, PyAny>, schema: &Schema) -> PyResult<Option<Self>> {
        if PyPredicate::is_of_lath(condition) {
            return Ok(None);
        }
        let py = condition.py();
        let mut kinds: HashMap<&String, Vec<&str>> = HashMap::new();
        for field in schema.fields() {
            let mut own = Vec::new();
            add_kinds(field.data_type(), &mut own);
            if !own.is_empty() {
                kinds.insert(field.name(), own);
            }
        }
        let split = py.import("lath._residual")?.call_method1("split", (condition, kinds))?;
        let Some((predicate, is_whole, rest)) =
            split.extract::<Option<(Option<Py<PyPredicate>>, bool, Py<PyAny>)>>()?
        else {
            return Ok(None);
        };
        let predicate = predicate.map(|predicate| predicate.get().predicate());
        let refused = predicate.as_ref().and_then(|predicate| predicate.filter(schema).err()).map(Failure::predicate);
        if is_whole && refused.is_none() {
            return Ok(Some(Self { predicate, residual: None }));
        }
        let (columns, test) = rest.call0(py)?.extract(py)?;
        // The library may compare values that Lath does not. Lath reports an unknown column, because its error lists the columns.
        let predicate = predicate.filter(|_| refused.is_none());
        let residual = Residual::new(columns, test, schema).map_err(|missing| refused.unwrap_or(missing))?;
        Ok(Some(Self { predicate, residual: Some(residual) }))
    }
}

/// Collects types whose values other libraries compare inexactly.
fn add_kinds(data_type: &DataType, kinds: &mut Vec<&'static str>) {
    match data_type {
        DataType::Float16 | DataType::Float32 => kinds.push("narrow float"),
        DataType::Float64 => kinds.push("float"),
        decimal if decimal.is_decimal() => kinds.push("decimal"),
        DataType::Int64 | DataType::UInt64 => kinds.push("long"),
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => {
            kinds.push("coarse time");
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => kinds.push("nanoseconds"),
        DataType::Struct(fields) => fields.iter().for_each(|field| add_kinds(field.data_type(), kinds)),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => add_kinds(item.data_type(), kinds),
        DataType::Dictionary(_, values) => add_kinds(values, kinds),
        _ => {}
    }
}

impl Residual {
    fn new(columns: Option<Vec<String>>, test: Py<PyAny>, schema: &Schema) -> Result<Self, Failure> {
        let all = || schema.fields().iter().map(|field| field.name());
        if let Some(missing) = columns.iter().flatten().find(|&name| all().all(|other| other != name)) {
            return Err(Failure::invalid(format!("where: there is no column {missing:?}")));
        }
        let columns = columns.unwrap_or_else(|| all().cloned().collect());
        Ok(Self { columns: columns.into(), test: Arc::new(test), threads: 1 })
    }

    /// Sets the number of threads that test if all rows are requested.
    pub(crate) fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The columns to read for a scan that gives `columns`.
    pub(crate) fn and_columns(&self, columns: &[String]) -> Vec<String> {
        let more = self.columns.iter().filter(|name| !columns.contains(name));
        columns.iter().chain(more).cloned().collect()
    }

    /// The test of batches of the schema `read` for a scan that gives the columns of `schema`, and at most `limit` rows.
    ///
    /// # Errors
    /// If the library refuses to test such rows.
    pub(crate) fn tester(&self, read: &SchemaRef, schema: &SchemaRef, limit: u64) -> Result<Tester, Failure> {
        let place = |name: &String| {
            let place = read.fields().iter().position(|field| field.name() == name);
            place.ok_or_else(|| Failure::bug(format!("column {name:?} was not read")))
        };
        let inputs = self.columns.iter().map(place).collect::<Result<_, _>>()?;
        let outputs = if schema.fields().len() == read.fields().len() {
            // Columns may have equal names.
            (0..read.fields().len()).collect()
        } else {
            schema.fields().iter().map(|field| place(field.name())).collect::<Result<_, _>>()?
        };
        let tester = Tester { residual: self.clone(), inputs, outputs, schema: Arc::clone(schema), left: limit };
        tester.found(&RecordBatch::new_empty(Arc::clone(read)))?;
        Ok(tester)
    }
}

/// The next batch, as `tester` leaves it.
pub(crate) fn next_tested<E: Into<Failure>>(
    batches: &mut impl Iterator<Item = Result<RecordBatch, E>>,
    tester: Option<&mut Tester>,
) -> Option<Result<RecordBatch, Failure>> {
    let Some(tester) = tester else { return Some(batches.next()?.map_err(Into::into)) };
    while !tester.is_done() {
        match batches.next()?.map_err(Into::into).and_then(|batch| tester.filter(&batch)) {
            Ok(batch) if batch.num_rows() == 0 => {}
            batch => return Some(batch),
        }
    }
    None
}

/// All batches, as `tester` leaves them, in order. Without a limit, several threads test them.
pub(crate) fn all_tested<E: Into<Failure>>(
    mut batches: impl Iterator<Item = Result<RecordBatch, E>> + Send,
    mut tester: Option<Tester>,
) -> Result<Vec<RecordBatch>, Failure> {
    let Some(tester) = tester.take_if(|tester| tester.left == u64::MAX && tester.residual.threads > 1) else {
        return iter::from_fn(|| next_tested(&mut batches, tester.as_mut())).collect();
    };
    let (batches, has_failed) = (Mutex::new(batches.enumerate()), AtomicBool::new(false));
    let some = || {
        let (mut tester, mut some) = (tester.clone(), Vec::new());
        while !has_failed.load(Ordering::Relaxed) {
            let next = batches.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((place, batch)) = next else { break };
            some.push((place, tester.filter(&batch.map_err(Into::into)?)?));
        }
        Ok(some)
    };
    let guarded = || {
        let some = work::guard(some);
        has_failed.fetch_or(some.is_err(), Ordering::Relaxed);
        some
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..tester.residual.threads).map(|_| scope.spawn(guarded)).collect();
        let mut all = guarded();
        for other in others {
            let other = other.join().unwrap_or_else(|_| Err(Failure::bug("a thread ended without a result")));
            // The first failure is returned.
            all = all.and_then(|mut all| {
                all.extend(other?);
                Ok(all)
            });
        }
        all
    })?;
    all.sort_unstable_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, batch)| batch).filter(|batch| batch.num_rows() > 0).collect())
}

/// Tests the batches of a scan.
#[derive(Debug, Clone)]
pub(crate) struct Tester {
    residual: Residual,
    /// The columns for the test, and the columns that the scan returns.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    schema: SchemaRef,
    /// Number of rows left to return.
    left: u64,
}

impl Tester {
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether the limit of rows is reached.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// The rows for which the condition is true, up to the limit.
    pub(crate) fn filter(&mut self, batch: &RecordBatch) -> Result<RecordBatch, Failure> {
        let filter = FilterBuilder::new(&self.found(batch)?).optimize().build();
        let count = usize::try_from(self.left).map_or(filter.count(), |left| filter.count().min(left));
        self.left -= count as u64;
        let columns = self.outputs.iter().zip(self.schema.fields()).map(|(&place, field)| {
            let column = filter.filter(batch.column(place))?.slice(0, count);
            narrow(&column, field.data_type())
        });
        let columns = columns.collect::<Result<Vec<_>, Failure>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    fn found(&self, batch: &RecordBatch) -> Result<BooleanArray, Failure> {
        let inputs = batch.project(&self.inputs)?;
        let test = |py: Python<'_>| -> PyResult<Vec<RecordBatch>> {
            let result = self.residual.test.bind(py).call1((PyBatch::new(inputs),))?;
            let reader = capsule::reader_in(&result)?;
            if reader.schema().fields().iter().any(|field| field.data_type() != &DataType::Boolean) {
                return Err(Failure::invalid("the expression is neither true nor false").into());
            }
            reader.collect::<Result<Vec<_>, _>>().map_err(|error| Failure::from(error).into())
        };
        let found = work::attach(|py| {
            test(py).map_err(|raised| match raised.is_instance_of::<PyKeyboardInterrupt>(py) {
                true => Failure::interrupted(),
                false => Failure::invalid(format!("where: {}", raised.value(py))),
            })
        })?;
        let mut bits = BooleanBufferBuilder::new(batch.num_rows());
        for part in &found {
            let Some(part) = part.columns().first().and_then(|column| column.as_boolean_opt()) else { continue };
            match part.nulls() {
                // A row whose test is null is not found.
                Some(nulls) => bits.append_buffer(&(part.values() & nulls.inner())),
                None => bits.append_buffer(part.values()),
            }
        }
        if bits.len() != batch.num_rows() {
            let message = format!("where: the expression has {} values for {} rows", bits.len(), batch.num_rows());
            return Err(Failure::invalid(message));
        }
        Ok(BooleanArray::new(bits.finish(), None))
    }
}

/// The fields of a column that a scan returns, if the test needs more fields.
fn narrow(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    if column.data_type() == to {
        return Ok(Arc::clone(column));
    }
    match to {
        DataType::Struct(fields) => {
            let Some(all) = column.as_struct_opt() else { return Err(not_narrowed(to)) };
            let columns = fields.iter().map(|field| {
                narrow(all.column_by_name(field.name()).ok_or_else(|| not_narrowed(to))?, field.data_type())
            });
            let columns = columns.collect::<Result<_, _>>()?;
            let nulls = all.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, all.len())?))
        }
        DataType::List(_) => narrow_list::<i32>(column, to),
        DataType::LargeList(_) => narrow_list::<i64>(column, to),
        _ => Err(not_narrowed(to)),
    }
}

fn narrow_list<O: OffsetSizeTrait>(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, Failure> {
    let (Some(list), DataType::List(item) | DataType::LargeList(item)) = (column.as_list_opt::<O>(), to) else {
        return Err(not_narrowed(to));
    };
    let values = narrow(list.values(), item.data_type())?;
    let list = GenericListArray::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned());
    Ok(Arc::new(list?))
}

fn not_narrowed(to: &DataType) -> Failure {
    Failure::invalid(format!("columns: the condition needs more than {to} of a column: read the whole column"))
}
