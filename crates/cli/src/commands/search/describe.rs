//! `describe`: the values of each column in figures, by queries over some of them at a time.

use std::collections::HashMap;
use std::iter;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::Predicate;
use lath_sql::{BlockingSession, LathTable};
use lath_text::{CellFormatter, encoder_options, in_utc};

use crate::args::DescribeArgs;
use crate::commands::column_path::ColumnPath;
use crate::commands::engine::{InputTable, TABLE, failed, register_columns, watch};
use crate::console::progress::Progress;
use crate::failure::{Failure, Outcome, Result};
use crate::input::inputs::Inputs;
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::cores;
use crate::input::table::Table;
use crate::output::Output;

/// Writes a row for each column.
pub(in crate::commands) fn run(args: &DescribeArgs) -> Result<Outcome> {
    let output = Output::new(&args.output)?;
    let predicate = args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?;
    let predicate = predicate.unwrap_or(Predicate::TRUE);
    let table = match KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        Some(keyed) => InputTable::keyed(keyed, predicate)?,
        None => {
            let mut inputs = Inputs::find(&args.inputs)?.with_text(&args.text, None)?;
            InputTable::Files(Table::open(&mut inputs, args.table)?.with_condition(predicate)?)
        }
    };
    let schema = table.schema();
    let columns: Vec<ColumnPath> = match &args.columns {
        Some(paths) => paths.iter().map(|path| ColumnPath::find(path, schema, "--columns")).collect::<Result<_>>()?,
        None => schema.fields().iter().map(ColumnPath::of).collect(),
    };
    let leaves: Vec<Leaf> = columns.into_iter().flat_map(nested_leaves).collect();
    let (threads, memory) = (args.engine.threads.map(usize::from), args.engine.memory);
    let (session, rows) = table.session_and_rows(threads, memory)?;
    // One query over very many columns takes more time than queries over some of them.
    let leaves_a_query = if leaves.len() <= ONE_QUERY_LEAVES { ONE_QUERY_LEAVES } else { LEAVES_A_QUERY };
    let parts: Vec<Range<usize>> = match leaves.len() {
        0 => iter::once(0..0).collect(),
        count => (0..count).step_by(leaves_a_query).map(|at| at..count.min(at + leaves_a_query)).collect(),
    };
    let figures = if let [part] = parts.as_slice() {
        query(&session, TABLE, &leaves, part.clone(), true)?
    } else {
        query_parts(&session, rows.as_ref(), &leaves, &parts, threads.unwrap_or_else(cores))?
    };
    let rows = description(&leaves, &figures)?;
    let mut sink = output.open_presorted(&rows.schema())?;
    sink.write(&rows)?;
    sink.finish()?;
    Ok(Outcome::Done)
}

/// Maximum number of columns that one query is about. Planning takes time in proportion to the square of the number: 9.5 s for 400.
const ONE_QUERY_LEAVES: usize = 32;
/// Number of columns that each of several queries is about.
const LEAVES_A_QUERY: usize = 8;
const ROW_COUNT: &str = "row_count";

/// Queries the parts of `leaves` on several threads, since planning takes most of the time: 9 ms of 10 for 8 columns of 1,000 rows.
fn query_parts(
    session: &BlockingSession,
    rows: Option<&Arc<LathTable>>,
    leaves: &[Leaf],
    parts: &[Range<usize>],
    threads: usize,
) -> Result<Figures> {
    let next = AtomicUsize::new(0);
    let progress = Mutex::new(Progress::new("columns", leaves.len() as u64, false));
    let work = || -> Result<Figures> {
        let mut figures = Figures::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number).cloned() else { return Ok(figures) };
            let columns = part.len() as u64;
            let answered = match rows {
                Some(rows) => {
                    let name = format!("{TABLE}_{number}");
                    let names: Vec<&str> = leaves[part.clone()].iter().map(|leaf| leaf.column.column()).collect();
                    register_columns(session, rows, &name, &names)?;
                    query(session, &name, leaves, part, false)
                }
                None => query(session, TABLE, leaves, part, false),
            };
            // The other threads need not go on.
            figures.0.extend(answered.inspect_err(|_| next.store(parts.len(), Ordering::Relaxed))?.0);
            progress.lock().unwrap_or_else(PoisonError::into_inner).advance(columns);
        }
    };
    let answered = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(parts.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect::<Vec<_>>()
    });
    progress.into_inner().unwrap_or_else(PoisonError::into_inner).clear();
    let mut figures = Figures::default();
    for answered in answered {
        figures.0.extend(answered?.0);
    }
    Ok(figures)
}

