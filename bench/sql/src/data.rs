//! The files, all written by `lath`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::engine::{bench, program};

/// The encoding of the numbers and strings of TPC-H.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// The encodings of `lath gen`: dictionaries where they pay, otherwise plain.
    Default,
    /// DELTA_BINARY_PACKED numbers, DELTA_LENGTH_BYTE_ARRAY strings.
    Delta,
}

impl Layout {
    pub const ALL: [Layout; 2] = [Layout::Default, Layout::Delta];

    pub fn name(self) -> &'static str {
        match self {
            Layout::Default => "default",
            Layout::Delta => "delta",
        }
    }
}

/// The tables of TPC-H, and their columns of strings.
const TABLES: [(&str, &str); 8] = [
    ("customer", "c_name c_address c_phone c_mktsegment c_comment"),
    ("lineitem", "l_returnflag l_linestatus l_shipinstruct l_shipmode l_comment"),
    ("nation", "n_name n_comment"),
    ("orders", "o_orderstatus o_orderpriority o_clerk o_comment"),
    ("part", "p_name p_mfgr p_brand p_type p_container p_comment"),
    ("partsupp", "ps_comment"),
    ("region", "r_name r_comment"),
    ("supplier", "s_name s_address s_phone s_comment"),
];

fn folder(name: &str) -> PathBuf {
    bench().join("data/sql").join(name)
}

/// Runs `lath`, with statements as its input.
fn lath(arguments: &[&str], input: &str) {
    use std::io::Write;
    let mut child = Command::new(program("lath"))
        .args(arguments)
        .stdout(Stdio::null())
        .stdin(Stdio::piped())
        .spawn()
        .expect("lath can be started");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("lath reads its input");
    assert!(child.wait().expect("lath ends").success(), "lath {arguments:?} failed");
}

/// Writes a folder with `write`, and gives it its name once it is complete.
fn once(name: &str, write: impl FnOnce(&str)) -> PathBuf {
    let (whole, part) = (folder(name), folder(&format!("{name}.part")));
    if !whole.exists() {
        eprintln!("writing {}", whole.display());
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part).expect("the folder of data is writable");
        write(part.to_str().expect("the path is text"));
        fs::rename(&part, &whole).expect("the folder can be renamed");
    }
    whole
}

/// The tables of TPC-H.
pub fn tpch(scale: u32, layout: Layout) -> Vec<(&'static str, PathBuf)> {
    let base = once(&format!("tpch-{scale}-default"), |folder| {
        for (table, _) in TABLES {
            let file = format!("{folder}/{table}.parquet");
            lath(&["gen", "tpch", "--sf", &scale.to_string(), "--table", table, "-o", &file], "");
        }
    });
    let folder = match layout {
        Layout::Default => base,
        Layout::Delta => once(&format!("tpch-{scale}-delta"), |folder| {
            for (table, strings) in TABLES {
                let (from, to) = (base.join(format!("{table}.parquet")), format!("{folder}/{table}.parquet"));
                let from = from.to_str().expect("the path is text");
                let mut arguments = vec!["rewrite", from, "-o", &to, "--dictionary", "off", "--encoding", "delta"];
                let choices: Vec<String> = strings.split(' ').map(|name| format!("{name}=delta-length")).collect();
                arguments.extend(choices.iter().flat_map(|choice| ["--encoding", choice]));
                lath(&arguments, "");
            }
        }),
    };
    TABLES.map(|(table, _)| (table, folder.join(format!("{table}.parquet")))).to_vec()
}

/// The tables of TPC-DS.
pub const TPCDS_TABLES: [&str; 24] = [
    "call_center",
    "catalog_page",
    "catalog_returns",
    "catalog_sales",
    "customer",
    "customer_address",
    "customer_demographics",
    "date_dim",
    "household_demographics",
    "income_band",
    "inventory",
    "item",
    "promotion",
    "reason",
    "ship_mode",
    "store",
    "store_returns",
    "store_sales",
    "time_dim",
    "warehouse",
    "web_page",
    "web_returns",
    "web_sales",
    "web_site",
];

