//! The command line: subcommands, options and help texts.

mod catalog;
mod convert;
mod destination;
mod folder;
mod follow;
mod generate;
mod keyed_table;
mod kv;
mod rewrite;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "sql")]
mod sql;
mod table;
mod uploads;
mod wait;
#[cfg(feature = "cluster")]
mod worker;
mod write;

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use lath_parquet::{Int96Unit, Pruning};

pub(crate) use catalog::{
    CatalogAddArgs, CatalogArgs, CatalogCommand, CatalogRemoveArgs, CatalogWatchArgs, SearchInputArgs,
};
pub(crate) use convert::{ConvertArgs, CsvArgs, FileFormat, TextArgs};
pub(crate) use destination::{DestinationArgs, ReportArgs};
pub(crate) use follow::FollowArgs;
pub(crate) use generate::{EventsArgs, Generate, TpchArgs};
#[cfg(feature = "sql")]
pub(crate) use keyed_table::TableAlterArgs;
pub(crate) use keyed_table::{
    ChangesArgs, CreateArgs, FileArgs, HistoryArgs, ImportArgs, KeyRangeArgs, KeyedTable, KeyedTableArgs, PublishArgs,
    PublishFormat, RowArgs, SnapshotArgs, TableCopyArgs, TableCountArgs, TableDeleteArgs, TableExportArgs,
    TableGetArgs, TableReadArgs, TableRestoreArgs, TableScanArgs, TableStatsArgs, UpsertArgs,
};
pub(crate) use kv::{
    BytesFormat, CopyArgs, DelArgs, DumpArgs, EntryFileFormat, EntryFormat, GetArgs, Kv, KvCountArgs, LoadArgs,
    PutArgs, RangeArgs, ScanArgs, StoreArgs, TreeArgs, TreesArgs,
};
pub(crate) use rewrite::{MergeArgs, RewriteArgs, SplitArgs};
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArgs;
#[cfg(feature = "sql")]
pub(crate) use sql::{DescribeArgs, SqlArgs};
pub(crate) use table::{SchemaChoice, TableArgs};
pub(crate) use uploads::UploadsArgs;
#[cfg(feature = "cluster")]
pub(crate) use worker::WorkerArgs;
pub(crate) use write::{Choice, ProfileName, SortArgs, WriteArgs};

const ABOUT: &str = "Inspect, search, write, convert and check Parquet files";

const EXAMPLES: &str = "\
Examples:
  lath schema trips.parquet                    the columns of a file
  lath head -n 5 trips.parquet                 its first rows
  lath find data/ --where \"city = 'Oslo' AND price > 10\" --select id,price
  lath cat 'data/*.parquet' --format csv -o all.csv
  lath check data/                             decode everything and compare it with the metadata

