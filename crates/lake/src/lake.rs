//! A version of a table, and the choice of one.

use std::fmt::Debug;
use std::str::FromStr;
use std::sync::Arc;

use arrow_cast::parse::string_to_datetime;
use arrow_schema::SchemaRef;
use chrono::Utc;
use lath_parquet::{ColumnMapping, Dataset, DatasetOptions, Error, FileVersion, FolderFormat, Predicate, Result};

use crate::storage::Folder;

/// A version of a table of Delta Lake or Iceberg.
#[derive(Debug, Clone)]
pub struct Lake {
    head: Head,
    dataset: Dataset,
}

/// A version of a table, whose files are not listed yet: [`open`](Self::open) lists them, once or several times, and always the files of this
/// version, whatever is committed meanwhile.
///
/// ```no_run
/// # fn main() -> lath_lake::Result<()> {
/// use lath_lake::{LakeOptions, open_version};
/// use lath_parquet::column;
///
/// let events = open_version("lake/events", &LakeOptions::new())?;
/// let few = events.clone().open(Some(&column("id").eq(4711)))?;
/// let all = events.open(None)?;
/// println!("{} files of {} may have the row", few.dataset().files().len(), all.dataset().files().len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LakeVersion {
    pub(crate) head: Head,
    pub(crate) contents: Arc<dyn Contents>,
}

/// A version of a table without its files.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) location: String,
    pub(crate) format: FolderFormat,
    pub(crate) id: String,
    pub(crate) version: i64,
    pub(crate) schema: SchemaRef,
    pub(crate) columns: Arc<ColumnMapping>,
    pub(crate) folder: Folder,
    /// The name of the newest file of the log, below the folder.
    pub(crate) newest: String,
}

/// The metadata of a version from which its files are listed.
pub(crate) trait Contents: Debug + Send + Sync {
    /// Lists the files, except the ones that `filter` rules out.
    fn dataset(&self, head: &Head, filter: Option<&Predicate>) -> Result<Dataset>;
}

impl LakeVersion {
    /// The folder or URL of the table.
    pub fn location(&self) -> &str {
        &self.head.location
    }

    /// The table format.
    pub fn format(&self) -> FolderFormat {
        self.head.format
    }

    /// The number of a commit of Delta Lake, or the ID of a snapshot of Iceberg.
    pub fn version(&self) -> i64 {
        self.head.version
    }

    /// The columns of the table.
    pub fn schema(&self) -> &SchemaRef {
        &self.head.schema
    }

    /// Lists the files, except the ones that cannot have a row for which `filter` is true, as [`LakeOptions::filter`] does.
    ///
    /// # Errors
    /// As [`open`](crate::open).
    pub fn open(self, filter: Option<&Predicate>) -> Result<Lake> {
        let Self { head, contents } = self;
        let dataset = contents.dataset(&head, filter)?;
        Ok(Lake { head, dataset })
    }
}

/// A file of a table's log that was the newest one, by which [`is_latest`](crate::is_latest) finds out whether it still is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// The name below the table's folder.
    pub name: String,
    /// The state of the file.
    pub version: FileVersion,
}

impl Lake {
    /// The folder or URL of the table.
    pub fn location(&self) -> &str {
        &self.head.location
    }

    /// The table format.
    pub fn format(&self) -> FolderFormat {
        self.head.format
    }

    /// The identity of the table, which a table that is made again in the same place does not have.
    pub fn id(&self) -> &str {
        &self.head.id
    }

    /// How the table's columns are found in its files.
    pub fn columns(&self) -> &Arc<ColumnMapping> {
        &self.head.columns
    }

    /// The newest file of the log when the table was opened, also if an earlier version was chosen; `None` if it is gone. Takes one
    /// system call, or one request.
    ///
    /// # Errors
    /// [`Error::Io`] if the storage fails.
    pub fn log_file(&self) -> Result<Option<LogFile>> {
        let version = self.head.folder.version(&self.head.newest)?;
        Ok(version.map(|version| LogFile { name: self.head.newest.clone(), version }))
    }

    /// The version that was read: the number of a commit of Delta Lake, or the ID of a snapshot of Iceberg.
    pub fn version(&self) -> i64 {
        self.head.version
    }

    /// The columns of the table.
    pub fn schema(&self) -> &SchemaRef {
        self.dataset.schema()
    }

    /// The rows of the table.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// The rows of the table.
    pub fn into_dataset(self) -> Dataset {
        self.dataset
    }
}

/// Options for opening a table.
#[derive(Debug, Clone, Default)]
pub struct LakeOptions {
    pub(crate) at: Option<At>,
    pub(crate) dataset: DatasetOptions,
    pub(crate) filter: Option<Predicate>,
}

impl LakeOptions {
    /// The latest version, with the default options of datasets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads an earlier version of the table.
    #[must_use]
    pub fn at(mut self, at: At) -> Self {
        self.at = Some(at);
        self
    }

    /// Leaves out files that cannot have a row for which the predicate is true, by the metadata of the table alone. They are left out while
    /// the metadata is read, so that they take no memory. The other files have other rows too: scan them with the predicate.
    #[must_use]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.filter = Some(predicate);
        self
    }

    /// Sets the options for the files. Schema and partition columns always come from the table.
    #[must_use]
    pub fn dataset(mut self, options: DatasetOptions) -> Self {
        self.dataset = options;
        self
    }
}

/// A version of a table.
///
/// ```
/// use lath_lake::At;
///
/// assert_eq!("7".parse::<At>()?, At::Version(7));
/// assert_eq!("1970-01-01 00:00:01Z".parse::<At>()?, At::Time(1_000_000));
/// assert_eq!("audit".parse::<At>()?, At::Name("audit".to_owned()));
/// # Ok::<(), lath_lake::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The number of a commit of Delta Lake, or the ID of a snapshot of Iceberg.
    Version(i64),
    /// The latest version that is not younger than this time, in microseconds since 1970 in UTC.
    Time(i64),
    /// A branch or tag of Iceberg.
    Name(String),
}

/// Digits are a version, a date with or without a time is a time (of UTC, unless it has an offset), other text is a name.
impl FromStr for At {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::invalid("expected a version, a time or a name, found an empty text"));
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text
                .parse()
                .map(Self::Version)
                .map_err(|_| Error::invalid(format!("{text} is more than the largest version, {}", i64::MAX)));
        }
        Ok(match string_to_datetime(&Utc, text) {
            Ok(time) => Self::Time(time.timestamp_micros()),
            Err(_) => Self::Name(text.to_owned()),
        })
    }
}
