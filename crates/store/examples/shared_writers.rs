//! Measures processes that write to one store by turns: `just shared-writers SECONDS`.
//!
//! Each process adds 1 to a counter in a separate transaction, as often as it can, on a store with a number of other keys.
//! The counter has to be the number of all commits.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lath_store::{Durability, Options, Store};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, path, durability, is_shared, seconds] = &arguments[..]
        && role == "child"
    {
        return commit(Path::new(path), durability, is_shared == "true", seconds.parse()?);
    }
    let seconds = arguments.first().map_or(Ok(3.0), |text| text.parse())?;
    let keys: u64 = arguments.get(1).map_or(Ok(100_000), |text| text.parse())?;
    println!(
        "{:<10} {:>9} {:>8} {:>12} {:>10} {:>12}",
        "durability", "processes", "shared", "commits/s", "fewest", "longest"
    );
    for durability in ["deferred", "sync"] {
        for (processes, is_shared) in [(1, false), (1, true), (2, true), (3, true)] {
            measure(durability, processes, is_shared, seconds, keys)?;
        }
    }
    Ok(())
}

fn measure(durability: &str, processes: usize, is_shared: bool, seconds: f64, keys: u64) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store");
    let store = Store::open(&path)?;
    let mut transaction = store.begin()?;
    let mut tree = transaction.tree("data")?;
    for key in 0..keys {
        tree.put(&key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes(), &[7; 100])?;
    }
    transaction.commit()?;
    drop(store);
    let start = |_| {
        let text = seconds.to_string();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("child").arg(&path).args([durability, if is_shared { "true" } else { "false" }, &text]);
        Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
    };
    let mut children = (0..processes).map(start).collect::<Result<Vec<Child>>>()?;
    let mut outputs: Vec<_> = children.iter_mut().filter_map(|child| child.stdout.take()).map(BufReader::new).collect();
    let mut line = String::new();
    for output in &mut outputs {
        output.read_line(&mut line)?;
    }
    for child in &mut children {
        child.stdin.take().ok_or("no input")?.write_all(b"begin\n")?;
    }
    let (mut counts, mut longest) = (Vec::new(), Duration::ZERO);
    for output in &mut outputs {
        line.clear();
        output.read_line(&mut line)?;
        let (count, micros) = line.trim().split_once(' ').ok_or("a process has failed")?;
        counts.push(count.parse::<u64>()?);
        longest = longest.max(Duration::from_micros(micros.parse()?));
    }
    for child in &mut children {
        child.wait()?;
    }
    let total: u64 = counts.iter().sum();
    let store = Store::open(&path)?;
    let snapshot = store.snapshot()?;
    let tree = snapshot.tree("data")?.ok_or("no tree")?;
    assert_eq!(counter(tree.get(b"counter")?), total, "commits are lost");
    let fewest = counts.iter().min().copied().unwrap_or(0) as f64 / seconds;
    let each = total as f64 / seconds;
    println!("{durability:<10} {processes:>9} {is_shared:>8} {each:>12.0} {fewest:>10.0} {longest:>12.1?}");
    Ok(())
}

fn counter(value: Option<&[u8]>) -> u64 {
    value.and_then(|bytes| bytes.as_array()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The program of each process.
fn commit(path: &Path, durability: &str, is_shared: bool, seconds: f64) -> Result<()> {
    let durability = if durability == "sync" { Durability::Sync } else { Durability::Deferred };
    let options = Options::new().durability(durability);
    let options = if is_shared { options.busy_timeout(Duration::from_secs(60)) } else { options };
    let store = options.open(path)?;
    println!("open");
    std::io::stdin().read_line(&mut String::new())?;
    let (started, mut count, mut longest) = (Instant::now(), 0_u64, Duration::ZERO);
    let mut before = started;
    while started.elapsed().as_secs_f64() < seconds {
        let mut transaction = store.begin()?;
        let mut tree = transaction.tree("data")?;
        let next = counter(tree.get(b"counter")?) + 1;
        tree.put(b"counter", &next.to_le_bytes())?;
        transaction.commit()?;
        count += 1;
        let now = Instant::now();
        longest = longest.max(now - before);
        before = now;
    }
    println!("{count} {}", longest.as_micros());
    Ok(())
}
