//! Finds a few rows by key out of 1,000 files.

use super::{Answers, Engine, median};
use crate::data::Random;
use crate::data::needles::{FILE_ROWS, FILES, Kind, hex, key, make};
use crate::files::race::Options;
use crate::record::{Record, against_goal};

/// A list of keys, and the sum of the ids of their rows.
struct Query {
    keys: Vec<[u8; 16]>,
    answer: u64,
}

impl Query {
    fn present(random: &mut Random, count: usize) -> Query {
        let ids: Vec<u64> = (0..count).map(|_| random.below(FILES as u64 * FILE_ROWS)).collect();
        let mut distinct = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        Query { keys: ids.iter().map(|&id| key(id)).collect(), answer: distinct.iter().sum() }
    }

    /// Keys that no row has.
    fn absent(random: &mut Random) -> Query {
        Query { keys: vec![key(FILES as u64 * FILE_ROWS + random.below(1 << 40))], answer: 0 }
    }

    fn line(&self) -> String {
        self.keys.iter().map(hex).collect::<Vec<_>>().join(" ")
    }
}

/// The number of queries of one process after which Lath has all filters in memory.
const ASKED_OFTEN: usize = 20;

/// The number of queries of one process after which Lath has computed second filters of nearly all row groups: each
/// query has false positives in one of a hundred, and computes a filter at the second.
const ASKED_FOR_LONG: usize = 800;

/// For files without filters: at first each query scans all row groups without a match.
const ASKED_FOR_LONG_WITHOUT: usize = 150;

/// A row of the table.
struct Work {
    name: &'static str,
    kind: Kind,
    /// Whether only the first query of a fresh process counts.
    cold: bool,
    /// The number of queries that warm up before the counted ones.
    uncounted: usize,
    /// Whether Lath computes filters of row groups that it scanned without a match.
    computed_filters: bool,
    queries: Vec<Query>,
    /// The maximum milliseconds for Lath, or its maximum share of the best peer's time.
    goal: Goal,
}

impl Work {
    fn new(name: &'static str, kind: Kind, queries: Vec<Query>, goal: Goal) -> Work {
        Work { name, kind, cold: false, uncounted: 1, computed_filters: false, queries, goal }
    }

    fn in_fresh_processes(self) -> Work {
        Work { cold: true, ..self }
    }

    /// After enough queries that Lath keeps the filters in memory; at first it reads single blocks of them.
    fn asked_often(self) -> Work {
        Work { uncounted: ASKED_OFTEN, ..self }
    }

    /// After enough queries that Lath has computed its own filters.
    fn after(self, uncounted: usize) -> Work {
        Work { uncounted, computed_filters: true, ..self }
    }

    /// The queries for an engine, and the number that do not count: peers need fewer to be warm.
    fn queries_for(&self, engine: Engine) -> (&[Query], usize) {
        let uncounted = if engine == Engine::Lath { self.uncounted } else { self.uncounted.min(1) };
        (&self.queries[self.uncounted - uncounted..], uncounted)
    }
}

#[derive(Clone, Copy)]
enum Goal {
    Milliseconds(f64),
    Times(f64),
}

