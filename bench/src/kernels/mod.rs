//! Kernels alone: 65,536 values in L2, every tier in a separate process, compared with peers.

mod bloom;
mod compare;
mod encode;
mod lath;
mod peers;
mod timing;
mod workload;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lath_kernels::Tier;
use serde_json::{Map, Value, json};

use crate::data::folder;
use crate::files::race::Options;
use crate::record::{Record, against_goal};
use timing::Timing;
use workload::{COUNT, Page, Workload};

const TIERS: [Tier; 3] = [Tier::Scalar, Tier::Avx2, Tier::Avx512];
/// The required speed of the AVX2 tier relative to the `parquet` crate's default build.
const AVX2_GOAL: f64 = 1.5;

/// One process: times one side, `lath` or `peers`, on every workload, and prints one line of JSON.
pub fn measure(side: &str, milliseconds: u64, options: &Options) {
    let total = Duration::from_millis(milliseconds);
    let mut report = Map::new();
    for workload in workload::all().iter().filter(|workload| options.wants(&workload.name)) {
        let timings = match side {
            "lath" => {
                let mut timings = vec![("lath", lath::measure(&workload.page, total))];
                timings.extend(lath::measure_copy(&workload.page, total).map(|timing| ("memcpy", timing)));
                timings
            }
            _ => peers::measure(&workload.page, total),
        };
        for (who, timing) in timings {
            report.insert(format!("{} {who}", workload.name), json!([timing.best, timing.median]));
        }
    }
    let rows = [encode::rows(), bloom::rows(), compare::rows()];
    for row in rows.iter().flatten().filter(|row| options.wants(&row.name)) {
        for (who, timing) in encode::measure(row, side, total) {
            report.insert(format!("{} {who}", row.name), json!([timing.best, timing.median]));
        }
    }
    println!("{}", Value::Object(report));
}

/// By implementation and workload `name`: the best over all rounds, and the minimum median.
type Timings = BTreeMap<String, Timing>;

pub fn run(record: &mut Record, options: &Options) {
    let workloads: Vec<Workload> =
        workload::all().into_iter().filter(|workload| options.wants(&workload.name)).collect();
    let pages = leave_pages(&workloads);
    let milliseconds = if options.quick { "30" } else { "100" };
    let program = std::env::current_exe().expect("this program has a path");
    let only: Vec<String> = std::env::args().filter(|argument| argument.starts_with("--only=")).collect();
    let mut timings = Timings::new();
    for _ in 0..if options.quick { 1 } else { 3 } {
        for tier in TIERS.into_iter().filter(|tier| Tier::available().contains(tier)) {
            let mut command = Command::new(&program);
            command.args(["kernel-times", "lath", milliseconds]).args(&only).env("LATH_SIMD", tier.name());
            collect(&mut timings, command, |name| name.replace(" lath", &format!(" {tier}")));
        }
        let mut command = Command::new(&program);
        command.args(["kernel-times", "peers", milliseconds]).args(&only);
        collect(&mut timings, command, str::to_owned);
        let go = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/go/peer");
        if go.exists() {
            let mut command = Command::new(go);
            command.arg("kernels").arg(&pages).arg(milliseconds);
            collect(&mut timings, command, |name| format!("{name} go"));
        }
    }
    report(record, &workloads, &timings);
    let wanted = |rows: Vec<encode::Row>| rows.into_iter().filter(|row| options.wants(&row.name)).collect::<Vec<_>>();
    encode::report(
        record,
        "Kernels that encode, 65,536 values",
        &wanted(encode::rows()),
        &timings,
        "Every output was compared with the `parquet` crate's, or decoded by it. Strings stand behind 32-bit offsets.",
    );
    encode::report(
        record,
        "Bloom probes, 65,536 keys, one in a hundred passes",
        &wanted(bloom::rows()),
        &timings,
        "Every answer was compared with a check by the specification. Filters lie on huge pages where the system gives them, for \
         Lath and sbbf-rs; `parquet` has memory of its own.",
    );
    encode::report(
        record,
        "Kernels that compare, 65,536 values",
        &wanted(compare::rows()),
        &timings,
        "Every bitmap was compared with arrow-ord's; where that has no IN, an equality for each value, joined.",
    );
}

fn collect(timings: &mut Timings, mut command: Command, name: impl Fn(&str) -> String) {
    let output = command.output().expect("process starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let report: Map<String, Value> = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    for (key, value) in report {
        let number = |at: usize| value[at].as_f64().expect("two numbers");
        let (best, median) = (number(0), number(1));
        let timing = timings.entry(name(&key)).or_insert(Timing { best, median });
        timing.best = timing.best.min(best);
        timing.median = timing.median.min(median);
    }
}

/// Writes encoded pages as files, for peers in other languages: `NAME.page`, and `NAME.values` to check against.
fn leave_pages(workloads: &[Workload]) -> std::path::PathBuf {
    let pages = folder().join("kernels");
    fs::create_dir_all(&pages).expect("data folder is writable");
    for Workload { name, page, .. } in workloads {
        let values: Vec<u8> = match page {
            Page::DeltaI32 { values, .. } => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Page::DeltaI64 { values, .. } => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Page::Indices { values, .. } => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Page::Split { values, .. } => values.clone(),
            Page::LengthStrings { text, .. } | Page::PrefixStrings { text, .. } => text.clone(),
            Page::ByteCount { count, .. } => count.to_string().into_bytes(),
            // Encoded values must decode to the input.
            Page::EncodeIndices { bytes, .. } | Page::EncodeI32 { bytes, .. } | Page::EncodeI64 { bytes, .. } => {
                bytes.to_vec()
            }
            // The Go library has no typed lookup in its public API.
            Page::Dictionary32 { .. } | Page::Dictionary64 { .. } => continue,
        };
        fs::write(pages.join(format!("{name}.page")), page.encoded()).expect("data folder is writable");
        fs::write(pages.join(format!("{name}.values")), values).expect("data folder is writable");
    }
    pages
}

