//! `schema`, `meta`, help and completions.

use serde_json::{Value, json};

use crate::invocation::{lath, sample};

#[test]
fn schema_shows_both_schemas() {
    let run = lath(["schema", &sample("stations.parquet")]);
    let text = run.text(0);
    for line in [
        "message arrow_schema {",
        "  REQUIRED BYTE_ARRAY name (STRING);",
        "name: Utf8View, required",
        "opened: Date32, required",
        "location: Struct, required",
        "    latitude: Float64, required",
        "docks: Map, required",
    ] {
        assert!(text.lines().any(|found| found.trim_end().ends_with(line)), "{line:?} is missing in\n{text}");
    }
}

#[test]
fn schemas_as_json_have_every_field() {
    let run = lath(["schema", &sample("trips/2025-01.parquet"), "--json"]);
    let schema: Value = serde_json::from_str(run.text(0)).unwrap();
    let names = |fields: &Value| -> Vec<String> {
        fields.as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["trip", "started", "minutes", "from", "to", "rider", "price", "kilometres", "tags", "note"];
    assert_eq!(names(&schema["parquet"]["fields"]), expected);
    assert_eq!(names(&schema["arrow"]["fields"]), expected);
    assert_eq!(schema["parquet"]["fields"][6]["logical_type"], json!("DECIMAL(7, 2)"));
    assert_eq!(schema["parquet"]["fields"][0]["physical_type"], json!("FIXED_LEN_BYTE_ARRAY(16)"));
    assert_eq!(schema["parquet"]["fields"][0]["logical_type"], json!("UUID"));
}

#[test]
fn files_with_one_schema_are_shown_once() {
    let run = lath(["schema", &sample("trips")]);
    let text = run.text(0);
    assert_eq!(text.matches("message ").count(), 1);
    assert!(text.contains("2025-01.parquet and 2 other files with the same schema"), "{text}");
}

#[test]
fn metadata_as_json_is_complete() {
    let run = lath(["meta", &sample("trips/2025-01.parquet"), "--json"]);
    let meta: Value = serde_json::from_str(run.text(0)).unwrap();
    assert_eq!((&meta["row_count"], &meta["row_group_count"]), (&json!(10_000), &json!(3)));
    assert_eq!(meta["created_by"], json!("Lath's sample data"));
    assert_eq!(meta["file_bytes"], json!(std::fs::metadata(sample("trips/2025-01.parquet")).unwrap().len()));
    let column = |path: &str| -> Value {
        let columns = meta["row_groups"][0]["columns"].as_array().unwrap();
        columns.iter().find(|column| column["path"] == path).unwrap().clone()
    };
    let price = column("price");
    assert_eq!(price["codec"], json!("SNAPPY"));
    assert_eq!(price["statistics"]["min"], json!("0.00"));
    assert_eq!(price["statistics"]["null_count"], json!(0));
    assert!(price["encodings"].as_array().unwrap().contains(&json!("RLE_DICTIONARY")), "{}", price["encodings"]);
    assert_eq!(
        price["pages"].as_array().unwrap().iter().map(|page| page["row_count"].as_i64().unwrap()).sum::<i64>(),
        4000
    );
    let minutes = column("minutes");
    assert_eq!((&minutes["statistics"]["min"], &minutes["logical_type"]), (&json!(2), &json!("INTEGER(16, unsigned)")));
    assert!(column("trip")["bloom_filter"]["bytes"].as_i64().unwrap() > 0);
    assert_eq!(column("started")["boundary_order"], json!("ascending"));
    assert!(column("started")["statistics"]["min"].as_str().unwrap().starts_with("2025-01-01T00:"));
    assert_eq!(column("from")["statistics"]["max"], json!("Östra Bron"));
}

#[test]
fn metadata_for_people_fits_80_columns() {
    let files = [sample("trips/2025-01.parquet"), sample("stations.parquet")];
    for args in [vec!["meta"], vec!["meta", "--pages"]] {
        for file in &files {
            let mut command = crate::invocation::command(args.iter().copied().chain([file.as_str()]));
            let output = command.env("COLUMNS", "80").output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains("Row groups") && text.contains("Columns: storage"), "{text}");
            for line in text.lines().skip(1) {
                assert!(line.chars().count() <= 80, "{line:?}");
            }
        }
    }
}

#[test]
fn columns_and_row_groups_of_metadata_can_be_chosen() {
    let trips = sample("trips/2025-01.parquet");
    let run = lath(["meta", &trips, "--json", "--columns", "rider,price", "--row-groups", "1-2"]);
    let meta: Value = serde_json::from_str(run.text(0)).unwrap();
    let row_groups = meta["row_groups"].as_array().unwrap();
    assert_eq!(row_groups.iter().map(|group| group["index"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    let paths: Vec<&Value> =
        row_groups[0]["columns"].as_array().unwrap().iter().map(|column| &column["path"]).collect();
    assert_eq!(paths, [&json!("rider.plan"), &json!("rider.age"), &json!("price")]);
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        "schema",
        "meta",
        "count",
        "head",
        "tail",
        "sample",
        "cat",
        "check",
        "find",
        "rewrite",
        "merge",
        "split",
        "convert",
        "gen",
        "completions",
    ] {
        let run = lath([command, "--help"]);
        let text = run.text(0);
        assert!(text.contains(&format!("Usage: lath {command}")), "{text}");
        assert!(text.contains("Example"), "{command} shows no example");
    }
    let overview = lath(["--help"]);
    assert!(overview.text(0).starts_with("Inspect, search, write, convert and check Parquet files"));
    assert!(overview.text(0).contains("Exit codes: 0 success, 1 nothing found"));
}

#[test]
fn completions_are_scripts_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(lath(["completions", shell]).text(0).contains("lath"), "{shell}");
    }
}
