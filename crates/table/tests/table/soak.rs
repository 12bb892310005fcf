//! Runs `examples/soak.rs` for a few seconds; `just table-soak` runs it for longer.

use std::process::Command;

use lath_testkit::Seeded;

#[path = "../../examples/soak.rs"]
#[allow(dead_code, reason = "the program has a main function too")]
mod program;

const PATH: &str = "LATH_TEST_TABLE_SOAK";

#[test]
fn every_snapshot_adds_up_while_files_come_and_go() {
    if let Some(path) = std::env::var_os(PATH) {
        assert!(program::read_in_other_process(path.as_ref()).unwrap() > 0);
        return;
    }
    let mut random = Seeded::new("every snapshot adds up while files come and go");
    let other_process = |path: &std::path::Path| {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["--exact", "soak::every_snapshot_adds_up_while_files_come_and_go", "--nocapture"])
            .env(PATH, path);
        Ok(command)
    };
    println!("{}", program::soak(3, random.u64(..), other_process).unwrap());
}
