//! Options of writing.

mod choices;
mod column;
mod inherit;
mod profile;
mod segments;
mod serialized;
mod text;

pub use choices::{BloomFilter, Codec, PageVersion, StatisticsLevel, ValueEncoding};
pub use column::ColumnOptions;
pub(crate) use column::LeafOptions;
pub(crate) use inherit::InheritedSchema;
pub use profile::Profile;
pub(crate) use segments::{SEGMENT_BYTES, Segments};
pub use text::parse_byte_size;

use std::collections::BTreeMap;

use lath_format::EncryptionKeys;
use lath_parquet::internal::threads_or_cores;
use lath_parquet::{Error, Result, SortingColumn};
use serde::{Deserialize, Serialize};

/// Options of writing a file. Every option has a documented default; an option of a column overrides the option of all columns.
///
/// ```
/// use lath_writer::{BloomFilter, Codec, ColumnOptions, ValueEncoding, WriteOptions};
///
/// let options = WriteOptions::default()
///     .codec(Codec::Zstd { level: 3 })
///     .row_group_rows(500_000)
///     .column("id", ColumnOptions::new().bloom_filter(BloomFilter::DEFAULT))
///     .column("price.amount", ColumnOptions::new().encoding(ValueEncoding::ByteStreamSplit).dictionary(false));
/// ```
/// Another process of the same version can be sent them, as `serde` writes them, without the [schema](Self::inherits_schema) of another file. Options with
/// [keys](Self::encryption) are not sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WriteOptions {
    all: ColumnOptions,
    columns: BTreeMap<String, ColumnOptions>,
    /// Options of another file, by path and then by the order of columns with the same path; options that were set override them.
    inherited: BTreeMap<String, Vec<ColumnOptions>>,
    row_group_rows: Option<usize>,
    inherited_row_group_rows: Option<usize>,
    #[serde(skip)]
    inherited_schema: Option<InheritedSchema>,
    row_group_bytes: Option<usize>,
    sorting_columns: Vec<SortingColumn>,
    /// Sorting columns of another file, which the rows may or may not follow.
    presumed_sorting: Vec<SortingColumn>,
    key_value_metadata: Vec<(String, Option<String>)>,
    left_out_keys: Vec<String>,
    created_by: Option<String>,
    threads: Option<usize>,
    memory_budget_bytes: Option<usize>,
    #[serde(skip_deserializing, serialize_with = "serialized::keys::serialize")]
    encryption: Option<EncryptionKeys>,
    #[serde(skip)]
    segments: Segments,
}

impl WriteOptions {
    /// Default for [`row_group_rows`](Self::row_group_rows): 1,048,576.
    pub const DEFAULT_ROW_GROUP_ROWS: usize = 1 << 20;
    /// Default for [`row_group_bytes`](Self::row_group_bytes): 512 MiB of encoded data.
    pub const DEFAULT_ROW_GROUP_BYTES: usize = 512 << 20;
    /// Default for [`memory_budget_bytes`](Self::memory_budget_bytes): 1 GiB.
    pub const DEFAULT_MEMORY_BUDGET_BYTES: usize = 1 << 30;
    /// Default for [`threads`](Self::threads): one; a writer does not use more cores unasked.
    pub const DEFAULT_THREADS: usize = 1;
    /// Default for [`created_by`](Self::created_by): the library and its version.
    pub const DEFAULT_CREATED_BY: &str = concat!("lath-parquet version ", env!("CARGO_PKG_VERSION"));

    /// The options of a profile.
    #[must_use]
    pub fn profile(profile: Profile) -> Self {
        Self { all: profile.columns(), ..Self::default() }
    }

    /// Sets the options of a profile as defaults: any other setting overrides them.
    #[must_use]
    pub fn with_defaults(mut self, profile: Profile) -> Self {
        self.all = self.all.over(&profile.columns());
        self
    }

    /// Sets options of every column; options that are not set in `options` stay as they are.
    #[must_use]
    pub fn all_columns(mut self, options: ColumnOptions) -> Self {
        self.all = options.over(&self.all);
        self
    }

    /// Sets options of one leaf column, named by its dotted path in the Parquet schema (`"tags.list.element"`); options that are
    /// not set in `options` stay as they are. A path that the schema does not have is an error when the writer starts.
    #[must_use]
    pub fn column(mut self, path: impl Into<String>, options: ColumnOptions) -> Self {
        let entry = self.columns.entry(path.into()).or_default();
        *entry = options.over(entry);
        self
    }

