//! Counts the rows that pass TPC-H Q12's filter on lineitem, scale factor 10.

use super::{Answers, Engine};
use crate::data::lineitem::{LARGE, Variant, large_path, make_large};
use crate::files::race::Options;
use crate::record::Record;

pub fn run(record: &mut Record, options: &Options) {
    make_large();
    record.heading("TPC-H Q12's filter on lineitem, scale factor 10, Snappy: rows that pass, seconds, best / median / best processor time");
    let repetitions = if options.quick { 3 } else { 7 };
    let engines = Engine::chosen(options);
    for threads in [1, 2].into_iter().filter(|&threads| options.wants_threads(threads)) {
        let mut head = vec![format!("{threads} threads")];
        head.extend(LARGE.map(|variant| match variant {
            Variant::Plain => "PLAIN and dictionary".to_owned(),
            _ => "DELTA".to_owned(),
        }));
        let mut rows: Vec<Vec<String>> = engines.iter().map(|engine| vec![engine.label().to_owned()]).collect();
        let mut best = vec![Vec::new(); engines.len()];
        for variant in LARGE {
            let mut answer = None;
            for ((engine, row), best) in engines.iter().zip(&mut rows).zip(&mut best) {
                let mut command = engine.command();
                command.arg("shipmodes").arg(large_path(variant)).args([threads, repetitions].map(|n| n.to_string()));
                let Some(found) = Answers::of(*engine, command, "") else {
                    row.push("–".to_owned());
                    best.push(f64::NAN);
                    continue;
                };
                let first = *answer.get_or_insert(found.answers[0]);
                assert!(found.answers.iter().all(|&rows| rows == first), "{} counts other rows", engine.label());
                let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
                best.push(least(&found.seconds));
                row.push(format!(
                    "{:.3} / {:.3} / {:.3}",
                    least(&found.seconds),
                    super::median(&found.seconds),
                    least(&found.cpu_seconds)
                ));
            }
        }
        if options.lath {
            let mut row = vec!["best peer / Lath".to_owned()];
            for at in 0..LARGE.len() {
                let peer = best[1..].iter().map(|times| times[at]).fold(f64::NAN, f64::min);
                let seconds = [0.26, 0.50][at];
                let goal = if threads == 1 {
                    format!(", {seconds} s: {}", if best[0][at] <= seconds { "reached" } else { "**missed**" })
                } else {
                    String::new()
                };
                row.push(format!("{:.2} ×{goal}", peer / best[0][at]));
            }
            rows.push(row);
            record.table(&head, &rows);
            let times = best[0][1] / best[0][0];
            let verdict = if times <= 1.5 { "reached" } else { "**missed**" };
            record.line(&format!(
                "DELTA takes Lath {times:.2} × the time of PLAIN and dictionary (goal 1.5: {verdict}).\n"
            ));
        } else {
            record.table(&head, &rows);
        }
    }
}
