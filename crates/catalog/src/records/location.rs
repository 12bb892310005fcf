//! Locations as a catalog has them: absolute, or below the folder that the catalog is in, so that both can be moved together.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The folder that a catalog is in: as it was named, and absolute.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    named: PathBuf,
    absolute: PathBuf,
}

/// Marks names that are below the catalog's folder.
const INSIDE: &str = "./";

impl Folder {
    /// The name of the folder itself.
    pub(crate) const ITSELF: &str = INSIDE;

    pub(crate) fn of_catalog(path: &Path) -> Result<Self> {
        let named = path.parent().unwrap_or(Path::new("")).to_owned();
        let absolute = absolute(if named.as_os_str().is_empty() { Path::new(".") } else { &named })?;
        Ok(Self { named, absolute })
    }

    /// The name in the catalog of a path or URL.
    pub(crate) fn name_of(&self, location: &str) -> Result<String> {
        if let Some(list) = location.strip_prefix('@') {
            return Ok(format!("@{}", self.name_of(list)?));
        }
        if location.contains("://") {
            return Ok(location.to_owned());
        }
        let path = absolute(Path::new(location))?;
        let name = match path.strip_prefix(&self.absolute) {
            Ok(inside) => inside.to_str().map(|inside| format!("{INSIDE}{inside}")),
            Err(_) => path.to_str().map(str::to_owned),
        };
        name.ok_or_else(|| not_unicode(&path))
    }

    /// The location that a name in the catalog stands for.
    pub(crate) fn location_of(&self, name: &str) -> Result<String> {
        if let Some(list) = name.strip_prefix('@') {
            return Ok(format!("@{}", self.location_of(list)?));
        }
        match name.strip_prefix(INSIDE) {
            None => Ok(name.to_owned()),
            Some("") if self.named.as_os_str().is_empty() => Ok(".".to_owned()),
            Some("") => self.named.to_str().map(str::to_owned).ok_or_else(|| not_unicode(&self.named)),
            Some(inside) => {
                let path = self.named.join(inside);
                path.to_str().map(str::to_owned).ok_or_else(|| not_unicode(&path))
            }
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::invalid(format!("{}: no absolute path of it: {error}", path.display())))?;
    // `a/../b` names what `b` does, unless `a` is a link: names are compared, so that only what is plain is taken out.
    Ok(absolute.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect())
}

fn not_unicode(path: &Path) -> Error {
    Error::invalid(format!("{}: a catalog takes only paths that are Unicode; rename it", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn names_below_the_folder_move_with_it_and_others_stay() {
        let folder = Folder::of_catalog(Path::new("/lake/_lath_catalog")).unwrap();
        let moved = Folder::of_catalog(Path::new("/sea/_lath_catalog")).unwrap();
        for (location, name, after) in [
            ("/lake", "./", "/sea"),
            ("/lake/a/b.parquet", "./a/b.parquet", "/sea/a/b.parquet"),
            ("/lakes/b.parquet", "/lakes/b.parquet", "/lakes/b.parquet"),
            ("s3://bucket/a", "s3://bucket/a", "s3://bucket/a"),
            ("@/lake/list.txt", "@./list.txt", "@/sea/list.txt"),
        ] {
            assert_eq!(folder.name_of(location).unwrap(), name);
            assert_eq!(moved.location_of(name).unwrap(), after);
        }
        let here = Folder::of_catalog(Path::new("_lath_catalog")).unwrap();
        assert_eq!(here.name_of("a.parquet").unwrap(), "./a.parquet");
        assert_eq!(here.location_of("./a.parquet").unwrap(), "a.parquet");
        assert_eq!(here.location_of("./").unwrap(), ".");
    }
}
