//! Converts lines and columns of a text to byte offsets.

/// The lines of a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// The byte offset of a line and a column, both counted from 1; columns count characters.
    pub(crate) fn offset(&self, line: u64, column: u64) -> usize {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let Some(&start) = self.starts.get(index) else { return self.text.len() };
        let skipped = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
        let rest = &self.text[start..];
        start + rest.char_indices().nth(skipped).map_or(rest.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let lines = Lines::new("äb\nüc");
        assert_eq!(
            [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (9, 1)].map(|(l, c)| lines.offset(l, c)),
            [0, 2, 4, 6, 7, 7]
        );
    }
}
