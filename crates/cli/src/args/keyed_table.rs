//! Arguments of `table`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use lath_writer::parse_byte_size;

use super::{DecodeArgs, FileFormat, InputArgs, OpenArgs, OutputArgs, TextArgs};

use super::folder::folder;
use super::wait::parse_wait;

pub(super) const HELP: &str = "\
A table is a folder: its store has the new rows, plain Parquet files the older ones. Commits are durable
when a command ends. One process at a time writes; any number read meanwhile.

A KEY is the text of the key column; for a key of several columns, their texts, separated by commas and quoted where they
contain commas.

With LATH_KEY (64 hexadecimal digits), or LATH_KEY_COMMAND that prints them, new tables are encrypted, and encrypted ones are
opened.

Examples:
  lath table create orders --key id orders.parquet
  lath table upsert orders changes.csv
  lath table get orders 17 42
  lath table scan orders --where \"price > 100\" --limit 10
  lath table delete orders --where \"state = 'cancelled'\"";

/// A command on a table.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyedTable {
    /// Create a table with the columns of files, and load their rows; or with columns in SQL
    #[cfg_attr(
        feature = "sql",
        command(after_help = CREATE_HELP, mut_arg("files", |files| files.required(false).required_unless_present("columns")))
    )]
    #[cfg_attr(not(feature = "sql"), command(after_help = CREATE_HELP))]
    Create(Box<CreateArgs>),
    /// Create a table of the files of a table of Delta Lake or Iceberg, or of a folder, without copying their rows
    #[command(after_help = IMPORT_HELP)]
    Import(Box<ImportArgs>),
    /// Put the rows of files into a table; a row replaces the row with the same key
    #[command(after_help = UPSERT_HELP)]
    Upsert(Box<UpsertArgs>),
    /// Print the rows with these keys
    #[command(
        after_help = "Exits 1 if a key is missing; the others are printed.\n\nExamples:\n  lath table get orders 17 42\n  lath table get stock 'Oslo,17' --format vertical"
    )]
    Get(TableGetArgs),
    /// Delete the rows with these keys, or the rows that satisfy an SQL expression
    #[command(after_help = DELETE_HELP)]
    Delete(Box<TableDeleteArgs>),
    /// Print rows: all, the ones that satisfy an SQL expression, or a range of keys in order
    #[command(
        after_help = "Examples:\n  lath table scan orders --where \"price > 100\" --select id,price\n  lath table scan orders --from 1000 --to 2000 --limit 10\n  lath table scan orders --order-by 'price desc, id' --limit 10\n  lath table scan orders --at monday -o monday.parquet"
    )]
    Scan(TableScanArgs),
    /// Count rows
    #[command(
        after_help = "Examples:\n  lath table count orders\n  lath table count orders --where \"price > 100\"\n  lath table count orders --from 1000 --to 2000"
    )]
    Count(TableCountArgs),
    /// Move rows from the store to files, merge files, and remove files that are no longer needed
    #[command(
        after_help = "A table does all of this by itself while it is written to.\n\nExample:\n  lath table compact orders"
    )]
    Compact(KeyedTableArgs),
    /// Move rows from the store to files
    #[command(
        after_help = "The background thread of a process that writes does this when enough rows are in the store.\n\nExample:\n  lath table flush orders"
    )]
    Flush(KeyedTableArgs),
    /// Change the columns of a table and the life of its rows, as ALTER TABLE of SQL does
    #[cfg(feature = "sql")]
    #[command(after_help = ALTER_HELP)]
    Alter(TableAlterArgs),
    /// Drop a table of a database, with its rows
    #[command(
        after_help = "Its rows cannot be read any more, also not as of a kept snapshot. A backup has them.\n\nExample:\n  lath table drop shop --table orders"
    )]
    Drop(KeyedTableArgs),
    /// Compare every file, mask, index and count with each other
    #[command(
        after_help = "Prints a line for each problem. Exits 3 if there is one.\n\nExample:\n  lath table check orders"
    )]
    Check(KeyedTableArgs),
    /// Repair a table from its rows: indexes, masks, counts, files that no commit names
    #[command(
        after_help = "Prints a line for each problem that was found. Exits 3 if one is left.\n\nExample:\n  lath table repair orders"
    )]
    Repair(KeyedTableArgs),
    /// Copy a table as its last commit left it, while others may write to it
    #[command(
        after_help = "Files become hard links where the file system has them. TARGET may be a folder of a bucket, which then has the whole backup or none, and\nTABLE the backup in a bucket, which is copied to a new folder.\n\nExamples:\n  lath table backup orders backups/monday\n  lath table backup orders s3://bucket/backups/monday\n  lath table check s3://bucket/backups/monday\n  lath table backup s3://bucket/backups/monday restored"
    )]
    Backup(TableCopyArgs),
    /// Make a table of a backup, and check it
    #[command(
        after_help = "Files become hard links where the file system has them. The backup stays. Prints how intact each restored table is, and exits 3 if one is not.\n\nExamples:\n  lath table restore backups/monday orders\n  lath table restore s3://bucket/backups/monday orders"
    )]
    Restore(TableRestoreArgs),
    /// Keep a copy of a table or a database at most a second behind, read-only for all others, until it is promoted
    #[command(after_help = super::follow::HELP)]
    Follow(super::FollowArgs),
    /// Write all rows, in the order of their keys, as plain Parquet files
    #[command(
        after_help = "With --position-deletes, TARGET gets the table's own files in data/, as hard links where the file system has them,\nand in deletes/ the rows of each that do not count, as Iceberg lists them. Exported links must not be changed in place.\n\nExamples:\n  lath table export orders plain/\n  lath table export orders lake/orders --position-deletes --location s3://lake/orders"
    )]
    Export(TableExportArgs),
    /// Show how many rows and bytes each part of a table has
    #[command(
        after_help = "Examples:\n  lath table stats orders\n  lath table stats orders --json | jq '.files[].rows'"
    )]
    Stats(TableStatsArgs),
    /// Publish a table for programs that read tables of Iceberg or Delta Lake, now and at each flush, or stop it
    #[command(after_help = PUBLISH_HELP)]
    Publish(PublishArgs),
    /// Show the change feed, or turn it on or off
    #[command(after_help = CHANGES_HELP)]
    Changes(ChangesArgs),
    /// List the earlier versions that can be read, or set how long they are kept
    #[command(after_help = HISTORY_HELP)]
    History(HistoryArgs),
    /// Keep the last commit as a named snapshot, for --at, or drop one; without a name, list the snapshots
    #[command(
        after_help = "A snapshot keeps the files that it needs.\n\nExamples:\n  lath table snapshot orders monday\n  lath table snapshot orders monday --drop\n  lath table snapshot orders"
    )]
    Snapshot(SnapshotArgs),
}