/// The figures of the columns of one part, which are columns of `table`.
fn query(
    session: &BlockingSession,
    table: &str,
    leaves: &[Leaf],
    part: Range<usize>,
    watched: bool,
) -> Result<Figures> {
    let selected = part.flat_map(|index| leaves[index].figures(index));
    let selected: Vec<String> = [format!("count(*) AS {ROW_COUNT}")].into_iter().chain(selected).collect();
    let answer = session.run(&format!("SELECT {} FROM {table}", selected.join(", "))).map_err(failed)?;
    let watch = watched.then(|| watch(&answer));
    let answered = answer.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    drop(watch);
    let Some(row) = answered.into_iter().find(|batch| batch.num_rows() == 1) else {
        return Err(Failure::internal("describe", "the query has no answer"));
    };
    let schema = row.schema();
    let names = schema.fields().iter().map(|field| field.name().clone());
    Ok(Figures(names.zip(row.columns().iter().cloned()).collect()))
}

/// The values that queries answered with, by name.
#[derive(Default)]
struct Figures(HashMap<String, ArrayRef>);

impl Figures {
    fn get(&self, name: &str, index: usize) -> Option<&ArrayRef> {
        self.0.get(&format!("{name}{index}"))
    }
}

/// A column without fields.
struct Leaf {
    column: ColumnPath,
    kind: Kind,
}

/// The statistics of a column, besides counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Smallest, largest, mean and quantiles.
    Number,
    /// Smallest, largest, shortest and longest.
    Text,
    /// Smallest, largest, shortest and longest, with lengths in bytes.
    Bytes,
    /// Smallest and largest.
    Ordered,
    /// Shortest and longest.
    Items,
    /// None.
    Other,
}

fn nested_leaves(column: ColumnPath) -> Vec<Leaf> {
    match column.fields() {
        Some(fields) => fields.into_iter().flat_map(nested_leaves).collect(),
        None => vec![Leaf { kind: figure_kind(column.field.data_type()), column }],
    }
}

fn figure_kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Dictionary(_, value) => figure_kind(value),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Kind::Bytes,
        DataType::FixedSizeBinary(_) | DataType::Boolean => Kind::Ordered,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Map(..) => Kind::Items,
        DataType::Interval(_) => Kind::Other,
        number if number.is_numeric() => Kind::Number,
        moment if moment.is_temporal() => Kind::Ordered,
        _ => Kind::Other,
    }
}

impl Leaf {
    /// The expressions that a query selects for this column, which has the number `index`.
    fn figures(&self, index: usize) -> Vec<String> {
        let column = self.column.expression();
        let value = match self.column.field.data_type() {
            DataType::Dictionary(_, value) => format!("arrow_cast({column}, '{value}')"),
            _ => column,
        };
        let number = format!("CAST({value} AS DOUBLE)");
        let distinct = match self.column.field.data_type() {
            // Floats have no hash there.
            data_type if data_type.is_floating() => format!("CAST({value} AS VARCHAR)"),
            _ => value.clone(),
        };
        let length = match self.kind {
            Kind::Text => format!("character_length({value})"),
            Kind::Bytes => format!("octet_length({value})"),
            _ => format!("cardinality({value})"),
        };
        let mut figures = vec![format!("count({value}) AS count{index}")];
        if !matches!(self.kind, Kind::Items | Kind::Other) {
            figures.push(format!("approx_distinct({distinct}) AS distinct{index}"));
            figures.push(format!("min({value}) AS min{index}"));
            figures.push(format!("max({value}) AS max{index}"));
        }
        if self.kind == Kind::Number {
            figures.push(format!("avg({number}) AS mean{index}"));
            for (name, at) in [("low", 0.25), ("middle", 0.5), ("high", 0.75)] {
                figures.push(format!("approx_percentile_cont({number}, {at}) AS {name}{index}"));
            }
        }
        if matches!(self.kind, Kind::Text | Kind::Bytes | Kind::Items) {
            figures.push(format!("CAST(min({length}) AS BIGINT) AS shortest{index}"));
            figures.push(format!("CAST(max({length}) AS BIGINT) AS longest{index}"));
        }
        figures
    }
}

