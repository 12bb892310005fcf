//! The names and SQL texts of views.

use lath_store::Snapshot;

use crate::error::{Error, Result};
use crate::records::VIEWS;

/// The text of a view of a commit.
pub(crate) fn view_text(snapshot: &Snapshot, name: &str) -> Result<Option<String>> {
    let Some(views) = snapshot.tree(VIEWS)? else { return Ok(None) };
    let Some(text) = views.get(name.as_bytes())? else { return Ok(None) };
    let text = std::str::from_utf8(text).map_err(|_| Error::corrupt("the text of a view is not UTF-8"))?;
    Ok(Some(text.to_owned()))
}

/// The names of the views of a commit, in ascending order.
pub(crate) fn view_names(snapshot: &Snapshot) -> Result<Vec<String>> {
    let Some(views) = snapshot.tree(VIEWS)? else { return Ok(Vec::new()) };
    let name = |entry: lath_store::Result<lath_store::Entry<'_>>| {
        String::from_utf8(entry?.0).map_err(|_| Error::corrupt("the name of a view is not UTF-8"))
    };
    views.iter().map(name).collect()
}
