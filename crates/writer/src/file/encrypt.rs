//! Encrypts the parts of column chunks.

use bytes::Bytes;
use lath_format::thrift::ThriftReader;
use lath_format::{ChunkEncryptor, EncryptionKeys, FileEncryptor, Module};
use lath_parquet::{Error, Result};

use crate::schema::WriteSchema;

/// The encryptor of a file with these keys and this schema.
///
/// # Errors
/// [`Error::Invalid`] for keys that cannot be used, and for columns that the schema does not have.
pub(super) fn file_encryptor(keys: &EncryptionKeys, schema: &WriteSchema) -> Result<FileEncryptor> {
    for path in keys.column_paths() {
        if !schema.leaves.iter().any(|leaf| leaf.column.path().string() == path) {
            return Err(Error::invalid(format!("the keys name column {path}, which the file does not have")));
        }
    }
    FileEncryptor::new(keys.clone()).map_err(invalid)
}

/// The pages of a chunk, encrypted one after another.
pub(super) struct EncryptedPages<'a> {
    encryptor: &'a ChunkEncryptor,
    /// Headers and bodies by turns, in the order of the file.
    pieces: std::slice::Iter<'a, Bytes>,
    /// The pieces before the first data page: two of a dictionary page, or none.
    dictionary_pieces: usize,
    done: usize,
    module: Vec<u8>,
}

impl<'a> EncryptedPages<'a> {
    pub(super) fn new(encryptor: &'a ChunkEncryptor, pieces: &'a [Bytes], has_dictionary: bool) -> Self {
        let dictionary_pieces = if has_dictionary { 2 } else { 0 };
        Self { encryptor, pieces: pieces.iter(), dictionary_pieces, done: 0, module: Vec::new() }
    }

    /// The next module.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        let Some(piece) = self.pieces.next() else { return Ok(None) };
        let is_header = self.done.is_multiple_of(2);
        let module = match self.done.checked_sub(self.dictionary_pieces) {
            None if is_header => Module::DictionaryHeader,
            None => Module::Dictionary,
            Some(place) if is_header => Module::DataHeader(place / 2),
            Some(place) => Module::Data(place / 2),
        };
        self.done += 1;
        self.module.clear();
        self.encryptor.encrypt(piece, module, &mut self.module).map_err(invalid)?;
        Ok(Some(&self.module))
    }
}

/// Encrypts the column index, the offset index and the Bloom filter of a chunk.
pub(super) fn encrypt_indexes(
    encryptor: &ChunkEncryptor,
    column_index: &mut Option<Bytes>,
    offset_index: &mut Option<Bytes>,
    bloom_filter: &mut Option<Bytes>,
) -> Result<()> {
    let encrypt = |plain: &Bytes, module| {
        let mut sealed = Vec::new();
        encryptor.encrypt(plain, module, &mut sealed).map_err(invalid)?;
        Ok::<_, Error>(Bytes::from(sealed))
    };
    let index = |index: Option<Bytes>, module| index.map(|index| encrypt(&index, module)).transpose();
    *column_index = index(column_index.take(), Module::ColumnIndex)?;
    *offset_index = index(offset_index.take(), Module::OffsetIndex)?;
    if let Some(filter) = bloom_filter {
        let mut reader = ThriftReader::new(filter);
        let skipped = reader.each_field(ThriftReader::skip);
        skipped.map_err(|_| Error::internal("the header of a new Bloom filter cannot be read"))?;
        let (header, bits) = (filter.slice(..reader.position()), filter.slice(reader.position()..));
        let modules = [encrypt(&header, Module::BloomFilterHeader)?, encrypt(&bits, Module::BloomFilterBitset)?];
        *filter = modules.concat().into();
    }
    Ok(())
}

/// The error of a file that cannot be encrypted.
pub(super) fn invalid(error: lath_format::Error) -> Error {
    Error::invalid(error.to_string())
}
