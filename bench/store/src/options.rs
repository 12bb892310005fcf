//! The options of the command line.

use std::path::{Path, PathBuf};

use crate::engines;

/// The parameters of a run.
pub struct Options {
    /// The numbers of keys in the stores, one run each.
    pub sizes: Vec<u64>,
    pub rounds: u64,
    pub engines: Vec<String>,
    /// The folder of the measured stores.
    pub folder: PathBuf,
}

impl Options {
    /// # Errors
    /// A message about the unknown option.
    pub fn parse(arguments: &[String]) -> Result<Options, String> {
        let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/store");
        let mut options = Options {
            sizes: vec![20_000_000],
            rounds: 20,
            engines: engines::NAMES.iter().map(|&name| name.to_owned()).collect(),
            folder: default,
        };
        for argument in arguments {
            let (name, text) = argument.split_once('=').unwrap_or((argument, ""));
            match name {
                "--quick" => options.sizes = vec![1_000_000],
                "--keys" => {
                    let sizes = text.split(',').map(str::parse).collect::<Result<_, _>>();
                    options.sizes = sizes.map_err(|_| format!("--keys={text} is no number, nor several"))?;
                }
                "--folder" => options.folder = PathBuf::from(text),
                "--engines" => {
                    options.engines = text.split(',').map(str::to_owned).collect();
                    if let Some(unknown) = options.engines.iter().find(|name| !engines::NAMES.contains(&name.as_str()))
                    {
                        return Err(format!("there is no engine {unknown}; there are {}", engines::NAMES.join(", ")));
                    }
                }
                _ => return Err(format!("{argument} is not understood")),
            }
        }
        if options.sizes.iter().any(|&keys| keys < 10_000) {
            return Err("fewer than 10,000 keys say nothing".to_owned());
        }
        Ok(options)
    }
}
