use std::process::Command;

/// The prefix of the digest lines of a sweep.
pub const DIGEST_MARK: &str = "digest of ";

/// Runs the ignored test `sweep` of this test program in a separate process, at the SIMD tier of this name, which a
/// process selects only once. Returns the lines of its output that begin with [`DIGEST_MARK`].
///
/// # Panics
/// If the test fails, with its output.
pub fn digests_at(tier: &str, sweep: &str, seed: u64) -> Vec<String> {
    let program = std::env::current_exe().expect("a test program has a path");
    let child = Command::new(program)
        .args(["--ignored", "--exact", sweep, "--nocapture"])
        .env("LATH_SIMD", tier)
        .env("LATH_SEED", seed.to_string())
        .output()
        .expect("the test program starts again");
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "at {tier}: {output}\n{}", String::from_utf8_lossy(&child.stderr));
    output.lines().filter(|line| line.starts_with(DIGEST_MARK)).map(str::to_owned).collect()
}
