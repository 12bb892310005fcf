//! The counters and options of a catalog.

use lath_store::{RecordReader, RecordWriter, Tree};

use super::facts::ContentOptions;
use crate::error::{Error, Result};
use crate::records::{FORMAT, FORMAT_KEY, FORMAT_WITH_TABLE, STATE_KEY};

/// Counters and options.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// Number of slots, with and without a file.
    pub(crate) slots: u32,
    /// Number of files.
    pub(crate) files: u32,
    pub(crate) next_root: u32,
    pub(crate) next_column: u32,
    pub(crate) next_schema: u32,
    pub(crate) content: ContentOptions,
}

impl State {
    /// Default of the maximum bytes of the filters of a column, for one file: 1 MiB.
    pub(crate) const DEFAULT_FILTER_BUDGET_BYTES: usize = 1 << 20;

    pub(crate) fn new() -> Self {
        let content = ContentOptions { keys: Vec::new(), filter_budget_bytes: Self::DEFAULT_FILTER_BUDGET_BYTES };
        Self { slots: 0, files: 0, next_root: 0, next_column: 0, next_schema: 0, content }
    }

    /// Reads the state of a catalog, and checks its format.
    pub(crate) fn read(meta: Tree<'_>) -> Result<Self> {
        let format = meta.get(FORMAT_KEY)?.and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        match format {
            Some(FORMAT | FORMAT_WITH_TABLE) => {}
            Some(format) => return Err(Error::Format { format }),
            None => return Err(Error::corrupt("the number of the format is missing")),
        }
        let bytes = meta.get(STATE_KEY)?.ok_or_else(|| Error::corrupt("the record of the state is missing"))?;
        let mut record = RecordReader::new("the state", bytes)?;
        let mut number = || record.u32();
        let (slots, files) = (number()?, number()?);
        let (next_root, next_column, next_schema) = (number()?, number()?, number()?);
        let filter_budget_bytes = usize::try_from(record.u64()?).unwrap_or(usize::MAX);
        let count = record.u32()?;
        let mut key = || {
            let columns = record.u32()?;
            (0..columns).map(|_| record.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()
        };
        let keys = (0..count).map(|_| key()).collect::<Result<_, _>>()?;
        Ok(Self {
            slots,
            files,
            next_root,
            next_column,
            next_schema,
            content: ContentOptions { keys, filter_budget_bytes },
        })
    }

    pub(crate) fn to_record(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        record.u32(self.slots).u32(self.files).u32(self.next_root).u32(self.next_column).u32(self.next_schema);
        record.u64(self.content.filter_budget_bytes as u64).u32(self.content.keys.len() as u32);
        for key in &self.content.keys {
            record.u32(key.len() as u32);
            key.iter().for_each(|column| {
                record.bytes(column.as_bytes());
            });
        }
        record.finish()
    }
}
