//! The history file.

use std::env;
use std::fs;
use std::path::PathBuf;

/// The file of the history, in the user's data folder (XDG Base Directory Specification); its folder is made. `None` where there is none.
pub(super) fn file() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| {
        let home = absolute("HOME").map(|home| home.join(".local/share"));
        home.or_else(|| absolute("APPDATA"))
    })?;
    let folder = data.join("lath");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("sql_history"))
}
