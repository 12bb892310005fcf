//! `find --order-by`: the rows that satisfy an expression, in order; with a limit, the first of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use lath_parquet::Predicate;

use crate::args::FindArgs;
use crate::commands::column_path::ColumnPath;
use crate::commands::engine::{InputTable, TABLE, failed, quoted, write_answer};
use crate::commands::order_terms::order_terms;
use crate::failure::{Failure, Outcome, Result};
use crate::input::catalog::Search;
use crate::output::Output;

/// Writes the rows that are found, by the order in `order`.
pub(in crate::commands) fn run(args: &FindArgs, order: &str) -> Result<Outcome> {
    let predicate = Predicate::parse(&args.predicate).map_err(Failure::filtering)?;
    let output = Output::new(&args.output)?;
    let search = Search {
        table: args.table,
        columns: args.select.as_deref(),
        predicate,
        prunes_files: true,
        needs_all_files: false,
        text: &args.text,
        explains: false,
    };
    let table = InputTable::open(&args.inputs, search)?;
    let all = table.schema();
    let selected: Vec<ColumnPath> = match &args.select {
        Some(paths) => paths.iter().map(|path| ColumnPath::find(path, all, "--select")).collect::<Result<_>>()?,
        None => all.fields().iter().map(ColumnPath::of).collect(),
    };
    let mut names: Vec<&str> = Vec::new();
    for column in &selected {
        if !names.contains(&column.column()) {
            names.push(column.column());
        }
    }
    let terms = order_terms(order, all)?;
    let limit = args.limit.map_or_else(String::new, |limit| format!(" LIMIT {limit}"));
    let columns = names.iter().map(|name| quoted(name, '"')).collect::<Vec<_>>().join(", ");
    let query = format!("SELECT {columns} FROM {TABLE} ORDER BY {}{limit}", terms.join(", "));
    let session = table.session(args.decode.threads.map(usize::from), None)?;
    let answer = session.run(&query).map_err(failed)?;
    let paths: Vec<&[String]> = selected.iter().map(ColumnPath::names).collect();
    let schema = chosen_schema(answer.schema(), &paths);
    let change = |batch: RecordBatch| choose(&batch, &schema).map_err(|error| Failure::encoding("find", error));
    let found = write_answer(answer, &output, &schema, change)?;
    drop(session);
    table.close();
    Ok(if found == 0 { Outcome::Nothing } else { Outcome::Done })
}

/// The schema with only those fields of structs that `paths` name.
fn chosen_schema(schema: &Schema, paths: &[&[String]]) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(|field| chosen_field(field, paths)).collect::<Vec<_>>()))
}

fn chosen_field(field: &FieldRef, paths: &[&[String]]) -> FieldRef {
    let inner: Vec<&[String]> = paths
        .iter()
        .filter_map(|path| path.split_first())
        .filter(|(name, _)| *name == field.name())
        .map(|(_, rest)| rest)
        .collect();
    match field.data_type() {
        DataType::Struct(fields) if !inner.iter().any(|path| path.is_empty()) => {
            let is_named = |field: &&FieldRef| inner.iter().any(|path| path.first() == Some(field.name()));
            let fields = fields.iter().filter(is_named).map(|field| chosen_field(field, &inner)).collect();
            Arc::new(Field::clone(field).with_data_type(DataType::Struct(fields)))
        }
        _ => Arc::clone(field),
    }
}

/// The batch with only the fields of structs that are in `schema`.
fn choose(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(array, field)| choose_in(array, field));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect::<Result<_, _>>()?, &options)
}

fn choose_in(array: &ArrayRef, field: &FieldRef) -> Result<ArrayRef, arrow_schema::ArrowError> {
    let (DataType::Struct(wanted), Some(whole)) = (field.data_type(), array.as_struct_opt()) else {
        return Ok(Arc::clone(array));
    };
    let children = wanted.iter().map(|field| match whole.column_by_name(field.name()) {
        Some(child) => choose_in(child, field),
        None => Err(arrow_schema::ArrowError::SchemaError(format!("there is no field {}", field.name()))),
    });
    let children = children.collect::<Result<Vec<_>, _>>()?;
    let chosen = StructArray::try_new_with_length(wanted.clone(), children, whole.nulls().cloned(), whole.len())?;
    Ok(Arc::new(chosen))
}
