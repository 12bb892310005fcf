//! The questions of a suite, asked of all engines in turn.

use std::path::PathBuf;

use lath_bench_record::record::{Record, against_goal};

use crate::engine::Engine;
use crate::options::Options;
use crate::race::{Least, Race, Times, cell, geometric_mean, head, least_seconds};

/// A suite: tables, questions, and how many times as fast as its peers Lath is to be.
pub struct Suite {
    pub title: String,
    pub tables: Vec<(&'static str, PathBuf)>,
    /// Names of questions, and their SQL.
    pub questions: Vec<(String, String)>,
    pub datafusion_goal: f64,
    pub duckdb_goal: f64,
}

impl Suite {
    pub fn run(&self, record: &mut Record, options: &Options) {
        let is_meant = |(at, question): (usize, &'_ (String, String))| options.asks(at + 1).then(|| question.clone());
        let questions: Vec<(String, String)> = self.questions.iter().enumerate().filter_map(is_meant).collect();
        for &threads in &options.threads {
            let mut race = Race::start(&Engine::ALL, threads, &self.tables);
            let times: Vec<Times> =
                questions.iter().map(|(name, query)| race.run(name, query, options.rounds())).collect();
            record.heading(&format!(
                "{}, {threads} threads: milliseconds, least wall time / least processor time",
                self.title
            ));
            let names: Vec<&str> = questions.iter().map(|(name, _)| name.as_str()).collect();
            self.report(record, &names, &times);
            for difference in race.differences() {
                record.line(&format!("**Different answers**, {difference}\n"));
            }
        }
    }

    fn report(&self, record: &mut Record, names: &[&str], all: &[Times]) {
        let is_duckdb = |engine| engine == Engine::Peer("duckdb");
        let mut rows = Vec::new();
        for (name, times) in names.iter().zip(all) {
            let mut row = vec![(*name).to_owned()];
            row.extend(times.iter().map(|(_, least)| cell(*least)));
            let own = least_seconds(times, |engine| engine == Engine::Lath);
            row.push(format!("{:.2} ×", least_seconds(times, Engine::is_datafusion) / own));
            row.push(format!("{:.2} ×", least_seconds(times, is_duckdb) / own));
            rows.push(row);
        }
        let mean = |engine| Least {
            seconds: geometric_mean(all, engine, &[engine, Engine::Lath], |least| least.seconds),
            cpu_seconds: geometric_mean(all, engine, &[engine, Engine::Lath], |least| least.cpu_seconds),
        };
        let means = Engine::ALL.map(|engine| (engine, Some(mean(engine)))).to_vec();
        let mut row = vec!["**geometric mean**".to_owned()];
        row.extend(means.iter().map(|(_, least)| cell(*least)));
        let own = least_seconds(&means, |engine| engine == Engine::Lath);
        row.push(against_goal(least_seconds(&means, Engine::is_datafusion) / own, self.datafusion_goal));
        row.push(against_goal(least_seconds(&means, is_duckdb) / own, self.duckdb_goal));
        rows.push(row);
        record.table(&head(), &rows);
        let slower = |times: &&Times| {
            let own = least_seconds(times, |engine| engine == Engine::Lath);
            own > 1.1 * least_seconds(times, |engine| engine != Engine::Lath)
        };
        record.line(&format!(
            "Questions that the best of the others answers over 1.1 × faster: {} of {}\n",
            all.iter().filter(slower).count(),
            all.len()
        ));
        // An engine that cannot answer all queries gets the mean of the queries that it answers; Lath's mean over the same
        // queries is comparable.
        let polars = [Engine::Peer("polars"), Engine::Lath];
        let answered =
            all.iter().filter(|times| least_seconds(times, |engine| engine == polars[0]).is_finite()).count();
        if answered > 0 {
            let shared = |engine| geometric_mean(all, engine, &polars, |least| least.seconds);
            record.line(&format!(
                "polars / Lath over the {answered} queries that polars answers: {}\n",
                against_goal(shared(polars[0]) / shared(polars[1]), self.duckdb_goal)
            ));
        }
    }
}
