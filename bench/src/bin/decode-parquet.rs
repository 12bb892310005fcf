//! Decodes a file once with the `parquet` crate alone, for its peak memory: `decode-parquet WAY FILE`.

#[path = "../files/readers/parquet.rs"]
mod parquet;
#[path = "../files/readers/way.rs"]
mod way;

use std::path::Path;
use std::process::ExitCode;

use way::Way;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, path] = &arguments[..] else { return ExitCode::from(2) };
    let Some(way) = Way::parse(way) else { return ExitCode::from(2) };
    parquet::read(way, Path::new(path), 1, drop);
    ExitCode::SUCCESS
}
