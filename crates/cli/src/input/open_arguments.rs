//! Options for opening files, from arguments.

use lath_parquet::{DecryptionKeys, Int96Unit, OpenOptions};

use crate::args::OpenArgs;
use crate::failure::{Failure, Result};

/// Options for opening files: keys and the unit of INT96 timestamps.
#[derive(Debug)]
pub(crate) struct OpenArguments {
    pub(crate) decryption: Option<DecryptionKeys>,
    int96_unit: Option<Int96Unit>,
}

impl OpenArguments {
    pub(crate) fn of(args: &OpenArgs) -> Result<Self> {
        Ok(Self { decryption: decryption(args)?, int96_unit: args.int96_unit.map(Into::into) })
    }

    /// The options with what the command line says.
    pub(crate) fn add_to(&self, mut options: OpenOptions) -> OpenOptions {
        if let Some(keys) = &self.decryption {
            options = options.decryption(keys.clone());
        }
        if let Some(unit) = self.int96_unit {
            options = options.int96_unit(unit);
        }
        options
    }
}

fn decryption(args: &OpenArgs) -> Result<Option<DecryptionKeys>> {
    let Some(footer_key) = &args.footer_key else {
        if args.column_key.is_empty() && args.aad_prefix.is_none() {
            return Ok(None);
        }
        return Err(Failure::Usage("--column-key and --aad-prefix need --footer-key as well".to_owned()));
    };
    let mut keys = DecryptionKeys::new(parse_key("--footer-key", footer_key)?);
    for key in &args.column_key {
        let (path, hex) = key.split_once('=').ok_or_else(|| {
            Failure::Usage(format!("--column-key {key}: write the column's path, =, and the key in hexadecimal"))
        })?;
        keys = keys.column_key(path, parse_key("--column-key", hex)?);
    }
    if let Some(prefix) = &args.aad_prefix {
        keys = keys.aad_prefix(prefix.clone());
    }
    Ok(Some(keys))
}

fn parse_key(option: &str, hex: &str) -> Result<Vec<u8>> {
    match parse_hex(hex) {
        Some(key) if matches!(key.len(), 16 | 24 | 32) => Ok(key),
        _ => Err(Failure::Usage(format!("{option}: an AES key has 32, 48 or 64 hexadecimal digits"))),
    }
}

/// Decodes pairs of hexadecimal digits.
pub(crate) fn parse_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_become_bytes() {
        assert_eq!(parse_hex("00fFa5"), Some(vec![0, 255, 0xa5]));
        assert_eq!(parse_hex(""), Some(Vec::new()));
        assert_eq!(parse_hex("abc"), None);
        assert_eq!(parse_hex("0g"), None);
    }
}