/// The tables of TPC-DS, and its queries in the folder `queries`, made by DuckDB; `None` if its extension is not there.
pub fn tpcds(scale: u32) -> Option<PathBuf> {
    let python = bench().join("peers/python/tpcds");
    if !python.join(".venv/bin/python").exists() {
        return None;
    }
    let folder = once(&format!("tpcds-{scale}"), |folder| {
        let mut command = Command::new(python.join(".venv/bin/python"));
        let status = command.arg(python.join("generate.py")).arg(scale.to_string()).arg(folder).status();
        assert!(status.expect("Python starts").success(), "DuckDB could not make TPC-DS");
    });
    Some(folder)
}

/// Page views with the columns of ClickBench's table.
pub fn hits(rows: u64) -> PathBuf {
    let folder = once(&format!("hits-{rows}"), |folder| {
        let statement = include_str!("../clickbench/hits.sql");
        lath(&["sql", "-"], &statement.replace("ROWS", &rows.to_string()).replace("FOLDER", folder));
    });
    folder.join("hits.parquet")
}

/// 1,000 files of 100,000 rows, two row groups each, with a random text of 16 characters as the key.
pub fn needles(has_bloom: bool) -> PathBuf {
    let name = if has_bloom { "needles-bloom" } else { "needles" };
    let bloom = if has_bloom { ", bloom 'key', dictionary 'key=off'" } else { ", dictionary 'key=off'" };
    once(name, |folder| {
        let statement = |file: u64| {
            let (first, last) = (file * 100_000, (file + 1) * 100_000 - 1);
            format!(
                "COPY (SELECT substr(md5(CAST(value AS VARCHAR)), 1, 16) AS key, value AS id, sin(value) AS amount, \
                 concat('name ', value % 5000) AS name FROM generate_series({first}, {last})) \
                 TO '{folder}/{file:04}.parquet' (row_group_rows 50000, codec 'snappy'{bloom});\n"
            )
        };
        lath(&["sql", "-"], &(0..1_000).map(statement).collect::<String>());
    })
}

/// Keys of needles, spread over all files, as a table.
pub fn keys(count: u64) -> PathBuf {
    let folder = once(&format!("keys-{count}"), |folder| {
        let step = 99_999_989 / count;
        let query = format!(
            "COPY (SELECT substr(md5(CAST(value * {step} + 7 AS VARCHAR)), 1, 16) AS key \
             FROM generate_series(0, {count} - 1)) TO '{folder}/keys.parquet';"
        );
        lath(&["sql", "-"], &query);
    });
    folder.join("keys.parquet")
}

/// 240 files, one for each hour of ten days, of 100,000 events in the order of time.
pub fn hours() -> PathBuf {
    once("hours", |folder| {
        let statement = |hour: u64| {
            format!(
                "COPY (SELECT to_timestamp_micros({hour} * 3600000000 + value * 36000) AS ts, value AS id, \
                 sin(value + {hour}) AS amount, concat('host ', value % 300) AS host \
                 FROM generate_series(0, 99999)) TO '{folder}/{hour:03}.parquet';\n"
            )
        };
        lath(&["sql", "-"], &(0..240).map(statement).collect::<String>());
    })
}

/// 40 files of 25,000 row groups each.
pub fn row_groups() -> PathBuf {
    once("row-groups", |folder| {
        let statement = |file: u64| {
            let (first, last) = (file * 100_000, (file + 1) * 100_000 - 1);
            format!(
                "COPY (SELECT value AS id, value * 7 % 1000 AS amount FROM generate_series({first}, {last})) \
                 TO '{folder}/{file:02}.parquet' (row_group_rows 4);\n"
            )
        };
        lath(&["sql", "-"], &(0..40).map(statement).collect::<String>());
    })
}