pub fn run(record: &mut Record, options: &Options) {
    let count = if options.quick { 7 } else { 21 };
    let mut random = Random(7);
    let mut hits = |kind_keys: usize, count: usize| -> Vec<Query> {
        (0..count).map(|_| Query::present(&mut random, kind_keys)).collect()
    };
    let (one, many) = (hits(1, count), hits(100, count.min(7)));
    let (cold, bare, bare_many) = (hits(1, 3), hits(1, 5), hits(100, 3));
    let often = ASKED_OFTEN + 2 * count;
    let hits_often = hits(1, often);
    let (long, long_without) = (ASKED_FOR_LONG + count, ASKED_FOR_LONG_WITHOUT + 5);
    let (hits_long, hits_long_without, many_long) = (hits(1, long), hits(1, long_without), hits(100, 100 + 7));
    let misses = |count: usize| -> Vec<Query> {
        let mut random = Random(8);
        (0..count).map(|_| Query::absent(&mut random)).collect()
    };
    let works = [
        Work::new("fresh process, hit", Kind::Bloom, cold, Goal::Milliseconds(30.0)).in_fresh_processes(),
        Work::new("fresh process, miss", Kind::Bloom, misses(count), Goal::Milliseconds(30.0)).in_fresh_processes(),
        Work::new("warm, hit", Kind::Bloom, one, Goal::Milliseconds(6.0)),
        Work::new("warm, miss", Kind::Bloom, misses(count), Goal::Milliseconds(4.0)),
        Work::new("warm, hit, asked often", Kind::Bloom, hits_often, Goal::Milliseconds(6.0)).asked_often(),
        Work::new("warm, miss, asked often", Kind::Bloom, misses(often), Goal::Milliseconds(4.0)).asked_often(),
        Work::new("warm, 100 keys", Kind::Bloom, many, Goal::Milliseconds(450.0)),
        Work::new("no Bloom filters, warm, hit", Kind::Bare, bare, Goal::Times(2.0)),
        Work::new("no Bloom filters, warm, 100 keys", Kind::Bare, bare_many, Goal::Times(2.0)),
        Work::new("800 queries later, hit", Kind::Bloom, hits_long, Goal::Milliseconds(6.0)).after(ASKED_FOR_LONG),
        Work::new("800 queries later, miss", Kind::Bloom, misses(long), Goal::Milliseconds(4.0)).after(ASKED_FOR_LONG),
        Work::new("100 queries later, 100 keys", Kind::Bloom, many_long, Goal::Milliseconds(450.0)).after(100),
        Work::new("no Bloom filters, 150 queries later, hit", Kind::Bare, hits_long_without, Goal::Times(2.0))
            .after(ASKED_FOR_LONG_WITHOUT),
    ];
    if !works.iter().any(|work| options.wants(work.name)) {
        return;
    }
    make();
    record.heading("Needles: 1,000 files of 100,000 rows, ms a query, median");
    let engines = Engine::chosen(options);
    for threads in [1, 2].into_iter().filter(|&threads| options.wants_threads(threads)) {
        let mut head = vec![format!("{threads} threads")];
        head.extend(engines.iter().map(|engine| engine.label().to_owned()));
        head.push("best peer / Lath".to_owned());
        head.push("goal".to_owned());
        let mut rows = Vec::new();
        for work in works.iter().filter(|work| options.wants(work.name)) {
            let times: Vec<f64> = engines.iter().map(|&engine| measure(engine, work, threads)).collect();
            let cells = times.iter().map(|time| if time.is_nan() { "–".to_owned() } else { format!("{time:.2}") });
            let mut row = vec![work.name.to_owned()];
            row.extend(cells);
            let lath = if options.lath { times[0] } else { f64::NAN };
            let peer = times[usize::from(options.lath)..].iter().copied().fold(f64::NAN, f64::min);
            row.push(format!("{:.1} ×", peer / lath));
            row.push(match work.goal {
                Goal::Milliseconds(goal) if lath <= goal => format!("{goal} ms: reached"),
                Goal::Milliseconds(goal) => format!("{goal} ms: **missed**"),
                Goal::Times(goal) => against_goal(peer / lath, goal),
            });
            rows.push(row);
        }
        record.table(&head, &rows);
    }
}

/// Milliseconds, after the answers have been compared; NaN for an engine that failed.
fn measure(engine: Engine, work: &Work, threads: usize) -> f64 {
    let folder = work.kind.folder();
    let ask = |queries: &[Query]| {
        let mut command = engine.command();
        command.arg("needles").arg(&folder).arg(threads.to_string());
        if engine == Engine::Lath && !work.computed_filters {
            command.arg("without-computed");
        }
        let lines: Vec<String> = queries.iter().map(Query::line).collect();
        let answers = Answers::of(engine, command, &lines.join("\n"))?;
        let expected: Vec<u64> = queries.iter().map(|query| query.answer).collect();
        assert_eq!(answers.answers, expected, "{} finds other rows: {}", engine.label(), work.name);
        Some(answers.seconds)
    };
    let seconds: Option<Vec<f64>> = if work.cold {
        work.queries.iter().take(5).map(|query| ask(std::slice::from_ref(query)).map(|seconds| seconds[0])).collect()
    } else {
        let (queries, uncounted) = work.queries_for(engine);
        ask(queries).map(|seconds| seconds[uncounted..].to_vec())
    };
    seconds.map_or(f64::NAN, |seconds| median(&seconds) * 1e3)
}
