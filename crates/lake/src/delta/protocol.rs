//! Checks that Lath reads all features that a table needs.

use lath_parquet::{Error, Result};

use super::actions::{Metadata, Protocol};

/// The reader features of version 3 of the protocol that Lath supports.
const FEATURES: [&str; 9] = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantType",
    "variantType-preview",
];

/// Refuses a table that needs a feature that Lath does not read.
///
/// # Errors
/// [`Error::Unsupported`], which names the features.
pub(super) fn check(protocol: &Protocol, metadata: &Metadata) -> Result<()> {
    match (protocol.min_reader_version, &protocol.reader_features) {
        (1 | 2, _) => {}
        (3, Some(features)) => {
            let mut unknown: Vec<&str> =
                features.iter().map(String::as_str).filter(|feature| !FEATURES.contains(feature)).collect();
            if !unknown.is_empty() {
                unknown.sort_unstable();
                let plural = if unknown.len() == 1 { "" } else { "s" };
                return Err(Error::unsupported(format!(
                    "the reader feature{plural} {} of Delta Lake",
                    unknown.join(", ")
                )));
            }
        }
        (3, None) => return Err(Error::corrupt("the protocol has reader version 3, and no list of reader features")),
        (version, _) if version > 3 => {
            return Err(Error::unsupported(format!("version {version} of Delta Lake's protocol for readers")));
        }
        (version, _) => return Err(Error::corrupt(format!("the protocol has the reader version {version}"))),
    }
    let provider = metadata.format.as_ref().and_then(|format| format.provider.as_deref()).unwrap_or("parquet");
    if !provider.eq_ignore_ascii_case("parquet") {
        return Err(Error::unsupported(format!("files of the format {provider:?} in a table of Delta Lake")));
    }
    Ok(())
}
