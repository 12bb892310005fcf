//! `bench`: measurements of small things, for their form and not for their figures.

use std::fs;

use crate::invocation::lath;

const SMALL: [&str; 8] = ["bench", "bloom", "--sizes", "32,20KiB", "--time", "1", "--filters", "70"];

#[test]
fn bloom_filters_are_measured_at_every_tier() {
    let run = lath(SMALL.iter().chain(&["--json"]));
    let report: serde_json::Value = serde_json::from_str(run.text(0)).unwrap();
    let sizes = report["sizes"].as_array().unwrap();
    assert_eq!(sizes.iter().map(|size| size["bytes"].as_u64().unwrap()).collect::<Vec<_>>(), [32, 20 << 10]);
    // One block can be no more than one filter.
    assert_eq!(sizes.iter().map(|size| size["filters"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 70]);
    for size in sizes {
        let tiers = size["tiers"].as_array().unwrap();
        assert_eq!(tiers[0]["tier"], "scalar");
        for tier in tiers {
            for way in ["single", "bulk", "count", "filters"] {
                let [best, median] = ["best_ns", "median_ns"].map(|name| tier[way][name].as_f64().unwrap());
                assert!(best > 0.0 && best <= median, "{tier}");
            }
        }
        assert!(size["raw_load"]["best_ns"].as_f64().unwrap() > 0.0);
    }
    let [found, expected] =
        ["false_positive_rate", "expected_false_positive_rate"].map(|name| sizes[1][name].as_f64().unwrap());
    assert!((found / expected - 1.0).abs() < 0.25, "{found} found, {expected} expected");
}

#[test]
fn figures_are_a_table_and_a_chart() {
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("bloom.svg");
    let args =
        || SMALL.iter().map(|arg| (*arg).to_owned()).chain(["--svg".to_owned(), chart.to_str().unwrap().to_owned()]);
    let run = lath(args());
    let text = run.text(0);
    for part in ["32 B with", "20.0 KiB with", "scalar", "single", "70 filters", "false positives", "raw load"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let svg = fs::read_to_string(&chart).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(
        ["32 B", "20.0 KiB", "scalar", "single", "bulk", "count", "70 filters"].iter().all(|part| svg.contains(part))
    );
    let again = lath(args());
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(lath(args().chain(["--force".to_owned()])).code, 0);
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    for size in ["0", "31", "200GiB", "many", ""] {
        let run = lath(["bench", "bloom", "--sizes", size]);
        assert_eq!(run.code, 2, "{size}");
        assert!(run.stderr.contains("write a size such as"), "{size}: {}", run.stderr);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_filter_beyond_the_memory_is_refused_before_anything_is_taken() {
    // The largest that is allowed; who has so much memory is not tested.
    let available = fs::read_to_string("/proc/meminfo").unwrap();
    let kibibytes = available.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    let kibibytes: u64 = kibibytes.trim().trim_end_matches(" kB").parse().unwrap();
    if kibibytes > 127 << 20 {
        return;
    }
    let run = lath(["bench", "bloom", "--sizes", "1KiB,128GiB"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("needs more memory") && run.stderr.contains("--sizes"), "{}", run.stderr);
}
