/// Whether the dotted `path` names the column or group at the dotted path `name`, or something in it.
///
/// ```
/// use lath_format::schema::is_at_or_below;
///
/// assert!(is_at_or_below("point", "point") && is_at_or_below("point.x", "point"));
/// assert!(!is_at_or_below("points", "point"));
/// ```
pub fn is_at_or_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
