//! Decodes text to batches with Arrow's reader, and compares numbers, dates and times exactly with their text.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_json::ReaderBuilder;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

use crate::exact::{exact, is_number, with_text, within};
use crate::moment::{check, is_moment};

/// A decoder of objects.
pub(crate) struct Decoder {
    schema: SchemaRef,
    /// For each column, whether doubles have to have all digits of their text.
    keeps_all_digits: Arc<[bool]>,
    /// Reads numbers as text.
    texts: arrow_json::reader::Decoder,
    /// Reads dates, times and timestamps as text, of the columns that have any.
    moments: Option<arrow_json::reader::Decoder>,
    moment_columns: Vec<usize>,
}

impl Decoder {
    pub(crate) fn new(
        schema: &SchemaRef,
        keeps_all_digits: &Arc<[bool]>,
        batch_rows: usize,
    ) -> Result<Self, ArrowError> {
        let builder = |schema: Schema| {
            ReaderBuilder::new(Arc::new(schema)).with_batch_size(batch_rows).with_coerce_primitive(true)
        };
        let with_text_of = |is_text| schema.fields().iter().map(|field| with_text(field, is_text)).collect::<Vec<_>>();
        let texts = builder(Schema::new(with_text_of(is_number)));
        // A field that the schema lacks is an error.
        let texts = texts.with_strict_mode(true).build_decoder()?;
        let moments = with_text_of(is_moment);
        let moment_columns: Vec<usize> =
            (0..moments.len()).filter(|&at| has_moments(schema.field(at).data_type())).collect();
        let fields: Vec<_> = moment_columns.iter().map(|&at| Arc::clone(&moments[at])).collect();
        let moments = match fields.is_empty() {
            true => None,
            false => Some(builder(Schema::new(fields)).build_decoder()?),
        };
        let keeps_all_digits = Arc::clone(keeps_all_digits);
        Ok(Self { schema: Arc::clone(schema), keeps_all_digits, texts, moments, moment_columns })
    }

    /// Takes text and returns the number of bytes taken, which is smaller than the text at the end of a batch.
    pub(crate) fn decode(&mut self, text: &[u8]) -> Result<usize, ArrowError> {
        let count = self.texts.decode(text)?;
        if let Some(moments) = &mut self.moments {
            moments.decode(&text[..count])?;
        }
        Ok(count)
    }

    pub(crate) fn has_partial_record(&self) -> bool {
        self.texts.has_partial_record()
    }

    /// The objects since the last batch, if there are any.
    pub(crate) fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let batch = self.texts.flush()?;
        let moments = self.moments.as_mut().map(arrow_json::reader::Decoder::flush).transpose()?.flatten();
        let Some(batch) = batch else { return Ok(None) };
        for (&at, texts) in self.moment_columns.iter().zip(moments.iter().flat_map(RecordBatch::columns)) {
            let field = self.schema.field(at);
            check(batch.column(at), texts, field.data_type()).map_err(|error| within(field, &error))?;
        }
        let columns = batch.columns().iter().zip(self.schema.fields()).zip(self.keeps_all_digits.iter());
        let columns = columns.map(|((column, field), keeps)| {
            exact(column, field.data_type(), *keeps).map_err(|error| within(field, &error))
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map(Some)
    }
}

fn has_moments(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| has_moments(field.data_type())),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            has_moments(element.data_type())
        }
        DataType::Map(entries, _) => has_moments(entries.data_type()),
        other => is_moment(other),
    }
}