FILES are Parquet files (schema, count, head, tail, sample, cat, find and describe also read CSV, JSON lines and Arrow IPC), directories (searched for *.parquet; names that start with . or _ are skipped),
folders of tables (see lath table), globs in quotes, URLs (s3://, gs://, az://, http://, https://), @LIST for a file with one location per line, or - for
standard input. A terminal gets a table, a pipe gets JSON lines.

Exit codes: 0 success, 1 nothing found or a mismatch, 2 usage error, 3 corrupt input, 4 I/O error;
128 plus the signal's number after a signal (130 after Ctrl-C).";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "lath", version, about = ABOUT, after_help = EXAMPLES, max_term_width = 110, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the Parquet schema, and the Arrow schema that it is read as
    #[command(after_help = "Examples:\n  lath schema trips.parquet\n  lath schema trips.parquet --json | jq .arrow")]
    Schema(SchemaArgs),
    /// Show row groups, columns, encodings, sizes, statistics and indexes; reads no data pages
    #[command(
        after_help = "Examples:\n  lath meta trips.parquet\n  lath meta trips.parquet --row-groups 0 --columns price\n  lath meta trips.parquet --json | jq '.row_groups[0].columns[].compressed_bytes'"
    )]
    Meta(MetaArgs),
    /// Count the rows
    #[command(after_help = COUNT_HELP)]
    Count(CountArgs),
    /// Show the first rows
    #[command(after_help = "Example:\n  lath head -n 3 trips.parquet --columns id,rider.plan")]
    Head(RowsArgs),
    /// Show the last rows
    #[command(after_help = "Example:\n  lath tail -n 3 trips.parquet")]
    Tail(RowsArgs),
    /// Show a uniform random sample of the rows, in file order
    #[command(after_help = "Example:\n  lath sample -n 100 --seed 7 data/ --format csv")]
    Sample(SampleArgs),
    /// Print all rows, or write them in another format
    #[command(
        after_help = "Examples:\n  lath cat trips.parquet | jq .price\n  lath cat data/ --format arrow | python -c 'import pyarrow.ipc, sys; print(pyarrow.ipc.open_stream(sys.stdin.buffer).read_all())'\n  lath cat data/ --columns id,price -o slim.parquet"
    )]
    Cat(CatArgs),
    /// Decode everything and compare it with checksums, counts, statistics, Bloom filters and page index
    #[command(
        after_help = "Prints a line for each problem, or one line for a file without problems. Exits 0 if there is no problem, 1 if the metadata disagrees\nwith the data, 3 if something cannot be decoded.\n\nExample:\n  lath check data/"
    )]
    Check(CheckArgs),
    /// Find the rows that satisfy an SQL expression
    #[command(after_help = FIND_HELP)]
    Find(FindArgs),
    /// Describe the values of each column: counts, nulls, distinct values, smallest, largest, mean and quantiles
    #[cfg(feature = "sql")]
    #[command(after_help = sql::DESCRIBE_HELP)]
    Describe(DescribeArgs),
    /// Run SQL over files; without a statement, at a prompt
    #[cfg(feature = "sql")]
    #[command(after_help = sql::SQL_HELP)]
    Sql(SqlArgs),
    /// Rewrite Parquet files with other encodings, codecs, indexes, columns, rows or order
    #[command(after_help = rewrite::REWRITE_HELP)]
    Rewrite(Box<RewriteArgs>),
    /// Merge several Parquet files into one: sorted inputs in order, others one after the other
    #[command(after_help = rewrite::MERGE_HELP)]
    Merge(Box<MergeArgs>),
    /// Split Parquet files by rows, row groups or bytes
    #[command(after_help = rewrite::SPLIT_HELP)]
    Split(Box<SplitArgs>),
    /// Convert between Parquet, CSV, JSON lines and Arrow IPC
    #[command(after_help = convert::HELP)]
    Convert(Box<ConvertArgs>),
    /// Generate data: the tables of TPC-H, or spans of traces
    #[command(
        after_help = "Examples:\n  lath gen tpch --sf 1 --table lineitem -o lineitem.parquet\n  lath gen events --rows 1000000 -o events.parquet"
    )]
    Gen {
        #[command(subcommand)]
        what: Generate,
    },
    /// Read and write an ordered key-value store
    #[command(
        after_help = "Keys are ordered by their bytes. Each command is one transaction, except for load. With LATH_KEY (64\nhexadecimal digits), or LATH_KEY_COMMAND that prints them, new stores are encrypted, and encrypted ones are opened.\n\nExamples:\n  lath kv put colours.lath sky blue\n  lath kv get colours.lath sky\n  lath kv scan colours.lath --prefix s"
    )]
    Kv {
        #[command(subcommand)]
        what: Kv,
    },
    /// Create, change and read tables with a primary key
    #[command(after_help = keyed_table::HELP)]
    Table {
        #[command(subcommand)]
        what: KeyedTable,
    },
    /// Keep metadata of many files in a catalog, so that find, count and sql open only files that can have matching rows
    #[command(
        after_help = "Examples:\n  lath catalog add data/ --key id\n  lath find data/ --where \"id = 4711\"\n  lath catalog add s3://bucket/trips/ --catalog trips.catalog\n  lath find --catalog trips.catalog --where \"id = 4711\""
    )]
    Catalog {
        #[command(subcommand)]
        what: CatalogCommand,
    },
    /// Serve a database to other programs, as a catalog of Iceberg or by Arrow Flight SQL, until Ctrl-C
    #[cfg(feature = "serve")]
    #[command(after_help = serve::HELP)]
    Serve(ServeArgs),
    /// List uploads to a bucket that were not completed, and abort them
    #[command(after_help = uploads::HELP)]
    Uploads(UploadsArgs),
    /// Compute parts of the queries of lath sql --cluster, until Ctrl-C
    #[cfg(feature = "cluster")]
    #[command(after_help = worker::HELP)]
    Worker(WorkerArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  lath completions bash > ~/.local/share/bash-completion/completions/lath\n  lath completions fish > ~/.config/fish/completions/lath.fish"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[cfg(not(feature = "sql"))]
const COUNT_HELP: &str = "\
Examples:
  lath count data/
  lath count 'data/2025-*.parquet' --where \"price IS NULL\"
  lath count data/ --where \"price IS NULL\" --explain";

#[cfg(feature = "sql")]
const COUNT_HELP: &str = "\
Examples:
  lath count data/
  lath count 'data/2025-*.parquet' --where \"price IS NULL\"
  lath count data/ --where \"price IS NULL\" --explain
  lath count data/ --by city,rider.plan --limit 10";

const FIND_HELP: &str = "\
The expression is what SQL allows after WHERE:
  =  <>  <  <=  >  >=  IS [NOT] DISTINCT FROM  [NOT] BETWEEN … AND …  [NOT] IN (…)
  [NOT] LIKE 'a%_'  ILIKE  IS [NOT] NULL  IS [NOT] TRUE  AND  OR  NOT  ( )
Columns: price, rider.age (a field of a struct), \"odd name\". Literals:
  12  -3.75  1e6  'text'  TRUE  NULL  X'CAFE'
  DATE '2025-01-31'  TIME '08:30:00'  TIMESTAMP '2025-01-31 08:30:00.25+01:00'
A string is read as a date, time, timestamp or UUID where the column has that type.

Examples:
  lath find trips.parquet --where \"price > 20 AND rider.plan = 'day'\"
  lath find data/ --where \"id = '6f1c1e7e-4a6b-4c1e-9f57-1f1f6b0a7a11'\" --limit 1
  lath find data/ --where \"started >= '2025-02-01' AND note LIKE '%rain%'\" --select id,started,note --format csv
  lath find data/ --where \"price > 20\" --file-name file --row-number row --unordered
  lath find data/ --where \"price > 20\" --explain
  lath find --catalog lake.catalog --where \"id = 4711\"";

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MetaArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Write everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Only these columns, by path
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Only these row groups: numbers from 0 and ranges such as 0,2-4
    #[arg(long, value_name = "LIST", value_parser = parse_row_groups)]
    pub(crate) row_groups: Option<RowGroupList>,
    /// Also show every page of the page index
    #[arg(long)]
    pub(crate) pages: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub(crate) inputs: SearchInputArgs,
    /// Count only the rows that satisfy this SQL expression
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub(crate) predicate: Option<String>,
    /// Count the rows of each group that is equal in these columns, by path; the largest group first
    #[cfg(feature = "sql")]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', conflicts_with_all = ["explain", "no_prune"])]
    pub(crate) by: Option<Vec<String>>,
    /// Show only this many groups
    #[cfg(feature = "sql")]
    #[arg(short = 'n', long, value_name = "GROUPS", requires = "by")]
    pub(crate) limit: Option<u64>,
    /// Print the report of --explain as JSON
    #[arg(long, requires = "explain")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) pruning: PruningArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[cfg(feature = "sql")]
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The number of rows, and the files and columns.
#[derive(Debug, Args)]
pub(crate) struct RowsArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Number of rows
    #[arg(short = 'n', long, default_value_t = 10, value_name = "ROWS")]
    pub(crate) rows: u64,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    pub(crate) rows: RowsArgs,
    /// Seed of the random numbers; the same seed gives the same rows
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Only these columns, by path
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Print nothing for files without problems
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    #[command(flatten)]
    pub(crate) inputs: SearchInputArgs,
    /// The rows to find, as an SQL expression (see below)
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub(crate) predicate: String,
    /// The columns to show, by path [default: all]
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',', visible_alias = "columns")]
    pub(crate) select: Option<Vec<String>>,
    /// Write rows in this order: columns, each with ASC or DESC and NULLS FIRST or NULLS LAST [default: ascending, nulls last]
    /// [example: "price desc, started"]
    #[cfg(feature = "sql")]
    #[arg(long, value_name = "ORDER", conflicts_with_all = ["explain", "no_prune", "row_groups", "file_name", "row_number", "unordered"])]
    pub(crate) order_by: Option<String>,
    /// Stop after this many rows
    #[arg(short = 'n', long, value_name = "ROWS")]
    pub(crate) limit: Option<u64>,
    /// Only these row groups: numbers from 0 and ranges such as 0,2-4
    #[arg(long, value_name = "LIST", value_parser = parse_row_groups)]
    pub(crate) row_groups: Option<RowGroupList>,
    /// Add a column of this name with the file of each row
    #[arg(long, value_name = "COLUMN")]
    pub(crate) file_name: Option<String>,
    /// Add a column of this name with the number of each row in its file, from 0
    #[arg(long, value_name = "COLUMN")]
    pub(crate) row_number: Option<String>,
    /// Write rows as soon as they are found, in any order
    #[arg(long)]
    pub(crate) unordered: bool,
    #[command(flatten)]
    pub(crate) pruning: PruningArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Options for pruning row groups and pages.