    /// Names the leaf columns for lookups: each gets a Bloom filter of [`BloomFilter::DEFAULT`].
    #[must_use]
    pub fn key_columns<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        paths
            .into_iter()
            .fold(self, |options, path| options.column(path, ColumnOptions::new().bloom_filter(BloomFilter::DEFAULT)))
    }

    /// Sets the codec of every column.
    #[must_use]
    pub fn codec(self, codec: Codec) -> Self {
        self.all_columns(ColumnOptions::new().codec(codec))
    }

    /// Sets the encoding of every column whose type has it; the others keep theirs.
    #[must_use]
    pub fn encoding(self, encoding: ValueEncoding) -> Self {
        self.all_columns(ColumnOptions::new().encoding(encoding))
    }

    /// Sets whether columns try a dictionary first.
    #[must_use]
    pub fn dictionary(self, enabled: bool) -> Self {
        self.all_columns(ColumnOptions::new().dictionary(enabled))
    }

    /// Sets whether a sample may choose preview encodings of the specification.
    #[must_use]
    pub fn preview_encodings(self, enabled: bool) -> Self {
        self.all_columns(ColumnOptions::new().preview_encodings(enabled))
    }

    /// Sets the version of data pages.
    #[must_use]
    pub fn page_version(self, version: PageVersion) -> Self {
        self.all_columns(ColumnOptions::new().page_version(version))
    }

    /// Sets the maximum rows of a row group. Default: [`Self::DEFAULT_ROW_GROUP_ROWS`].
    #[must_use]
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.row_group_rows = Some(rows);
        self
    }

    /// Sets the bytes of encoded data after which a row group ends. Default: [`Self::DEFAULT_ROW_GROUP_BYTES`].
    #[must_use]
    pub fn row_group_bytes(mut self, bytes: usize) -> Self {
        self.row_group_bytes = Some(bytes);
        self
    }

    /// Sets the columns by which the rows of every row group are sorted, the most significant first. Recorded in the file's
    /// metadata. Default: none.
    #[must_use]
    pub fn sorting_columns(mut self, columns: impl IntoIterator<Item = SortingColumn>) -> Self {
        self.sorting_columns = columns.into_iter().collect();
        self
    }

    /// Adds a key with its value to the file's metadata.
    #[must_use]
    pub fn key_value_metadata(mut self, key: impl Into<String>, value: impl Into<Option<String>>) -> Self {
        self.key_value_metadata.push((key.into(), value.into()));
        self
    }

    /// Leaves out a key of the file that [`ParquetWriter::new_like`](crate::ParquetWriter::new_like) copies, or of the metadata
    /// of the Arrow schema, unless it is set to another value.
    #[must_use]
    pub fn without_key_value_metadata(mut self, key: impl Into<String>) -> Self {
        self.left_out_keys.push(key.into());
        self
    }

    /// Sets the name of the writer in the file. Default: [`Self::DEFAULT_CREATED_BY`].
    #[must_use]
    pub fn created_by(mut self, name: impl Into<String>) -> Self {
        self.created_by = Some(name.into());
        self
    }

    /// Encrypts the file with these keys: all pages, indexes and Bloom filters, and the footer, unless the keys say otherwise. Row groups of
    /// other files cannot be copied into it. Checksums of pages are left out, because every part is authenticated. Default: no encryption.
    #[must_use]
    pub fn encryption(mut self, keys: EncryptionKeys) -> Self {
        self.encryption = Some(keys);
        self
    }

    /// Sets the number of threads that encode column chunks; 0 means one for each core. Default: [`Self::DEFAULT_THREADS`].
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads_or_cores(threads));
        self
    }

    /// Sets the maximum bytes that the writer holds; a row group that exceeds them ends early. Default:
    /// [`Self::DEFAULT_MEMORY_BUDGET_BYTES`].
    #[must_use]
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.memory_budget_bytes = Some(bytes);
        self
    }

    /// Adds a key with its value to the metadata, instead of an earlier value.
    pub(crate) fn set_key_value(&mut self, key: String, value: Option<String>) {
        self.key_value_metadata.retain(|(earlier, _)| *earlier != key);
        self.key_value_metadata.push((key, value));
    }

    pub(crate) fn row_group_row_limit(&self) -> usize {
        // A limit by rows must not end row groups for which a limit by bytes was set.
        let inherited = self.inherited_row_group_rows.filter(|_| self.row_group_bytes.is_none());
        self.row_group_rows.or(inherited).unwrap_or(Self::DEFAULT_ROW_GROUP_ROWS)
    }

    pub(crate) fn row_group_byte_limit(&self) -> usize {
        self.row_group_bytes.unwrap_or(Self::DEFAULT_ROW_GROUP_BYTES)
    }

    pub(crate) fn inherited_schema(&self) -> Option<&InheritedSchema> {
        self.inherited_schema.as_ref()
    }

    /// Whether another file's name of the schema, and its Arrow schema, are written: see [`inherit`](Self::inherit).
    pub fn inherits_schema(&self) -> bool {
        self.inherited_schema.is_some()
    }

    /// The columns of [`sorting_columns`](Self::sorting_columns).
    pub fn sorting(&self) -> &[SortingColumn] {
        &self.sorting_columns
    }

    /// The order to record for row groups whose rows turn out to be in it; empty if the options set an order.
    pub(crate) fn presumed_sorting(&self) -> &[SortingColumn] {
        if self.sorting_columns.is_empty() { &self.presumed_sorting } else { &[] }
    }

    /// Sets the number of encoding threads unless [`threads`](Self::threads) was called.
    #[must_use]
    pub fn default_threads(mut self, threads: usize) -> Self {
        self.threads.get_or_insert_with(|| threads_or_cores(threads));
        self
    }

    pub(crate) fn key_values(&self) -> &[(String, Option<String>)] {
        &self.key_value_metadata
    }

    /// Whether a key of the copied file is left out.
    pub(crate) fn leaves_out(&self, key: &str) -> bool {
        self.left_out_keys.iter().any(|left_out| left_out == key)
    }

    /// Whether files are [encrypted](Self::encryption).
    pub fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }

    pub(crate) fn encryption_keys(&self) -> Option<&EncryptionKeys> {
        self.encryption.as_ref()
    }

    pub(crate) fn creator(&self) -> &str {
        self.created_by.as_deref().unwrap_or(Self::DEFAULT_CREATED_BY)
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.threads.unwrap_or(Self::DEFAULT_THREADS)
    }

    pub(crate) fn memory_budget(&self) -> usize {
        self.memory_budget_bytes.unwrap_or(Self::DEFAULT_MEMORY_BUDGET_BYTES)
    }

    /// The dotted paths for which options are set.
    pub(crate) fn column_paths(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }

    /// The effective options for the leaf with this path. `key` is the path by which its options were set; `occurrence` is the
    /// number of earlier leaves with the same path.
    pub(crate) fn leaf(&self, key: Option<&str>, path: &str, occurrence: usize) -> LeafOptions {
        let own = key.and_then(|key| self.columns.get(key));
        let asked_for = own.unwrap_or(&ColumnOptions::new()).over(&self.all);
        let inherited = self.inherited.get(path).and_then(|namesakes| namesakes.get(occurrence));
        let mut leaf = match inherited {
            Some(inherited) => asked_for.over(&inherited.beside(&asked_for)).resolve(),
            None => asked_for.resolve(),
        };
        leaf.encoding_is_own = own.is_some_and(ColumnOptions::has_encoding);
        leaf.row_group_rows = self.row_group_row_limit();
        leaf.segments = self.segments.clone();
        leaf
    }

    /// Refuses values that cannot be written.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the name of the option and the column.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, value) in [
            ("row_group_rows", self.row_group_row_limit()),
            ("row_group_bytes", self.row_group_byte_limit()),
            ("memory_budget_bytes", self.memory_budget()),
        ] {
            if value == 0 {
                return Err(Error::invalid(format!("option {name}: 0 leaves nothing to write")));
            }
        }
        self.all.resolve().check("all columns")?;
        self.columns.keys().try_for_each(|path| self.leaf(Some(path), path, 0).check(&format!("column {path}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_its_own_options_and_else_those_of_all() {
        let options = WriteOptions::default()
            .codec(Codec::Snappy)
            .dictionary(false)
            .column("a.b", ColumnOptions::new().codec(Codec::Uncompressed))
            .column("a.b", ColumnOptions::new().encoding(ValueEncoding::DeltaBinaryPacked));
        let (own, other) = (options.leaf(Some("a.b"), "a.b", 0), options.leaf(Some("a.c"), "a.c", 0));
        assert_eq!((own.codec, other.codec), (Codec::Uncompressed, Codec::Snappy));
        assert_eq!((own.dictionary, other.dictionary), (false, false));
        assert_eq!((own.encoding, own.encoding_is_own), (ValueEncoding::DeltaBinaryPacked, true));
        assert_eq!((other.encoding, other.encoding_is_own), (ColumnOptions::DEFAULT_ENCODING, false));
    }

    #[test]
    fn values_that_cannot_be_meant_are_refused_by_name() {
        let refused = |options: WriteOptions| options.check().expect_err("refused").to_string();
        assert!(refused(WriteOptions::default().row_group_rows(0)).contains("row_group_rows"));
        let level = Codec::Zstd { level: 23 };
        assert!(refused(WriteOptions::default().column("a", ColumnOptions::new().codec(level))).contains("column a"));
        let fpp = BloomFilter::FalsePositiveRate(1.0);
        assert!(refused(WriteOptions::default().column("a", ColumnOptions::new().bloom_filter(fpp))).contains("Bloom"));
        for profile in [Profile::Compatible, Profile::Compact, Profile::Lookup] {
            assert!(WriteOptions::profile(profile).check().is_ok());
        }
    }

    #[test]
    fn key_columns_get_bloom_filters() {
        let options = WriteOptions::profile(Profile::Lookup).key_columns(["id"]);
        assert_eq!(options.leaf(Some("id"), "id", 0).bloom_filter, Some(BloomFilter::DEFAULT));
        assert_eq!(options.leaf(Some("other"), "other", 0).bloom_filter, None);
    }
}
