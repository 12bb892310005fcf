//! The 22 queries of TPC-H.

use std::fs;

use lath_bench_record::record::{Record, against_goal};

use crate::data::{self, Layout};
use crate::engine::{Engine, bench};
use crate::options::Options;
use crate::race::{Least, Race, Times, cell, geometric_mean, head, least_seconds};

pub fn run(record: &mut Record, options: &Options) {
    for &layout in &options.layouts {
        let tables = data::tpch(options.scale, layout);
        for &threads in &options.threads {
            let mut race = Race::start(&Engine::ALL, threads, &tables);
            let mut all: Vec<(usize, Times)> = Vec::new();
            for &number in &options.queries {
                let path = bench().join(format!("../crates/sql/tests/tpch/q{number:02}.sql"));
                let query = fs::read_to_string(path).expect("the queries are there");
                all.push((number, race.run(&format!("Q{number}"), &query, options.rounds())));
            }
            report(record, options, layout, threads, &all);
        }
    }
}

fn report(record: &mut Record, options: &Options, layout: Layout, threads: usize, all: &[(usize, Times)]) {
    record.heading(&format!(
        "TPC-H, scale factor {}, {} files, {threads} threads: milliseconds, least wall time / least processor time",
        options.scale,
        layout.name()
    ));
    let mut rows = Vec::new();
    for (number, times) in all {
        let mut row = vec![format!("Q{number}")];
        row.extend(times.iter().map(|(_, least)| cell(*least)));
        let own = least_seconds(times, |engine| engine == Engine::Lath);
        row.push(format!("{:.2} ×", least_seconds(times, Engine::is_datafusion) / own));
        row.push(format!("{:.2} ×", least_seconds(times, |engine| engine == Engine::Peer("duckdb")) / own));
        rows.push(row);
    }
    let all: Vec<Times> = all.iter().map(|(_, times)| times.clone()).collect();
    let mean = |engine| Least {
        seconds: geometric_mean(&all, engine, &[engine, Engine::Lath], |least| least.seconds),
        cpu_seconds: geometric_mean(&all, engine, &[engine, Engine::Lath], |least| least.cpu_seconds),
    };
    let means = Engine::ALL.map(|engine| (engine, Some(mean(engine)))).to_vec();
    let mut row = vec!["**geometric mean**".to_owned()];
    row.extend(means.iter().map(|(_, least)| cell(*least)));
    let own = least_seconds(&means, |engine| engine == Engine::Lath);
    let goal = if layout == Layout::Default { 1.25 } else { 2.0 };
    row.push(against_goal(least_seconds(&means, Engine::is_datafusion) / own, goal));
    row.push(against_goal(least_seconds(&means, |engine| engine == Engine::Peer("duckdb")) / own, 1.0));
    rows.push(row);
    record.table(&head(), &rows);
    // An engine that cannot answer all queries gets the mean of the queries that it answers; Lath's mean over the same
    // queries is comparable.
    let polars = [Engine::Peer("polars"), Engine::Lath];
    let shared = |engine| geometric_mean(&all, engine, &polars, |least| least.seconds);
    record.line(&format!(
        "polars / Lath over the {} queries that polars answers: {}\n",
        all.iter().filter(|times| least_seconds(times, |engine| engine == polars[0]).is_finite()).count(),
        against_goal(shared(polars[0]) / shared(polars[1]), 1.0)
    ));
}