#[derive(Debug, Args)]
pub(crate) struct PruningArgs {
    /// Show what each stage pruned, the bytes read and the time taken, instead of the rows
    #[arg(long, help_heading = "Search")]
    pub(crate) explain: bool,
    /// Turn off pruning of row groups and pages, or only these kinds of it
    #[arg(long, value_name = "KINDS", help_heading = "Search", num_args = 0.., require_equals = true, value_delimiter = ',', default_missing_value = "all")]
    pub(crate) no_prune: Vec<Evidence>,
}

impl PruningArgs {
    /// The kinds of pruning that are on.
    pub(crate) fn pruning(&self) -> Pruning {
        let mut pruning = Pruning::default();
        for evidence in &self.no_prune {
            match evidence {
                Evidence::All => pruning = Pruning::none(),
                Evidence::Statistics => pruning.statistics = false,
                Evidence::Bloom => pruning.bloom = false,
                Evidence::Dictionary => pruning.dictionary = false,
                Evidence::PageIndex => pruning.page_index = false,
            }
        }
        pruning
    }
}

/// A kind of pruning of row groups and pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Evidence {
    /// Every kind
    All,
    /// Statistics of column chunks
    Statistics,
    /// Bloom filters
    Bloom,
    /// Dictionary pages
    Dictionary,
    /// The page index
    PageIndex,
}

