//! The options of the command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engines;

pub struct Options {
    pub rows: u64,
    /// The time of one measurement.
    pub time: Duration,
    pub clients: Vec<usize>,
    pub engines: Vec<String>,
    pub is_synced: bool,
    pub is_quick: bool,
    pub folder: PathBuf,
}

impl Options {
    /// # Errors
    /// A message about the unknown option.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            rows: 1_000_000,
            time: Duration::from_secs(9),
            clients: vec![1, 4, 16],
            engines: engines::NAMES.iter().map(|&name| name.to_owned()).collect(),
            is_synced: true,
            is_quick: false,
            folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/ycsb"),
        };
        for argument in arguments {
            let (name, text) = argument.split_once('=').unwrap_or((argument, ""));
            let number = || text.parse().map_err(|_| format!("{argument} is no number"));
            match name {
                "--quick" => (options.rows, options.time, options.is_quick) = (100_000, Duration::from_secs(3), true),
                "--rows" => options.rows = number()?,
                "--seconds" => options.time = Duration::from_secs(number()?),
                "--unsynced" => options.is_synced = false,
                "--folder" => options.folder = PathBuf::from(text),
                "--clients" => {
                    let clients = text.split(',').map(str::parse).collect::<Result<_, _>>();
                    options.clients = clients.map_err(|_| format!("{argument} has no numbers"))?;
                }
                "--engines" => {
                    options.engines = text.split(',').map(str::to_owned).collect();
                    if let Some(other) = options.engines.iter().find(|name| !engines::NAMES.contains(&name.as_str())) {
                        return Err(format!("there is no engine {other}; there are {}", engines::NAMES.join(", ")));
                    }
                }
                _ => return Err(format!("{argument} is not understood")),
            }
        }
        if options.rows < 1_000 || options.clients.contains(&0) {
            return Err("give at least 1,000 rows and one client".to_owned());
        }
        Ok(options)
    }
}
