//! Where the files of a table are: metadata names them by absolute locations, and the table may have been moved or copied since.

use lath_parquet::{Error, Result};

use crate::storage::Folder;

/// Finds the files that the metadata of a table names.
#[derive(Debug)]
pub(super) struct Locations {
    folder: Folder,
    /// The table's own location, as its metadata says, without a slash at its end.
    table: String,
}

impl Locations {
    pub(super) fn new(folder: &Folder, location: &str) -> Self {
        Self { folder: folder.clone(), table: plain(location).trim_end_matches('/').to_owned() }
    }

    /// The folder of the table.
    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The path or URL of a file. Files below the table's location are below the folder, wherever that is now.
    pub(super) fn find(&self, location: &str) -> Result<String> {
        let location = plain(location);
        if let Some(below) = location.strip_prefix(self.table.as_str()).and_then(|rest| rest.strip_prefix('/')) {
            let below = below.trim_start_matches('/');
            return self.folder.location(below);
        }
        if location.contains("://") || location.starts_with('/') {
            return Ok(location);
        }
        self.folder.location(&location)
    }

    /// The error of a file at `found` that could not be read, with the location that the metadata has for it.
    pub(super) fn explain(&self, error: Error, location: &str, found: &str) -> Error {
        match error {
            Error::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound && location != found => {
                let table = &self.table;
                Error::invalid(format!(
                    "the table names the file {location}, which is not at {found}; the table was at {table} when it was written, \
                     and its files have to be moved with it"
                ))
            }
            error => error,
        }
    }
}

/// A location with local files as paths, and one name for each scheme of a store.
pub(super) fn plain(location: &str) -> String {
    if let Some((scheme, path)) = location.split_at_checked(5)
        && scheme.eq_ignore_ascii_case("file:")
    {
        // Names are literal: `%2F` is part of one.
        let path = path.strip_prefix("//").unwrap_or(path);
        let path = path.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(path);
        return path.to_owned();
    }
    for scheme in ["s3a://", "s3n://"] {
        if let Some(rest) = location.strip_prefix(scheme) {
            return format!("s3://{rest}");
        }
    }
    // A relative warehouse; the paths of files are written without the dot.
    location.strip_prefix("./").unwrap_or(location).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lath_parquet::DatasetOptions;

    #[test]
    fn files_move_with_the_table() {
        let folder = Folder::open("/now/t", &DatasetOptions::new()).unwrap();
        for table in ["file:///then/t", "file:/then/t/", "/then/t", "file://localhost/then/t"] {
            let locations = Locations::new(&folder, table);
            for (named, found) in [
                ("file:///then/t/data/p=x%2Fy/a.parquet", "/now/t/data/p=x%2Fy/a.parquet"),
                ("file:/then/t/metadata/v1.metadata.json", "/now/t/metadata/v1.metadata.json"),
                ("/then/t//data/a.parquet", "/now/t/data/a.parquet"),
                ("/then/tt/a.parquet", "/then/tt/a.parquet"),
                ("file:///other/a.parquet", "/other/a.parquet"),
                ("s3a://bucket/a.parquet", "s3://bucket/a.parquet"),
                ("data/a.parquet", "/now/t/data/a.parquet"),
            ] {
                assert_eq!(locations.find(named).unwrap(), found, "{named} of {table}");
            }
        }
        let relative = Locations::new(&folder, "./warehouse/t");
        for named in ["warehouse/t/data/a.parquet", "./warehouse/t/data/a.parquet", "data/a.parquet"] {
            assert_eq!(relative.find(named).unwrap(), "/now/t/data/a.parquet");
        }
    }
}