const HISTORY_HELP: &str = "\
Each line has the number of a version and the time (UTC) since which it was the state. The history has all tables of a
database. The files that earlier versions need stay.

Examples:
  lath table history shop --table orders --keep 7d
  lath table history shop --table orders
  lath table scan shop --table orders --at 2026-11-28T12:00
  lath table get shop --table orders 4711 --at 17";

const CREATE_HELP: &str = "\
FILES are Parquet, CSV, JSON lines or Arrow IPC. If a key repeats, the last row wins. If the command fails, there is no
table.

Examples:
  lath table create orders --key id orders.parquet
  lath table create stock --key city,item 'stock/*.csv' --type item=string
  lath table create events --key id --cluster-by ts events.parquet
  lath table create orders --key id --cold s3://bucket/orders orders.parquet
  lath table create empty --key id orders.parquet --no-rows
  lath table create orders --columns 'id BIGINT, name VARCHAR' --key id
  lath table create shop --table logs --columns 'at TIMESTAMP, line VARCHAR' rows.csv";

#[cfg(feature = "sql")]
const ALTER_HELP: &str = "\
CHANGE is what follows ALTER TABLE and the name in SQL: one change, whose cost does not depend on the number of rows.

Examples:
  lath table alter orders 'ADD COLUMN note VARCHAR'
  lath table alter orders 'RENAME COLUMN note TO remark'
  lath table alter shop --table orders 'ALTER COLUMN count TYPE BIGINT'
  lath table alter events \"SET TTL at + INTERVAL '30 days'\"";

const IMPORT_HELP: &str = "\
The table gets hard links to the files of SOURCE, of which only the key is decoded. Files that have other columns than the table, values from
folder names, or repeated keys are written again, and the command says which. Rows that are deleted in SOURCE stay deleted. Two rows with the same
key are an error. If the command fails, there is no table. Linked files must not be changed in place.

Examples:
  lath table import orders lake/orders --key id
  lath table import orders lake/orders --key id --at 7 --copy
  lath table import shop --table orders folder/ --key city,item";

const UPSERT_HELP: &str = "\
FILES are Parquet, CSV, JSON lines or Arrow IPC, and have the columns of the table; text is read as the table's types. Each
transaction has --batch rows; if the command fails, those committed before stay.

Examples:
  lath table upsert orders changes.parquet
  lath table upsert orders --insert new.csv
  zcat orders.jsonl.gz | lath table upsert orders --from jsonl -";