/// The files, and the keys of encrypted ones.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Parquet files, directories, globs, URLs, @LIST (a file that lists these), or - for standard input
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}

/// Options for opening files: the keys of encrypted ones, and the unit of INT96 timestamps.
#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Key of an encrypted footer, in hexadecimal
    #[arg(long, value_name = "HEX", help_heading = "Decryption")]
    pub(crate) footer_key: Option<String>,
    /// Key of an encrypted column, in hexadecimal; may be given several times
    #[arg(long, value_name = "PATH=HEX", help_heading = "Decryption")]
    pub(crate) column_key: Vec<String>,
    /// AAD prefix, where the file does not store it
    #[arg(long, value_name = "TEXT", help_heading = "Decryption")]
    pub(crate) aad_prefix: Option<String>,
    /// Read the Parquet files of tables (with a primary key, of Delta Lake, Iceberg or Hudi) as plain files, with rows that were deleted
    #[arg(long, help_heading = "Decoding")]
    pub(crate) plain_files: bool,
    /// Read a table of Delta Lake or Iceberg at an earlier version or time (of UTC), or a branch or tag [example: 7]
    #[cfg(feature = "lake")]
    #[arg(long, value_name = "VERSION|TIME|NAME", help_heading = "Table")]
    pub(crate) at: Option<String>,
    /// Unit of the timestamps in INT96 columns [default: ns; check takes ms]
    #[arg(long, value_name = "UNIT", help_heading = "Decoding")]
    pub(crate) int96_unit: Option<TimestampUnit>,
}

