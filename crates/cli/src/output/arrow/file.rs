//! Arrow IPC files of columns with dictionaries.
//!
//! A file has one dictionary per column, but each batch has its own. So the keys of each batch are renumbered, and the
//! dictionaries are written after the last batch, when all values are known:
//!
//! ```text
//! "ARROW1" | schema | batch 0 | batch 1 | … | dictionary 0 | dictionary 1 | … | end | footer | its length | "ARROW1"
//! ```
//!
//! Readers of files find dictionaries by the footer, before they read a batch. Delta dictionaries would be an alternative,
//! but polars does not read them. The distinct values of each column are held in memory.
//!
//! Specification: <https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format>

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{Block, FooterBuilder, MetadataVersion};
use arrow_schema::{ArrowError, FieldRef, Schema, SchemaRef};
use flatbuffers::FlatBufferBuilder;

use super::dictionary::{Dictionaries, key_field};

const MAGIC: &[u8; 6] = b"ARROW1";
/// Alignment of messages.
const ALIGNMENT_BYTES: usize = 64;
/// A message without metadata.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Writes files whose batches may have different dictionaries.
pub(super) struct DictionaryFileWriter<W: Write> {
    writer: W,
    schema: SchemaRef,
    /// The schema with the key types of dictionaries: the physical layout of batches.
    key_schema: SchemaRef,
    dictionaries: Dictionaries,
    tracker: DictionaryTracker,
    options: IpcWriteOptions,
    context: IpcWriteContext,
    position: usize,
    batch_blocks: Vec<Block>,
}

impl<W: Write> DictionaryFileWriter<W> {
    pub(super) fn new(mut writer: W, schema: &Schema) -> Result<Self, ArrowError> {
        let mut dictionaries = Dictionaries::default();
        schema.fields().iter().try_for_each(|field| dictionaries.add(field.data_type()))?;
        let key_fields: Vec<FieldRef> = schema.fields().iter().map(key_field).collect();
        let mut header = [0; ALIGNMENT_BYTES];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        writer.write_all(&header)?;
        let mut file = Self {
            writer,
            schema: Arc::new(schema.clone()),
            key_schema: Arc::new(Schema::new(key_fields)),
            dictionaries,
            tracker: DictionaryTracker::new(true),
            options: IpcWriteOptions::default(),
            context: IpcWriteContext::default(),
            position: header.len(),
            batch_blocks: Vec::new(),
        };
        let message = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
            &file.schema,
            &mut file.tracker,
            &file.options,
        );
        file.write_block(message)?;
        Ok(file)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut next = 0;
        let columns =
            self.schema.fields().iter().zip(batch.columns()).map(|(field, column)| {
                self.dictionaries.keys(column, &mut next).map_err(|error| explained(error, field))
            });
        let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let keys = RecordBatch::try_new_with_options(Arc::clone(&self.key_schema), columns, &rows)?;
        // The batch has no dictionaries left to track.
        let mut no_dictionaries = DictionaryTracker::new(true);
        let (_, message) =
            IpcDataGenerator::default().encode(&keys, &mut no_dictionaries, &self.options, &mut self.context)?;
        let block = self.write_block(message)?;
        self.batch_blocks.push(block);
        Ok(())
    }

    /// Writes dictionaries and footer.
    pub(super) fn into_inner(mut self) -> Result<W, ArrowError> {
        let mut next = 0;
        let columns =
            self.schema.fields().iter().map(|field| self.dictionaries.empty_column(field.data_type(), &mut next));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let (messages, _) =
            IpcDataGenerator::default().encode(&batch, &mut self.tracker, &self.options, &mut self.context)?;
        let blocks = messages.into_iter().map(|message| self.write_block(message));
        let dictionary_blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        self.writer.write_all(&END_OF_STREAM)?;
        self.write_footer(&dictionary_blocks)?;
        Ok(self.writer)
    }

    fn write_footer(&mut self, dictionary_blocks: &[Block]) -> Result<(), ArrowError> {
        let mut builder = FlatBufferBuilder::new();
        let dictionaries = builder.create_vector(dictionary_blocks);
        let batches = builder.create_vector(&self.batch_blocks);
        // Counts dictionaries from the first again.
        let mut tracker = DictionaryTracker::new(true);
        let mut encoder = IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker);
        let schema = encoder.schema_to_fb_offset(&mut builder, &self.schema);
        let mut footer = FooterBuilder::new(&mut builder);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        let footer = footer.finish();
        builder.finish(footer, None);
        let bytes = builder.finished_data();
        let too_long = |_| ArrowError::IpcError("there are too many batches for one file".to_owned());
        let length = i32::try_from(bytes.len()).map_err(too_long)?;
        self.writer.write_all(bytes)?;
        self.writer.write_all(&length.to_le_bytes())?;
        self.writer.write_all(MAGIC)?;
        Ok(())
    }

    fn write_block(&mut self, message: EncodedData) -> Result<Block, ArrowError> {
        let (metadata_len, body_len) = write_message(&mut self.writer, message, &self.options)?;
        let block = Block::new(self.position as i64, metadata_len as i32, body_len as i64);
        self.position += metadata_len + body_len;
        Ok(block)
    }
}

fn explained(error: ArrowError, field: &FieldRef) -> ArrowError {
    match error {
        ArrowError::DictionaryKeyOverflowError => ArrowError::InvalidArgumentError(format!(
            "column {}: its batches have more distinct values than keys of its type can number ({}); write an Arrow \
             stream, which may replace dictionaries, to a name that ends in .arrows",
            field.name(),
            field.data_type()
        )),
        other => other,
    }
}