const DELETE_HELP: &str = "\
Prints how many rows were deleted. --keys takes the key columns of a file of any format.

Examples:
  lath table delete orders 17 42
  lath table delete orders --where \"state = 'cancelled'\"
  lath table delete orders --keys gone.parquet";

const CHANGES_HELP: &str = "\
Each row has _change (insert, update or delete), _sequence (the number of the commit) and the new row; for a deleted row, its key.
Standard error gets the number to continue with. --follow prints changes as JSON lines as they are committed, until Ctrl-C. --consumer keeps this
number with the table instead: each change is printed at least once, and again if the output could not be written. The changes that a consumer
needs are kept, up to 16,777,216.

Examples:
  lath table changes orders --keep
  lath table changes orders --since 17 --format jsonl
  lath table changes orders --follow | jq -c 'select(._change == \"delete\")'
  lath table changes orders --consumer copy --bootstrap -o new.parquet
  lath table changes orders --consumer copy --follow >> changes.jsonl
  lath table changes orders --consumers
  lath table changes orders --stop";

const PUBLISH_HELP: &str = "\
Metadata of Iceberg, version 3, goes to metadata/ in the table's folder, the log of Delta Lake to _delta_log/. Readers take the table's own files, with
deletion vectors: DuckDB, polars, pyiceberg and deltalake, for example. From then on each flush publishes; rows in the store alone are not
published before the next one. Nothing is written over the metadata of another program.

Examples:
  lath table publish orders --as iceberg
  lath table publish orders --as iceberg,delta --max-age 60
  lath table publish ports --as iceberg --map-types
  lath table publish orders --now
  lath table publish orders --stop";

/// A table.
#[derive(Debug, Args)]
pub(crate) struct KeyedTableArgs {
    /// The table's folder
    #[arg(value_name = "TABLE", value_parser = folder())]
    pub(crate) folder: PathBuf,
    /// The name of the table, if the folder is a database of several
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Time to wait for another process that writes to the table, or, before writing, for processes that read it while none writes
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_wait)]
    pub(crate) wait: Duration,
    /// Size of the cache on the local disk of a table whose files are in a bucket, such as 10GiB, or 0 for none [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_cache_size)]
    pub(crate) cache_bytes: Option<u64>,
}

fn parse_cache_size(text: &str) -> Result<u64, String> {
    parse_byte_size(text).ok_or_else(|| "a size is expected, such as 512MiB, 10GiB or 0".to_owned())
}

/// A length of time with its unit.
pub(super) fn parse_age(text: &str) -> Result<Duration, String> {
    let unit = match text.as_bytes().last() {
        Some(b's') => 1,
        Some(b'm') => 60,
        Some(b'h') => 3_600,
        Some(b'd') => 86_400,
        _ => return Err("expected a number with s, m, h or d, such as 12h".to_owned()),
    };
    let number = text.get(..text.len() - 1).unwrap_or_default();
    let number: u32 = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    Ok(Duration::from_secs(u64::from(number) * unit))
}

/// A table, and what is read of it.
#[derive(Debug, Args)]
pub(crate) struct TableReadArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// Read this state instead of the last commit: the name of a snapshot, or a version or a time (of UTC, unless it has an
    /// offset) of which the history has the state
    #[arg(long, value_name = "STATE")]
    pub(crate) at: Option<String>,
}

/// A range of keys.
#[derive(Debug, Args)]
pub(crate) struct KeyRangeArgs {
    /// The first key, or the first columns of it
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,
    /// The key to end before, or the first columns of it
    #[arg(long, value_name = "KEY")]
    pub(crate) to: Option<String>,
}

/// Options for reading files of any format.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// Input format [default: by name, else by content]
    #[arg(long = "from", value_name = "FORMAT")]
    pub(crate) format: Option<FileFormat>,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
}