impl OpenArgs {
    /// Whether keys are given.
    pub(crate) fn has_keys(&self) -> bool {
        self.footer_key.is_some() || !self.column_key.is_empty() || self.aad_prefix.is_some()
    }
}

/// The unit of the timestamps in INT96 columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimestampUnit {
    /// Nanoseconds: the years 1677 to 2262
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
}

impl From<TimestampUnit> for Int96Unit {
    fn from(unit: TimestampUnit) -> Self {
        match unit {
            TimestampUnit::Ns => Self::Nanoseconds,
            TimestampUnit::Us => Self::Microseconds,
            TimestampUnit::Ms => Self::Milliseconds,
        }
    }
}

/// Columns and row groups to read.
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// Only these columns or nested fields, by path, in this order [default: all]
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Only these row groups: numbers from 0 and ranges such as 0,2-4
    #[arg(long, value_name = "LIST", value_parser = parse_row_groups)]
    pub(crate) row_groups: Option<RowGroupList>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
}

/// Options for decoding pages.
#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    /// Number of decoding threads [default: one per core; 1 for head, tail and sample]
    #[arg(long, value_name = "COUNT", help_heading = "Decoding", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Maximum number of rows in a batch
    #[arg(long, value_name = "ROWS", help_heading = "Decoding", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch_size: u32,
    /// Do not verify the checksums of pages
    #[arg(long, help_heading = "Decoding")]
    pub(crate) no_crc: bool,
    /// Arrow layout of strings [default: offsets for Arrow output, views otherwise]
    #[arg(long, value_name = "LAYOUT", help_heading = "Decoding")]
    pub(crate) strings: Option<StringLayout>,
}

/// The destination and format of rows.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Output format [default: by the name given to -o; else a table on a terminal, JSON lines in a pipe]
    #[arg(short, long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<Format>,
    /// Write to this file; it appears complete or not at all
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

/// Arrow layout of strings and binary values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StringLayout {
    /// Views into the decompressed pages
    Views,
    /// One buffer of bytes with offsets
    Offsets,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns, cut to the width of the terminal
    Table,
    /// One line for each value, below the number of its row
    Vertical,
    /// Comma-separated values with a header line; nested values as JSON
    Csv,
    /// One JSON array of objects
    Json,
    /// One JSON object per line
    Jsonl,
    /// Arrow IPC: a stream on standard output, a file with -o
    Arrow,
    /// Parquet
    Parquet,
}

/// Row groups chosen on the command line, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowGroupList(Vec<RangeInclusive<usize>>);

impl RowGroupList {
    /// The chosen row groups of a file that has `count` of them, in file order.
    ///
    /// # Errors
    /// The first number that is past the end.
    pub(crate) fn resolve(&self, count: usize) -> Result<Vec<usize>, usize> {
        if let Some(range) = self.0.iter().find(|range| *range.end() >= count) {
            return Err(*range.end());
        }
        let mut chosen: Vec<usize> = self.0.iter().cloned().flatten().collect();
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }
}

fn parse_row_groups(text: &str) -> Result<RowGroupList, String> {
    let number = |part: &str| {
        part.trim().parse::<usize>().map_err(|_| format!("{part:?} is not a row group number; write for example 0,2-4"))
    };
    let mut ranges = Vec::new();
    for part in text.split(',') {
        let range = match part.split_once('-') {
            Some((first, last)) => number(first)?..=number(last)?,
            None => number(part)?..=number(part)?,
        };
        if range.is_empty() {
            return Err(format!("the range {part} is empty; write the smaller number first"));
        }
        ranges.push(range);
    }
    Ok(RowGroupList(ranges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_group_lists_are_sorted_and_free_of_doubles() {
        let list = parse_row_groups("4,0-2,1").unwrap();
        assert_eq!(list.resolve(5), Ok(vec![0, 1, 2, 4]));
        assert_eq!(list.resolve(4), Err(4));
    }

    #[test]
    fn malformed_row_group_lists_are_refused() {
        for text in ["", "a", "3-1", "1-", "-1", "1,,2"] {
            assert!(parse_row_groups(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
