//! The environment of a measurement: the processor, its tiers, and the versions of all measured software.

use std::fs;
use std::path::Path;
use std::process::Command;

use lath_kernels::Tier;

/// The `parquet` crate that this program was built with, from its lock file.
pub fn parquet_version() -> String {
    locked_version("parquet")
}

pub fn locked_version(package: &str) -> String {
    let lock = include_str!("../../Cargo.lock");
    let name = format!("name = \"{package}\"\nversion = \"");
    lock.split_once(&name)
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or_else(|| "?".to_owned(), |(version, _)| version.to_owned())
}

pub fn describe() -> Vec<String> {
    let tiers: Vec<String> = Tier::available().iter().map(|tier| format!("{tier:?}")).collect();
    let mut lines = vec![
        format!("processor: {} ({}), {} cores", cpu("model name"), family(), cores()),
        format!("tiers available: {}", tiers.join(", ")),
    ];
    if !Tier::available().contains(&Tier::Avx512) {
        lines.push("AVX-512 rows: not measured, this processor shows no AVX-512".to_owned());
    }
    lines.push(format!("system: {}", command_output("uname", &["-sr"])));
    lines.push(format!("compiler: {}; release profile, no target-cpu", command_output("rustc", &["--version"])));
    lines.push(format!("commit: {}", command_output("git", &["rev-parse", "--short", "HEAD"])));
    lines.push(format!(
        "peers: parquet {}, bytecount {}, memchr {}; {}; parquet-go {}",
        parquet_version(),
        locked_version("bytecount"),
        locked_version("memchr"),
        include_str!("../../peers/python/requirements.txt").trim().replace("==", " ").replace('\n', ", "),
        parquet_go_version(),
    ));
    lines.push(format!("load when it began: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()));
    lines
}

fn parquet_go_version() -> &'static str {
    include_str!("../../peers/go/go.mod")
        .split_once("github.com/parquet-go/parquet-go ")
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .unwrap_or("?")
}

/// The processor's name, in a form for file names.
pub fn short_name() -> String {
    let name: String =
        cpu("model name").to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    name.trim_matches('-').to_owned()
}

fn family() -> String {
    format!("{} family {} model {}", cpu("vendor_id"), cpu("cpu family"), cpu("model\t"))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn cpu(key: &str) -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    info.lines()
        .find(|line| line.starts_with(key))
        .and_then(|line| line.split_once(':'))
        .map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, value)| value.trim().to_owned())
}

pub fn command_output(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

/// The processor time of all threads of this process.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local of the right type.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "the clock of the process is always there");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