/// Files of any format.
#[derive(Debug, Args)]
pub(crate) struct RowArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Do not turn directories named key=value into columns
    #[arg(long)]
    pub(crate) no_partitions: bool,
    /// Number of rows per transaction
    #[arg(long, value_name = "ROWS", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// The columns of the key, in their order
    #[cfg_attr(
        feature = "sql",
        arg(short, long, value_name = "COLUMNS", value_delimiter = ',', required_unless_present = "columns")
    )]
    #[cfg_attr(not(feature = "sql"), arg(short, long, value_name = "COLUMNS", value_delimiter = ',', required = true))]
    pub(crate) key: Vec<String>,
    /// The columns as CREATE TABLE of SQL has them, instead of the columns of files
    #[cfg(feature = "sql")]
    #[arg(long, value_name = "SQL", conflicts_with = "no_rows")]
    pub(crate) columns: Option<String>,
    /// Sort files by these columns before the key, so that conditions on them read little
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) cluster_by: Vec<String>,
    /// Have the Parquet files of the table below this URL of a bucket, such as s3://bucket/prefix; a table of a database has a folder there
    #[arg(long, value_name = "URL")]
    pub(crate) cold: Option<String>,
    /// Take only the columns of the files
    #[arg(long)]
    pub(crate) no_rows: bool,
    #[command(flatten)]
    pub(crate) rows: RowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// The folder of a table of Delta Lake or Iceberg, or a folder of Parquet files
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// The columns of the key, in their order
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',', required = true)]
    pub(crate) key: Vec<String>,
    /// Copy the files instead of linking them
    #[arg(long)]
    pub(crate) copy: bool,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpsertArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// Reject rows whose keys exist
    #[arg(long)]
    pub(crate) insert: bool,
    #[command(flatten)]
    pub(crate) rows: RowArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TableGetArgs {
    #[command(flatten)]
    pub(crate) read: TableReadArgs,
    /// The keys
    #[arg(value_name = "KEY", required = true, allow_negative_numbers = true)]
    pub(crate) keys: Vec<String>,
    /// The columns to show [default: all]
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',', visible_alias = "columns")]
    pub(crate) select: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TableDeleteArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// The keys
    #[arg(value_name = "KEY", required_unless_present_any = ["predicate", "key_file"], conflicts_with_all = ["predicate", "key_file"], allow_negative_numbers = true)]
    pub(crate) keys: Vec<String>,
    /// Delete the rows that satisfy this SQL expression
    #[arg(short = 'w', long = "where", value_name = "EXPR", conflicts_with = "key_file")]
    pub(crate) predicate: Option<String>,
    /// Delete the rows with the keys of this file
    #[arg(long = "keys", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TableScanArgs {
    #[command(flatten)]
    pub(crate) read: TableReadArgs,
    /// Only the rows that satisfy this SQL expression
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub(crate) predicate: Option<String>,
    #[command(flatten)]
    pub(crate) range: KeyRangeArgs,
    /// Print rows in the order of their keys
    #[arg(long)]
    pub(crate) ordered: bool,
    /// Print rows in this order: columns, each with ASC or DESC and NULLS FIRST or NULLS LAST [default: ascending, nulls last]
    /// [example: "price desc, id"]
    #[cfg(feature = "sql")]
    #[arg(long, value_name = "ORDER", conflicts_with_all = ["from", "to", "ordered", "explain"])]
    pub(crate) order_by: Option<String>,
    /// The columns to show [default: all]
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',', visible_alias = "columns")]
    pub(crate) select: Option<Vec<String>>,
    /// Stop after this many rows
    #[arg(short = 'n', long, value_name = "ROWS")]
    pub(crate) limit: Option<u64>,
    /// Show what each stage pruned, the bytes read and the time taken, instead of the rows
    #[arg(long, conflicts_with_all = ["from", "to", "ordered"])]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TableCountArgs {
    #[command(flatten)]
    pub(crate) read: TableReadArgs,
    /// Count only the rows that satisfy this SQL expression
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub(crate) predicate: Option<String>,
    #[command(flatten)]
    pub(crate) range: KeyRangeArgs,
}

/// A table, and the folder of its copy.
#[derive(Debug, Args)]
pub(crate) struct TableCopyArgs {
    /// The folder of the table, or of a database; or the URL of a backup
    #[arg(value_name = "TABLE", value_parser = folder())]
    pub(crate) folder: PathBuf,
    /// The new folder, which must be empty or not exist; or the URL of a folder in a bucket, which has no backup yet
    #[arg(value_name = "TARGET", value_parser = folder())]
    pub(crate) target: PathBuf,
    /// Time to wait for a process that has the table open in a way that excludes reading
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_wait)]
    pub(crate) wait: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct TableRestoreArgs {
    /// The folder of the backup, or the URL of one in a bucket
    #[arg(value_name = "BACKUP", value_parser = folder())]
    pub(crate) backup: PathBuf,
    /// The new folder, which must be empty or not exist
    #[arg(value_name = "TABLE", value_parser = folder())]
    pub(crate) folder: PathBuf,
    /// Time to wait for a process that has the backup open in a way that excludes reading
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_wait)]
    pub(crate) wait: Duration,
}

#[cfg(feature = "sql")]
#[derive(Debug, Args)]
pub(crate) struct TableAlterArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// The change, as SQL
    #[arg(value_name = "CHANGE")]
    pub(crate) change: String,
}

