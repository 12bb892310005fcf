//! Arguments of commands that the SQL engine answers.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::folder::folder;
use super::wait::parse_wait;
use super::write::parse_size;
use super::{InputArgs, OutputArgs, TableArgs, TextArgs};

/// Examples and rules of `sql`.
pub(super) const SQL_HELP: &str = "\
Any file, folder, glob or URL is a table by its name in quotes; directories called key=value are columns. With --database, tables with a
primary key are created, read and changed: CREATE TABLE, INSERT, UPDATE, DELETE, MERGE. Each statement is one transaction.
Without statements, a terminal gets a prompt: statements end with ;, Tab completes names, .help lists the commands.

Examples:
  lath sql \"SELECT city, count(*) FROM 'trips/*.parquet' GROUP BY city ORDER BY 2 DESC\"
  lath sql \"SELECT * FROM 'orders/' WHERE id = 4711\" --format csv
  lath sql -F report.sql -o report.parquet
  lath sql --database shop \"CREATE TABLE stock (item BIGINT PRIMARY KEY, count BIGINT)\"
  lath sql --database shop \"INSERT OR REPLACE INTO stock SELECT * FROM 'stock.csv'\"
  lath sql --catalog lake.catalog \"SELECT * FROM files WHERE id = 4711\"
  lath sql --cluster 10.0.0.7:9301,10.0.0.8:9301 \"SELECT city, avg(price) FROM 's3://lake/trips/' GROUP BY city\"
  echo \"SELECT max(price) FROM 'trips.parquet'\" | lath sql -
  lath sql";

/// Examples and rules of `describe`.
pub(super) const DESCRIBE_HELP: &str = "\
One row for each column, and for each field of a struct: its type, values, nulls, smallest and largest value; for numbers the mean and
the quantiles at 25, 50 and 75 %; for text, bytes, lists and maps the length of the shortest and the longest, in characters, bytes or
items. Distinct values and quantiles are approximate. Items of lists and maps are not described.

Examples:
  lath describe trips.parquet
  lath describe data/ --columns price,rider --where \"city = 'Oslo'\" --format csv";

/// Resources of the engine.
#[derive(Debug, Args)]
pub(crate) struct EngineArgs {
    /// Number of threads [default: one per core]
    #[arg(short, long, value_name = "NUMBER")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Bound the memory of sorting, joining and grouping; the rest spills to disk [example: 2GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) memory: Option<usize>,
}

/// Arguments of `sql`.
#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// The statements, separated by `;`; `-` reads them from standard input [default: a prompt on a terminal]
    #[arg(value_name = "SQL")]
    pub(crate) text: Option<String>,
    /// Read the statements from this file
    #[arg(short = 'F', long = "file", value_name = "FILE", conflicts_with = "text")]
    pub(crate) file: Option<PathBuf>,
    /// The folder of a database, whose tables can be queried by name; created if it does not exist [example: shop/]
    #[arg(short = 'D', long, value_name = "FOLDER", value_parser = folder())]
    pub(crate) database: Option<PathBuf>,
    /// Refuse statements that change the database
    #[arg(long, requires = "database")]
    pub(crate) read_only: bool,
    /// Time to wait for another process that has the database open in a way that excludes this one [default: 5]
    #[arg(long, value_name = "SECONDS", requires = "database", value_parser = parse_wait)]
    pub(crate) wait: Option<Duration>,
    /// Make the files of this catalog, or of the one in this folder, the table "files" [example: lake.catalog]
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// Run larger queries on these workers, as LATH_CLUSTER says, too; local:4 starts four of them for this command [example: 10.0.0.7:9301,10.0.0.8:9301]
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    pub(crate) cluster: Vec<String>,
    /// Send workers the token in this file, instead of the one in LATH_CLUSTER_TOKEN
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_token_file: Option<PathBuf>,
    /// Trust workers at https:// addresses whose certificates are signed by the authority in this PEM file, as LATH_CLUSTER_CA says, too [default:
    /// the authorities of the system]
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_ca: Option<PathBuf>,
    /// Neither read nor keep the history of the prompt
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Arguments of `describe`.
#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Only these columns or nested fields, by path, in this order [default: all]
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Describe only the rows that satisfy this SQL expression
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub(crate) predicate: Option<String>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
