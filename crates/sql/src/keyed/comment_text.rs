//! Comments as they are stored: of tables and columns in the metadata of the schema, of a view in a line at the beginning of its text.

/// The metadata key of comments.
pub(crate) const COMMENT: &str = "comment";

/// Begins the line with the comment of a view, which is a JSON string.
const VIEW_COMMENT: &str = "-- comment: ";

/// The text of a view with this comment.
pub(crate) fn with_view_comment(comment: Option<&str>, text: &str) -> String {
    match comment {
        Some(comment) => format!("{VIEW_COMMENT}{}\n{text}", serde_json::Value::from(comment)),
        None => text.to_owned(),
    }
}

/// The comment of a view and the statement that created it.
pub(super) fn split_view_comment(text: &str) -> (Option<String>, &str) {
    let Some((line, statement)) = text.strip_prefix(VIEW_COMMENT).and_then(|rest| rest.split_once('\n')) else {
        return (None, text);
    };
    match serde_json::from_str(line) {
        Ok(comment) => (Some(comment), statement),
        Err(_) => (None, text),
    }
}