/// A row for each column.
fn description(leaves: &[Leaf], figures: &Figures) -> Result<RecordBatch> {
    let numbers = |name: &str| -> Vec<Option<i64>> {
        let of_leaf = |index| figures.get(name, index)?.as_primitive_opt::<Int64Type>()?.iter().next()?;
        (0..leaves.len()).map(of_leaf).collect()
    };
    let floats = |name: &str| -> ArrayRef {
        let of_leaf = |index| figures.get(name, index)?.as_primitive_opt::<Float64Type>()?.iter().next()?;
        Arc::new((0..leaves.len()).map(of_leaf).collect::<Float64Array>())
    };
    let integers = |name: &str| -> ArrayRef { Arc::new(Int64Array::from(numbers(name))) };
    let distinct = (0..leaves.len())
        .map(|index| figures.get("distinct", index)?.as_primitive_opt::<UInt64Type>()?.iter().next()?);
    let row_count = figures.0.get(ROW_COUNT).and_then(|count| count.as_primitive_opt::<Int64Type>());
    let row_count = row_count.map_or(0, |count| count.value(0));
    let nulls = numbers("count").into_iter().map(|count| count.map(|count| row_count - count));
    let names = leaves.iter().map(|leaf| leaf.column.path());
    let types = leaves.iter().map(|leaf| leaf.column.field.data_type().to_string());
    let columns: [(&str, ArrayRef); 13] = [
        ("column", Arc::new(StringArray::from_iter_values(names))),
        ("type", Arc::new(StringArray::from_iter_values(types))),
        ("count", integers("count")),
        ("nulls", Arc::new(nulls.collect::<Int64Array>())),
        ("approx_distinct", Arc::new(distinct.collect::<UInt64Array>())),
        ("min", texts(leaves, figures, "min")?),
        ("max", texts(leaves, figures, "max")?),
        ("mean", floats("mean")),
        ("approx_q25", floats("low")),
        ("approx_q50", floats("middle")),
        ("approx_q75", floats("high")),
        ("shortest", integers("shortest")),
        ("longest", integers("longest")),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| Failure::encoding("describe", error))
}

/// The values called `name` as text.
fn texts(leaves: &[Leaf], figures: &Figures, name: &str) -> Result<ArrayRef> {
    let failed = |error| Failure::encoding("describe", error);
    let options = encoder_options();
    let of_leaf = |(index, leaf): (usize, &Leaf)| {
        let Some(array) = figures.get(name, index) else { return Ok(None) };
        let field = leaf.column.field.as_ref().clone().with_data_type(array.data_type().clone()).with_nullable(true);
        let batch =
            RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(array)]).map_err(failed)?;
        let batch = in_utc(&batch).map_err(failed)?;
        let mut text = String::new();
        let is_value = CellFormatter::new(&batch.schema().fields()[0], batch.column(0), &options)
            .and_then(|mut cell| cell.write(0, &mut text))
            .map_err(failed)?;
        Ok(is_value.then_some(text))
    };
    let texts: StringArray = leaves.iter().enumerate().map(of_leaf).collect::<Result<Vec<_>>>()?.into_iter().collect();
    Ok(Arc::new(texts))
}
