//! Converts locations to names in the catalog and back. Names below the catalog's folder are relative to it, so that files and catalog can
//! be moved together.

use std::path::{Path, PathBuf};

use lath_source::is_store;

use crate::error::{Error, Result};

/// The folder of a catalog: the path as given, and the absolute path.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    given: PathBuf,
    /// `None` for a catalog in a bucket, which has names of objects alone.
    absolute: Option<PathBuf>,
}

/// The prefix of names below the catalog's folder.
const INSIDE: &str = "./";

impl Folder {
    /// The name of the folder itself.
    pub(crate) const ITSELF: &str = INSIDE;

    /// The folder of the catalog at `path`.
    pub(crate) fn containing(path: &Path) -> Result<Self> {
        let given = path.parent().unwrap_or(Path::new("")).to_owned();
        let absolute = absolute(if given.as_os_str().is_empty() { Path::new(".") } else { &given })?;
        Ok(Self { given, absolute: Some(absolute) })
    }

    /// The place of a catalog in a bucket.
    pub(crate) fn in_bucket() -> Self {
        Self { given: PathBuf::new(), absolute: None }
    }

    /// The name in the catalog of a path or URL.
    pub(crate) fn name(&self, location: &str) -> Result<String> {
        let Some(folder) = &self.absolute else {
            return match is_store(location) {
                true => Ok(location.to_owned()),
                false => Err(Error::invalid(format!(
                    "{location}: a catalog in a bucket has files of stores alone, because others could not read files of this machine"
                ))),
            };
        };
        if let Some(list) = location.strip_prefix('@') {
            return Ok(format!("@{}", self.name(list)?));
        }
        if location.contains("://") {
            return Ok(location.to_owned());
        }
        let path = absolute(Path::new(location))?;
        let name = match path.strip_prefix(folder) {
            Ok(inside) => inside.to_str().map(|inside| format!("{INSIDE}{inside}")),
            Err(_) => path.to_str().map(str::to_owned),
        };
        name.ok_or_else(|| not_unicode(&path))
    }

    /// The path or URL of a name in the catalog.
    pub(crate) fn location(&self, name: &str) -> Result<String> {
        if let Some(list) = name.strip_prefix('@') {
            return Ok(format!("@{}", self.location(list)?));
        }
        match name.strip_prefix(INSIDE) {
            None => Ok(name.to_owned()),
            Some("") if self.given.as_os_str().is_empty() => Ok(".".to_owned()),
            Some("") => self.given.to_str().map(str::to_owned).ok_or_else(|| not_unicode(&self.given)),
            Some(inside) => {
                let path = self.given.join(inside);
                path.to_str().map(str::to_owned).ok_or_else(|| not_unicode(&path))
            }
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::invalid(format!("{}: cannot make the path absolute: {error}", path.display())))?;
    // Only `.` is removed: `a/../b` is `b` only if `a` is no link.
    Ok(absolute.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect())
}

fn not_unicode(path: &Path) -> Error {
    Error::invalid(format!("{}: the path is not Unicode, as paths in a catalog have to be; rename it", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn names_below_the_folder_move_with_it_and_others_stay() {
        let folder = Folder::containing(Path::new("/lake/_lath_catalog")).unwrap();
        let moved = Folder::containing(Path::new("/sea/_lath_catalog")).unwrap();
        for (location, name, after) in [
            ("/lake", "./", "/sea"),
            ("/lake/a/b.parquet", "./a/b.parquet", "/sea/a/b.parquet"),
            ("/lakes/b.parquet", "/lakes/b.parquet", "/lakes/b.parquet"),
            ("s3://bucket/a", "s3://bucket/a", "s3://bucket/a"),
            ("@/lake/list.txt", "@./list.txt", "@/sea/list.txt"),
        ] {
            assert_eq!(folder.name(location).unwrap(), name);
            assert_eq!(moved.location(name).unwrap(), after);
        }
        let here = Folder::containing(Path::new("_lath_catalog")).unwrap();
        assert_eq!(here.name("a.parquet").unwrap(), "./a.parquet");
        assert_eq!(here.location("./a.parquet").unwrap(), "a.parquet");
        assert_eq!(here.location("./").unwrap(), ".");
    }
}
