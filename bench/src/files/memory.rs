//! Peak resident memory of a fresh process that decodes a whole file once.

use std::collections::BTreeMap;
use std::env::consts::EXE_SUFFIX;
use std::process::{Command, Stdio};

use super::race::{Contestant, Options, Runner};
use crate::data::Codec;
use crate::data::lineitem::{Variant, make, path};
use crate::record::Record;

pub fn run(record: &mut Record, options: &Options) {
    make();
    record.heading("Peak memory of one whole-file decode in a fresh process, one thread, MiB");
    let files: Vec<(Variant, Codec)> =
        Variant::ALL.into_iter().flat_map(|variant| Codec::ALL.map(|codec| (variant, codec))).collect();
    let mut head = vec!["reader (the way of it that took least)".to_owned()];
    head.extend(files.iter().map(|(variant, codec)| format!("{} {}", variant.name(), codec.name())));

    let runners = options.runners();
    let mut least: BTreeMap<(bool, String), Vec<f64>> = BTreeMap::new();
    for runner in runners.iter().filter(|runner| runner.is_there()) {
        let cells =
            least.entry((!runner.is_lath(), runner.label())).or_insert_with(|| vec![f64::INFINITY; files.len()]);
        for (cell, &(variant, codec)) in cells.iter_mut().zip(&files) {
            *cell = cell.min(peak_mib(runner, variant, codec));
        }
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for ((_, label), cells) in &least {
        let mut row = vec![label.clone()];
        row.extend(cells.iter().map(|mib| format!("{mib:.0}")));
        rows.push(row);
    }
    if options.lath {
        let smallest = |lath: bool, at: usize| {
            least
                .iter()
                .filter(|((peer, _), _)| *peer != lath)
                .map(|(_, cells)| cells[at])
                .fold(f64::INFINITY, f64::min)
        };
        let mut row = vec!["smallest peer / Lath (goal 1.0)".to_owned()];
        row.extend((0..files.len()).map(|at| format!("{:.2} ×", smallest(false, at) / smallest(true, at))));
        rows.push(row);
    }
    record.table(&head, &rows);
}

/// A small process in between measures the peak, because a child's peak starts at its parent's memory.
///
/// Lath and the `parquet` crate run in separate programs for this. The system keeps 64 to 256 KiB of a program's code
/// around each executed part; in this program, over which both are spread, that is 13 MiB for Lath and 9 for the
/// `parquet` crate, more than either allocates.
fn peak_mib(runner: &Runner, variant: Variant, codec: Codec) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let path = path(variant, codec);
    let reader = match runner {
        Runner::Own(reader) => {
            let alone = program.with_file_name(format!("decode-{}{EXE_SUFFIX}", reader.library.name()));
            assert!(alone.exists(), "{}: `cargo build --bins` makes it", alone.display());
            let mut command = Command::new(alone);
            command.arg(reader.way.to_string()).arg(path);
            command
        }
        Runner::Python(_) | Runner::Go => runner.command(&path, 1, 1),
    };
    let output = Command::new(program).arg("peak").arg(reader.get_program()).args(reader.get_args()).output();
    let output = output.expect("process starts");
    let kib: Option<f64> = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    kib.map_or(f64::INFINITY, |kib| kib / 1024.0)
}

/// The process in between: runs a command and prints its peak memory in KiB if it succeeds.
pub fn peak(program: &str, arguments: &[&str]) {
    let child = Command::new(program).args(arguments).stdout(Stdio::null()).spawn().expect("reader starts");
    let mut status = 0;
    // SAFETY: `rusage` is plain integers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let id = libc::pid_t::try_from(child.id()).expect("process ids are pid_t");
    // SAFETY: both pointers are to live locals of the right types, and `id` is our own child, not yet waited for.
    let waited = unsafe { libc::wait4(id, &mut status, 0, &mut usage) };
    assert_eq!(waited, id, "the child can be waited for");
    if status == 0 {
        println!("{}", usage.ru_maxrss);
    }
}
