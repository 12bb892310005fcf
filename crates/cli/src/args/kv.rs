//! Arguments of `kv`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::folder::folder;
use super::wait::parse_wait;

/// Commands on an ordered store.
#[derive(Debug, Subcommand)]
pub(crate) enum Kv {
    /// Print the values of keys
    #[command(after_help = "Exits 1 if a key is missing.\n\nExample:\n  lath kv get colours.lath sky grass")]
    Get(GetArgs),
    /// Store a value under a key
    #[command(
        after_help = "Creates the store and the tree if they do not exist.\n\nExamples:\n  lath kv put colours.lath sky blue\n  lath kv put index.lath 00ff 2a --keys hex --values hex --tree ids\n  lath kv put buildings.lath street 'Dorset Street' --tree buildings --path office"
    )]
    Put(PutArgs),
    /// Remove keys, or all keys of a range, with the trees that are nested there
    #[command(
        after_help = "Exits 1 if a key is missing; the others are removed. With --prefix, --from or --to, prints how many keys were removed, and exits 1 if there was none. A range of any length takes milliseconds.\n\nExamples:\n  lath kv del colours.lath sky\n  lath kv del colours.lath --prefix s\n  lath kv del colours.lath --from a --to n"
    )]
    Del(DelArgs),
    /// List keys and values in order
    #[command(
        after_help = "Examples:\n  lath kv scan colours.lath --prefix s\n  lath kv scan colours.lath --from a --to n --reverse --limit 10 --format csv"
    )]
    Scan(ScanArgs),
    /// Count keys, without reading them
    #[command(after_help = "Example:\n  lath kv count colours.lath --from a --to n")]
    Count(KvCountArgs),
    /// List the trees of a store and their number of keys
    #[command(
        after_help = "Examples:\n  lath kv trees colours.lath --format jsonl\n  lath kv trees buildings.lath --tree buildings --path office"
    )]
    Trees(TreesArgs),
    /// Put the entries of CSV or JSON lines files into a tree
    #[command(after_help = LOAD_HELP)]
    Load(LoadArgs),
    /// Write all entries of a tree in a format that load reads
    #[command(after_help = "Example:\n  lath kv dump colours.lath --keys hex --values hex -o colours.jsonl")]
    Dump(DumpArgs),
    /// Verify every node, checksum and count
    #[command(
        after_help = "Prints a line for each problem. Exits 3 if there is one.\n\nExample:\n  lath kv check colours.lath"
    )]
    Check(StoreArgs),
    /// Show how a store's space is used, and which readers and snapshots keep space from being freed
    #[command(after_help = "Example:\n  lath kv stats colours.lath")]
    Stats(StoreArgs),
    /// Shrink a store's file to about the size of the data in it
    #[command(
        after_help = "Contents do not change, and other processes may read the store meanwhile. Data that a reader or a snapshot holds is not moved; another run can move it later. Ctrl-C stops early and keeps what has been done.\n\nExample:\n  lath kv compact colours.lath"
    )]
    Compact(StoreArgs),
    /// Copy a store at its last commit, while others may write to it
    #[command(
        after_help = "TARGET may be the URL of an object, and STORE the URL of a backup, which is checked and copied to a new file.\n\nExamples:\n  lath kv backup colours.lath copy.lath\n  lath kv backup colours.lath s3://bucket/colours.lath\n  lath kv check s3://bucket/colours.lath\n  lath kv backup s3://bucket/colours.lath restored.lath"
    )]
    Backup(CopyArgs),
    /// Copy the intact entries of a damaged store to a new one
    #[command(
        after_help = "The damaged store is not changed. Prints a line for each damaged part. Exits 3 if there is one.\n\nExample:\n  lath kv repair damaged.lath repaired.lath"
    )]
    Repair(CopyArgs),
}

const LOAD_HELP: &str = "\
CSV has a header with the columns key and value, in any order; other columns are ignored. JSON lines are objects with key
and value, both strings. Existing entries are replaced. Each transaction has --batch entries; if loading stops halfway,
those committed before stay.

Examples:
  lath kv load colours.lath colours.csv
  lath kv load index.lath - --format jsonl --tree ids --keys base64 < ids.jsonl";

/// A store.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store's file; further files lie next to it
    #[arg(value_name = "STORE", value_parser = folder())]
    pub(crate) store: PathBuf,
    /// Time to wait for another process that writes to the store, before each transaction, or for processes that read it while none writes
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_wait)]
    pub(crate) wait: Duration,
}

/// A store, and the path of its copy.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The new store's file, which must not exist
    #[arg(value_name = "TARGET", value_parser = folder())]
    pub(crate) target: PathBuf,
}

/// A tree of a store, and how its keys and values are written.
#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Name of the tree
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) tree: String,
    /// Key of a tree that is nested in it; again for a tree within that one
    #[arg(long, value_name = "KEY")]
    pub(crate) path: Vec<String>,
    /// Text form of keys
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) keys: BytesFormat,
    /// Text form of values
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) values: BytesFormat,
}

/// Text form of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BytesFormat {
    /// UTF-8 text
    Text,
    /// Two hexadecimal digits per byte
    Hex,
    /// Base64 with + and /, padded
    Base64,
}

/// Output format of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntryFormat {
    /// Aligned columns, cut to the width of the terminal
    Table,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Jsonl,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    /// The keys
    #[arg(value_name = "KEY", required = true)]
    pub(crate) list: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DelArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    /// The keys
    #[arg(value_name = "KEY", required_unless_present_any = ["from", "to", "prefix"], conflicts_with_all = ["from", "to", "prefix"])]
    pub(crate) list: Vec<String>,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    /// The key
    pub(crate) key: String,
    /// The value
    pub(crate) value: String,
    /// Keep an existing value, and exit 1
    #[arg(long)]
    pub(crate) keep: bool,
}

/// A range of keys.
#[derive(Debug, Args)]
pub(crate) struct RangeArgs {
    /// The first key
    #[arg(long, value_name = "KEY", conflicts_with = "prefix")]
    pub(crate) from: Option<String>,
    /// The key to end before
    #[arg(long, value_name = "KEY", conflicts_with = "prefix")]
    pub(crate) to: Option<String>,
    /// Common prefix of the keys
    #[arg(long, value_name = "KEY")]
    pub(crate) prefix: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// List from the last key to the first
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Maximum number of entries
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// Output format [default: a table on a terminal, else JSON lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<EntryFormat>,
}

#[derive(Debug, Args)]
pub(crate) struct KvCountArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TreesArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// List the trees that are nested in the tree with this name, by their keys
    #[arg(long, value_name = "NAME")]
    pub(crate) tree: Option<String>,
    /// Key of a tree that is nested in it; again for a tree within that one
    #[arg(long, value_name = "KEY", requires = "tree")]
    pub(crate) path: Vec<String>,
    /// Text form of keys
    #[arg(long, value_name = "FORM", default_value = "text", requires = "tree")]
    pub(crate) keys: BytesFormat,
    /// Output format [default: a table on a terminal, else JSON lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<EntryFormat>,
}

/// A file of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntryFileFormat {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Jsonl,
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    /// CSV or JSON lines files, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the files [default: by name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<EntryFileFormat>,
    /// Number of entries per transaction
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
}

#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    /// Format [default: by the name of the output, else JSON lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<EntryFileFormat>,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
