//! The place of a tree: its name, or keys of the trees around it.

use std::fmt;

/// The place of a tree: the name of a tree, and then the keys below which trees are nested, from the outermost on.
///
/// ```
/// use lath_store::TreePath;
///
/// let path = TreePath::new("users").child(b"ada").child(b"sessions");
/// assert_eq!((path.name(), path.keys().len()), ("users", 2));
/// assert_eq!(path.to_string(), "users/ada/sessions");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreePath {
    name: String,
    keys: Vec<Vec<u8>>,
}

impl TreePath {
    /// The place of the tree with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), keys: Vec::new() }
    }

    /// The place of the tree that is nested at `key` of this one.
    #[must_use]
    pub fn child(mut self, key: impl AsRef<[u8]>) -> Self {
        self.keys.push(key.as_ref().to_vec());
        self
    }

    /// The name of the outermost tree.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys, from the outermost tree on. A tree that is not nested has none.
    #[must_use]
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// The place of the tree around this one, and the key there; `None` for a tree that is not nested.
    #[must_use]
    pub fn parent(&self) -> Option<(Self, &[u8])> {
        let (key, keys) = self.keys.split_last()?;
        Some((Self { name: self.name.clone(), keys: keys.to_vec() }, key))
    }

    /// Whether this is `other`, or a tree nested in it at any depth.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.name == other.name && self.keys.starts_with(&other.keys)
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.keys.iter().try_for_each(|key| write!(f, "/{}", key.escape_ascii()))
    }
}
