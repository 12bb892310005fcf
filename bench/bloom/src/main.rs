//! Measures Lath's Bloom filter probes at every tier against sbbf-rs. Start it with `bench/run bloom`.

mod chart;
mod filter;
mod measure;
mod timing;

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use chart::{Chart, Group, Panel};
use lath_bench_record::machine;
use lath_bench_record::record::Record;
use lath_kernels::Tier;
use measure::{Measurement, Way, measure};
use timing::Timing;

/// A filter that fits the second-level cache, one that fits the third-level cache of few machines, and one that fits no
/// cache.
const SIZES: [(&str, usize); 3] = [("512 KiB", 512 << 10), ("128 MiB", 128 << 20), ("1 GiB", 1 << 30)];

fn main() -> ExitCode {
    let quick = match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [] => false,
        [option] if option == "--quick" => true,
        _ => {
            eprintln!("usage: lath-bench-bloom [--quick]");
            return ExitCode::from(2);
        }
    };
    let mut record = Record::start("bloom", quick);
    record.line(&format!("- of these alone: sbbf-rs {}", machine::locked_version("sbbf-rs")));
    let total = Duration::from_millis(if quick { 20 } else { 400 });
    let mut all = Vec::new();
    for (name, len) in SIZES {
        let measured = measure(len, total);
        report(&mut record, name, &measured);
        all.push((name, measured));
    }
    let picture = record.path().with_extension("svg");
    fs::write(&picture, chart(&all).to_svg()).expect("records are writable");
    let name = picture.file_name().expect("a record has a name").to_string_lossy();
    record.line("");
    record.line(&format!("![Nanoseconds a probe, by tier]({name})"));
    eprintln!("record: {}, chart: {}", record.path().display(), picture.display());
    ExitCode::SUCCESS
}

fn report(record: &mut Record, name: &str, measured: &Measurement) {
    record.heading(&format!("{name}: ns a probe of an absent key, best (median)"));
    let cell = |timing: &Timing| format!("{:.2} ({:.2})", timing.best, timing.median);
    let names = Way::ALL.map(|way| match way {
        Way::Filters => format!("{} filters", measured.filter_count),
        way => way.name().to_owned(),
    });
    let mut head = vec![String::new()];
    head.extend(names);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: String, cells: [String; 4]| rows.push([name].into_iter().chain(cells).collect());
    for (tier, timings) in &measured.tiers {
        row(tier.to_string(), timings.each_ref().map(cell));
    }
    row("sbbf-rs".to_owned(), measured.peer.each_ref().map(cell));
    // The fastest of all tiers, which is not always the highest.
    let best = std::array::from_fn(|way| {
        measured.tiers.iter().map(|(_, timings)| timings[way].best).fold(f64::INFINITY, f64::min)
    });
    let ratios = |over: [f64; 4]| std::array::from_fn(|way| format!("{:.2} ×", over[way] / best[way]));
    row("sbbf-rs / best tier".to_owned(), ratios(measured.peer.map(|timing| timing.best)));
    let scalar = measured.tiers[0].1.map(|timing| timing.best);
    row("scalar / best tier".to_owned(), ratios(scalar));
    row("best tier / raw load".to_owned(), best.map(|best: f64| format!("{:.2} ×", best / measured.raw_load.best)));
    record.table(&head, &rows);
    record.line(&format!(
        "Raw load: {}. {} keys; {:.3} % of absent keys pass, {:.3} % expected.",
        cell(&measured.raw_load),
        measured.key_count,
        100.0 * measured.false_positive_rate,
        100.0 * measured.expected_false_positive_rate
    ));
}

fn chart(all: &[(&str, Measurement)]) -> Chart {
    let mut series: Vec<String> = Tier::available().iter().map(Tier::to_string).collect();
    series.push("sbbf-rs".to_owned());
    let panel = |(name, measured): &(&str, Measurement)| Panel {
        title: (*name).to_owned(),
        note: format!(
            "{} keys; false positives {:.2} %, {:.2} % expected",
            measured.key_count,
            100.0 * measured.false_positive_rate,
            100.0 * measured.expected_false_positive_rate
        ),
        groups: Way::ALL
            .iter()
            .enumerate()
            .map(|(at, way)| Group {
                name: match way {
                    Way::Filters => format!("{} filters", measured.filter_count),
                    _ => way.name().to_owned(),
                },
                values: measured
                    .tiers
                    .iter()
                    .map(|(_, timings)| timings[at].best)
                    .chain([measured.peer[at].best])
                    .collect(),
            })
            .collect(),
        reference: ("raw load".to_owned(), measured.raw_load.best),
    };
    Chart {
        title: "Split-block Bloom filters".to_owned(),
        subtitle: "Nanoseconds a probe of an absent key, hashed before; best of many".to_owned(),
        unit: "ns a probe".to_owned(),
        series,
        panels: all.iter().map(panel).collect(),
    }
}
