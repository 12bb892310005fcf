//! The record of one file.

use lath_parquet::FileVersion;
use lath_store::{RecordReader, RecordWriter};

use crate::error::Result;
use crate::records::version;
use crate::slots::{Class, Place};

/// The record of a file. Footer, page index, bounds and filters are in other trees.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) root: u32,
    /// The location: absolute, or below the folder that the catalog is in.
    pub(crate) name: String,
    pub(crate) version: FileVersion,
    /// `None` for a file that could not be read.
    pub(crate) read: Option<ReadEntry>,
}

/// Metadata of a readable file.
#[derive(Debug, Clone)]
pub(crate) struct ReadEntry {
    pub(crate) rows: u64,
    pub(crate) row_groups: u32,
    /// The number of its schema.
    pub(crate) schema: u32,
    pub(crate) filters: Vec<KeptFilter>,
}

/// A Bloom filter in the catalog.
#[derive(Debug, Clone)]
pub(crate) struct KeptFilter {
    pub(crate) class: Class,
    pub(crate) place: Place,
    /// Its location in the file; `None` for a filter that the catalog made.
    pub(crate) stored: Option<StoredAt>,
}

/// The location of a filter in its file.
#[derive(Debug, Clone)]
pub(crate) struct StoredAt {
    pub(crate) offset: u64,
    pub(crate) header: Vec<u8>,
}

impl Entry {
    pub(crate) fn to_record(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        record.u32(self.root).bytes(self.name.as_bytes());
        version::write(&self.version, &mut record);
        record.u32(u32::from(self.read.is_some()));
        if let Some(read) = &self.read {
            record.u64(read.rows).u32(read.row_groups).u32(read.schema).u32(read.filters.len() as u32);
            for KeptFilter { class, place, stored } in &read.filters {
                record.u32(class.column).u64(class.hash).u32(class.blocks).u32(place.segment).u32(place.position);
                let StoredAt { offset, header } = stored.clone().unwrap_or(StoredAt { offset: 0, header: Vec::new() });
                record.u64(offset).bytes(&header);
            }
        }
        record.finish()
    }

    pub(crate) fn from_record(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("a file", bytes)?;
        let (root, name) = (record.u32()?, record.text()?.to_owned());
        let version = version::read(&mut record)?;
        if record.u32()? == 0 {
            return Ok(Self { root, name, version, read: None });
        }
        let (rows, row_groups, schema) = (record.u64()?, record.u32()?, record.u32()?);
        let count = record.u32()?;
        let mut filter = || {
            let class = Class { column: record.u32()?, hash: record.u64()?, blocks: record.u32()? };
            let place = Place { segment: record.u32()?, position: record.u32()? };
            let (offset, header) = (record.u64()?, record.bytes()?.to_vec());
            // A filter in a file is never at offset 0.
            Ok(KeptFilter { class, place, stored: (offset > 0).then_some(StoredAt { offset, header }) })
        };
        let filters = (0..count).map(|_| filter()).collect::<Result<_>>()?;
        Ok(Self { root, name, version, read: Some(ReadEntry { rows, row_groups, schema, filters }) })
    }
}