/// The unit of a page's figure, and whether more is better.
enum Unit {
    NanosecondsPerValue,
    GigabytesPerSecond(usize),
}

impl Unit {
    fn of(page: &Page) -> Unit {
        match page {
            Page::Split { values, .. } => Unit::GigabytesPerSecond(values.len()),
            Page::ByteCount { text, .. } => Unit::GigabytesPerSecond(text.len()),
            _ => Unit::NanosecondsPerValue,
        }
    }

    fn write(&self, timing: Timing) -> String {
        match self {
            Unit::NanosecondsPerValue => {
                format!("{:.3} ({:.3})", timing.best * 1e9 / COUNT as f64, timing.median * 1e9 / COUNT as f64)
            }
            Unit::GigabytesPerSecond(len) => {
                format!("{:.1} ({:.1}) GB/s", *len as f64 / timing.best / 1e9, *len as f64 / timing.median / 1e9)
            }
        }
    }
}

fn has_avx2_goal(page: &Page) -> bool {
    !matches!(
        page,
        Page::Indices { .. } | Page::LengthStrings { .. } | Page::PrefixStrings { .. } | Page::ByteCount { .. }
    )
}

fn report(record: &mut Record, workloads: &[Workload], timings: &Timings) {
    record.heading("Kernels, 65,536 values in L2: ns per value or GB/s, best (median)");
    let others = ["parquet", "go", "bytecount", "memchr", "memcpy"];
    let mut head = vec!["kernel".to_owned(), "goal, AVX-512".to_owned()];
    head.extend(TIERS.map(|tier| tier.to_string()));
    head.extend(
        [
            "parquet (Rust)",
            "parquet-go",
            "other peers",
            "best tier / goal",
            "best tier / best peer",
            "AVX2 / parquet (Rust)",
        ]
        .map(str::to_owned),
    );
    let mut rows = Vec::new();
    for Workload { name, what, goal, page } in workloads {
        let unit = Unit::of(page);
        let get = |who: &str| timings.get(&format!("{name} {who}")).copied();
        let cell = |who: &str| get(who).map_or_else(|| "–".to_owned(), |timing| unit.write(timing));
        let split = matches!(page, Page::Split { .. });
        let mut row = vec![what.clone()];
        row.push(match unit {
            _ if goal.is_infinite() => "–".to_owned(),
            Unit::NanosecondsPerValue => format!("≤ {goal}"),
            Unit::GigabytesPerSecond(_) if split => format!("≥ {goal} × memcpy"),
            Unit::GigabytesPerSecond(_) => format!("≥ {goal} GB/s"),
        });
        row.extend(
            TIERS.map(
                |tier| {
                    if Tier::available().contains(&tier) { cell(tier.name()) } else { "not measured".to_owned() }
                },
            ),
        );
        row.push(cell("parquet"));
        row.push(cell("go"));
        let named: Vec<String> = others[2..]
            .iter()
            .filter_map(|who| get(who).map(|timing| format!("{who} {}", unit.write(timing))))
            .collect();
        row.push(if named.is_empty() { "–".to_owned() } else { named.join(", ") });

        let lath =
            TIERS.iter().filter_map(|tier| get(tier.name())).map(|timing| timing.best).fold(f64::INFINITY, f64::min);
        let to_goal = match unit {
            _ if goal.is_infinite() => None,
            Unit::NanosecondsPerValue => Some(goal * COUNT as f64 / 1e9 / lath),
            Unit::GigabytesPerSecond(_) if split => get("memcpy").map(|copy| copy.best / lath / goal),
            Unit::GigabytesPerSecond(len) => Some(len as f64 / lath / 1e9 / goal),
        };
        row.push(to_goal.map_or_else(|| "–".to_owned(), |ratio| against_goal(ratio, 1.0)));
        let peer =
            others[..4].iter().filter_map(|who| get(who)).map(|timing| timing.best).fold(f64::INFINITY, f64::min);
        row.push(if peer.is_finite() { format!("{:.2} ×", peer / lath) } else { "–".to_owned() });
        row.push(match (get("avx2"), get("parquet")) {
            (Some(lath), Some(peer)) if has_avx2_goal(page) => against_goal(peer.best / lath.best, AVX2_GOAL),
            (Some(lath), Some(peer)) => format!("{:.2} ×", peer.best / lath.best),
            _ => "–".to_owned(),
        });
        rows.push(row);
    }
    record.table(&head, &rows);
    if !Tier::available().contains(&Tier::Avx512) {
        record.line("AVX-512: not measured, this CPU has no AVX-512; the goals were set for it, and the best tier here is held against them.");
    }
    record.line("Every output was compared with the values that were encoded. DELTA_LENGTH_BYTE_ARRAY: offsets and a copy of the bytes.");
}
