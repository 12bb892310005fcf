//! Decodes a file once with Lath alone, for its peak memory: `decode-lath WAY FILE`.

#[path = "../files/readers/lath.rs"]
mod lath;
#[path = "../files/readers/way.rs"]
mod way;

use std::path::Path;
use std::process::ExitCode;

use way::Way;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, path] = &arguments[..] else { return ExitCode::from(2) };
    let Some(way) = Way::parse(way) else { return ExitCode::from(2) };
    lath::read(way, Path::new(path), 1, drop);
    ExitCode::SUCCESS
}
