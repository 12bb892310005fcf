use std::fmt;

/// The form of strings and batches that a library returns. Written `views@8192`, `offsets-mapped@65536`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    pub views: bool,
    pub batch_rows: usize,
    /// Whether the file is mapped into memory; Lath only.
    pub mapped: bool,
}

impl Way {
    pub fn parse(text: &str) -> Option<Way> {
        let (name, batch_rows) = text.split_once('@')?;
        let (strings, mapped) = name.strip_suffix("-mapped").map_or((name, false), |name| (name, true));
        let views = match strings {
            "views" => true,
            "offsets" => false,
            _ => return None,
        };
        Some(Way { views, batch_rows: batch_rows.parse().ok()?, mapped })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strings = if self.views { "views" } else { "offsets" };
        let mapped = if self.mapped { "-mapped" } else { "" };
        write!(f, "{strings}{mapped}@{}", self.batch_rows)
    }
}