#[derive(Debug, Args)]
pub(crate) struct TableExportArgs {
    #[command(flatten)]
    pub(crate) read: TableReadArgs,
    /// The folder of the Parquet files, which must be empty or not exist
    #[arg(value_name = "TARGET", value_parser = folder())]
    pub(crate) target: PathBuf,
    /// Take the files as they are, and list the rows that were deleted or replaced
    #[arg(long)]
    pub(crate) position_deletes: bool,
    /// The final location of TARGET, for the paths in the lists of deletes [default: its absolute path]
    #[arg(long, value_name = "URL", requires = "position_deletes")]
    pub(crate) location: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TableStatsArgs {
    #[command(flatten)]
    pub(crate) read: TableReadArgs,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChangesArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// Print the changes of commits after this number [default: all that are kept]
    #[arg(long, value_name = "SEQUENCE")]
    pub(crate) since: Option<u64>,
    /// Print the rows of the table as inserts before the changes: of the last commit, or of a kept snapshot
    #[arg(long, value_name = "SNAPSHOT", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["since", "keep", "stop"])]
    pub(crate) bootstrap: Option<String>,
    /// Print what this consumer has not been given yet. Its position is stored with the table once the output is written; a new name
    /// begins with the last commit, or with --bootstrap
    #[arg(long, value_name = "NAME", conflicts_with_all = ["since", "keep", "stop"])]
    pub(crate) consumer: Option<String>,
    /// List the consumers
    #[arg(long, conflicts_with_all = ["since", "bootstrap", "consumer", "follow", "keep", "stop"])]
    pub(crate) consumers: bool,
    /// Drop the consumer with this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["since", "bootstrap", "consumer", "consumers", "follow", "keep", "stop"])]
    pub(crate) drop_consumer: Option<String>,
    /// Go on with the changes of later commits, also of other processes
    #[arg(long, conflicts_with_all = ["keep", "stop"])]
    pub(crate) follow: bool,
    /// Wait until the table exists and keeps changes, instead of ending with an error
    #[arg(long, requires = "follow")]
    pub(crate) await_source: bool,
    /// Keep changes from now on, of at most this many rows
    #[arg(long, value_name = "ROWS", num_args = 0..=1, require_equals = true, default_missing_value = "1048576", conflicts_with = "since")]
    pub(crate) keep: Option<u64>,
    /// Stop keeping changes, and drop the kept ones
    #[arg(long, conflicts_with_all = ["since", "keep"])]
    pub(crate) stop: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[group(id = "action", args = ["formats", "now", "stop"], required = true)]
pub(crate) struct PublishArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// Publish in these formats, now and at each flush
    #[arg(long = "as", value_name = "FORMATS", value_delimiter = ',')]
    pub(crate) formats: Vec<PublishFormat>,
    /// Time for which the files of older snapshots stay for readers that have begun
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = parse_wait, requires = "formats")]
    pub(crate) keep_snapshots: Duration,
    /// Flush when the published snapshot is older than this, while a program has the table open for writing
    #[arg(long, value_name = "SECONDS", value_parser = parse_wait, requires = "formats")]
    pub(crate) max_age: Option<Duration>,
    /// Publish columns of types that the format lacks in a wider type: UInt8 and UInt16 as int, Float16 as float
    #[arg(long, requires = "formats")]
    pub(crate) map_types: bool,
    /// Flush, and publish the last commit
    #[arg(long)]
    pub(crate) now: bool,
    /// Stop publishing, and remove the metadata
    #[arg(long)]
    pub(crate) stop: bool,
}

/// A format in which tables are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PublishFormat {
    /// Apache Iceberg, version 3
    Iceberg,
    /// Delta Lake, with deletion vectors
    Delta,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// Keep the versions of the last seconds, minutes, hours or days from now on (30s, 5m, 12h, 7d) [default with
    /// --commits: 1d]
    #[arg(long, value_name = "AGE", value_parser = parse_age, conflicts_with = "stop")]
    pub(crate) keep: Option<Duration>,
    /// Keep at most this number of earlier versions [default with --keep: 10000]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "stop")]
    pub(crate) commits: Option<u64>,
    /// Drop all earlier versions, and keep none from now on
    #[arg(long)]
    pub(crate) stop: bool,
    /// Print a JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotArgs {
    #[command(flatten)]
    pub(crate) table: KeyedTableArgs,
    /// The name of the snapshot
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Drop the snapshot with this name
    #[arg(long, requires = "name")]
    pub(crate) drop: bool,
}
