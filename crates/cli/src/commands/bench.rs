//! `bench`: measurements on this machine.

use std::fmt::Write;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use lath_kernels::Tier;
use serde_json::{Value, json};

use super::print;
use crate::args::{Benchmark, BloomArgs};
use crate::bench::bloom::{Measured, WORKING_MEMORY, Way, Wrong, measure};
use crate::bench::chart::{Chart, Group, Panel};
use crate::bench::filter::FilledFilter;
use crate::bench::memory;
use crate::bench::timing::Timing;
use crate::destination;
use crate::failure::{Failure, Outcome, Result};
use crate::output::target::Target;
use crate::quantity::{bytes, grouped, plural};

/// Measures what was asked for.
pub(super) fn run(what: &Benchmark) -> Result<Outcome> {
    match what {
        Benchmark::Bloom(args) => bloom(args),
    }
}

fn bloom(args: &BloomArgs) -> Result<Outcome> {
    if let Some(path) = &args.svg {
        destination::check(path, args.force, None)?;
    }
    let largest = args.sizes.iter().copied().max().unwrap_or(0);
    if let Some(available) = memory::available()
        && largest + WORKING_MEMORY > available
    {
        return Err(Failure::Usage(format!(
            "a filter of {} needs more memory than the {} that are free; choose smaller ones with --sizes",
            bytes(largest),
            bytes(available)
        )));
    }
    let mut all = Vec::new();
    for &size in &args.sizes {
        all.push(measure_size(size, args)?);
    }
    if let Some(path) = &args.svg {
        let svg = chart(&all).to_svg();
        let mut target = Target::file(path)?;
        target.write_all(svg.as_bytes()).map_err(|error| Failure::writing(target.name(), &error))?;
        target.finish()?;
    }
    if args.json {
        let text =
            serde_json::to_string_pretty(&to_json(&all, args)).map_err(|error| Failure::Io(error.to_string()))?;
        return print(&format!("{text}\n"));
    }
    print(&to_text(&all, args.svg.as_deref()))
}

fn measure_size(size: u64, args: &BloomArgs) -> Result<Measured> {
    let no_memory = |error: io::Error| Failure::Io(format!("a filter of {}: {error}", bytes(size)));
    let len = usize::try_from(size).map_err(|_| no_memory(io::ErrorKind::OutOfMemory.into()))?;
    let filter = FilledFilter::fill(len, args.small_pages, args.json).map_err(no_memory)?;
    let each = Duration::from_millis(u64::from(args.time));
    measure(&filter, args.filters as usize, each).map_err(|wrong| match wrong {
        Wrong::Kernel(error) => Failure::internal("bench", &error.to_string()),
        Wrong::Answers { what, tier } => Failure::internal("bench", &format!("{what} at the {tier} tier")),
    })
}

fn to_text(all: &[Measured], svg: Option<&Path>) -> String {
    let mut text = "Split-block Bloom filters: ns a probe of an absent key, best (median)\n".to_owned();
    for measured in all {
        // Text grows without failing.
        let _ = write!(text, "\n{} with {}", bytes(measured.bytes), plural(measured.keys, "key"));
        let _ = writeln!(text, "; raw load {:.2} ({:.2})", measured.raw_load.best, measured.raw_load.median);
        let (found, expected) = (measured.false_positive_rate, measured.expected_false_positive_rate);
        let _ = writeln!(text, "false positives {:.3} %, {:.3} % expected", 100.0 * found, 100.0 * expected);
        let filters = plural(measured.filters as u64, "filter");
        let _ = writeln!(text, "{:8}{:>16}{:>16}{:>16}{filters:>16}", "", "single", "bulk", "count");
        for (tier, timings) in &measured.tiers {
            let _ = write!(text, "{:8}", tier.name());
            for Timing { best, median } in timings {
                let _ = write!(text, "{:>16}", format!("{best:.2} ({median:.2})"));
            }
            text.push('\n');
        }
    }
    if let Some(path) = svg {
        let _ = writeln!(text, "\nchart in {}", path.display());
    }
    text
}

fn to_json(all: &[Measured], args: &BloomArgs) -> Value {
    let timing = |timing: &Timing| json!({ "best_ns": timing.best, "median_ns": timing.median });
    let sizes = all.iter().map(|measured| {
        let tiers = measured.tiers.iter().map(|(tier, timings)| {
            let ways = Way::ALL.iter().zip(timings).map(|(way, time)| (way.name().to_owned(), timing(time)));
            let mut row = serde_json::Map::new();
            row.insert("tier".to_owned(), json!(tier.name()));
            row.extend(ways);
            Value::Object(row)
        });
        json!({
            "bytes": measured.bytes,
            "keys": measured.keys,
            "filters": measured.filters,
            "false_positive_rate": measured.false_positive_rate,
            "expected_false_positive_rate": measured.expected_false_positive_rate,
            "raw_load": timing(&measured.raw_load),
            "tiers": tiers.collect::<Vec<_>>(),
        })
    });
    json!({ "huge_pages": !args.small_pages, "sizes": sizes.collect::<Vec<_>>() })
}

fn chart(all: &[Measured]) -> Chart {
    let panel = |measured: &Measured| Panel {
        title: bytes(measured.bytes),
        note: format!(
            "{} keys; false positives {:.2} %, {:.2} % expected",
            grouped(measured.keys),
            100.0 * measured.false_positive_rate,
            100.0 * measured.expected_false_positive_rate
        ),
        groups: Way::ALL
            .iter()
            .enumerate()
            .map(|(at, way)| Group {
                name: match way {
                    Way::Filters => plural(measured.filters as u64, "filter"),
                    _ => way.name().to_owned(),
                },
                values: measured.tiers.iter().map(|(_, timings)| timings[at].best).collect(),
            })
            .collect(),
        reference: ("raw load".to_owned(), measured.raw_load.best),
    };
    Chart {
        title: "Split-block Bloom filters".to_owned(),
        subtitle: format!(
            "Nanoseconds a probe of an absent key, hashed before; best of many; lath {}",
            env!("CARGO_PKG_VERSION")
        ),
        unit: "ns a probe".to_owned(),
        series: Tier::available().iter().map(Tier::to_string).collect(),
        panels: all.iter().map(panel).collect(),
    }
}
