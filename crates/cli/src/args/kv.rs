//! Arguments of `kv`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What is done with an ordered store.
#[derive(Debug, Subcommand)]
pub(crate) enum Kv {
    /// Print the values of keys
    #[command(
        after_help = "Exits 1 if one of the keys is not there.\n\nExample:\n  lath kv get colours.lath sky grass"
    )]
    Get(GetArgs),
    /// Put a value at a key
    #[command(
        after_help = "Makes the store and the tree if they are not there.\n\nExamples:\n  lath kv put colours.lath sky blue\n  lath kv put index.lath 00ff 2a --keys hex --values hex --tree ids"
    )]
    Put(PutArgs),
    /// Remove keys
    #[command(
        after_help = "Exits 1 if one of the keys was not there; the others are removed.\n\nExample:\n  lath kv del colours.lath sky"
    )]
    Del(GetArgs),
    /// List keys and values in order
    #[command(
        after_help = "Examples:\n  lath kv scan colours.lath --prefix s\n  lath kv scan colours.lath --from a --to n --reverse --limit 10 --format csv"
    )]
    Scan(ScanArgs),
    /// Count keys, in a moment whatever their number
    #[command(after_help = "Example:\n  lath kv count colours.lath --from a --to n")]
    Count(KvCountArgs),
    /// List the trees of a store and how many keys they have
    #[command(after_help = "Example:\n  lath kv trees colours.lath --format jsonl")]
    Trees(TreesArgs),
    /// Put the entries of CSV or JSON lines files into a tree
    #[command(after_help = LOAD_HELP)]
    Load(LoadArgs),
    /// Write all entries of a tree, as load reads them
    #[command(after_help = "Example:\n  lath kv dump colours.lath --keys hex --values hex -o colours.jsonl")]
    Dump(DumpArgs),
    /// Look at every node, checksum and count
    #[command(
        after_help = "Prints a line for each thing that is wrong. Exits 3 if there is one.\n\nExample:\n  lath kv check colours.lath"
    )]
    Check(StoreArgs),
    /// Say what takes a store's space, and who keeps it from becoming free
    #[command(after_help = "Example:\n  lath kv stats colours.lath")]
    Stats(StoreArgs),
    /// Make a store's file about as short as what is used in it
    #[command(
        after_help = "What is in the store stays what it is, and other processes may read it meanwhile. What readers hold is not moved: when they have ended, the file can be made shorter still. Ctrl-C ends it early, with what was moved by then.\n\nExample:\n  lath kv compact colours.lath"
    )]
    Compact(StoreArgs),
    /// Copy a store as its last commit left it, while others write to it
    #[command(after_help = "Example:\n  lath kv backup colours.lath copy.lath")]
    Backup(CopyArgs),
    /// Bring what is whole of a damaged store into a new one
    #[command(
        after_help = "The damaged store stays as it is. Prints a line for each thing that was damaged. Exits 3 if there is one.\n\nExample:\n  lath kv repair damaged.lath repaired.lath"
    )]
    Repair(CopyArgs),
}

const LOAD_HELP: &str = "\
CSV has a header that names the columns key and value, in any order; others are passed over. JSON lines are objects with
key and value, both strings. Entries that are there already are replaced. Transactions have --batch entries each: when
loading stops halfway, those before are there.

Examples:
  lath kv load colours.lath colours.csv
  lath kv load index.lath - --format jsonl --tree ids --keys base64 < ids.jsonl";

/// A store.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store's file; others lie beside it
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
}

/// A store, and where another is made of it.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The new store's file, which must not be there
    #[arg(value_name = "TARGET")]
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
    /// How keys are written
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) keys: Form,
    /// How values are written
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) values: Form,
}

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// UTF-8 as it is
    Text,
    /// Two hexadecimal digits a byte
    Hex,
    /// Base64 with + and /, padded
    Base64,
}

/// How entries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntryFormat {
    /// Aligned columns, cut to the width of the terminal
    Table,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object a line
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
pub(crate) struct PutArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    /// The key
    pub(crate) key: String,
    /// The value
    pub(crate) value: String,
    /// Leave what is there, and exit 1
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Which keys.
#[derive(Debug, Args)]
pub(crate) struct RangeArgs {
    /// The first key
    #[arg(long, value_name = "KEY", conflicts_with = "prefix")]
    pub(crate) from: Option<String>,
    /// The key before which to end
    #[arg(long, value_name = "KEY", conflicts_with = "prefix")]
    pub(crate) to: Option<String>,
    /// What keys begin with
    #[arg(long, value_name = "KEY")]
    pub(crate) prefix: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    #[command(flatten)]
    pub(crate) range: RangeArgs,
    /// From the last key to the first
    #[arg(long)]
    pub(crate) reverse: bool,
    /// At most so many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// How entries are written [default: a table on a terminal, else JSON lines]
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
    /// How trees are written [default: a table on a terminal, else JSON lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<EntryFormat>,
}

/// A file of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileForm {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object a line
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
    pub(crate) format: Option<FileForm>,
    /// Entries of a transaction
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
}

#[derive(Debug, Args)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) tree: TreeArgs,
    /// Format [default: by the name of the output, else JSON lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FileForm>,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace FILE if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
