//! Statements whose files workers write, in moto's S3, if the variable LATH_MOTO_SERVER names its program. `.ci/run tests` installs it.

mod bucket;
mod faults;
mod reports;
mod same;

use std::env;
use std::process::Command;

use lath_testkit::s3::{Proxy, S3Server, Treatment};

/// The variable that tells the testing process the server's port.
const PORT: &str = "LATH_TEST_S3_PORT";

/// Starts a server, and runs the tests of this module that are ignored in a process that finds the server in its environment.
///
/// An object with `p=2` below `fails` is never completed, and answers to requests that complete objects below `lost` are lost.
#[test]
fn in_a_bucket() {
    let Some(moto) = S3Server::start() else { return };
    let completes = |line: &str| line.starts_with("POST") && line.contains("uploadId=");
    let proxy = Proxy::new(moto.bucket(), move |line| match line {
        line if completes(line) && line.contains("/fails/") && line.contains("p%3D2") => Treatment::Throttle,
        line if completes(line) && line.contains("/fails/") && line.contains("p=2") => Treatment::Throttle,
        line if completes(line) && line.contains("/lost/") => Treatment::LoseAnswer,
        _ => Treatment::Pass,
    });
    let status = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "copies::", "--nocapture"])
        .envs(proxy.bucket().environment())
        .env(PORT, moto.bucket().port().to_string())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}
