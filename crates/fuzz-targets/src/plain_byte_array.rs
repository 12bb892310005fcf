//! `count | position | PLAIN BYTE_ARRAY`: views, lengths and copies agree.

use crate::Input;
use lath_kernels::byte_array::{copy_plain, plain_lengths, plain_views};

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (count, position) = (input.short() % 5_000, usize::from(input.byte()));
    let page = input.rest();
    // Without values, only the copy looks at their position.
    let position = position.min(page.len());

    let mut views = vec![0; count];
    let mut lengths = vec![0; count];
    let by_views = plain_views(&page, position, 3, &mut views);
    let by_lengths = plain_lengths(&page, position, &mut lengths);
    assert_eq!(by_views, by_lengths);
    let Ok(scan) = by_lengths else { return };
    assert_eq!(scan.total_len, lengths.iter().map(|&len| len as usize).sum::<usize>());
    let mut out = vec![0; scan.total_len];
    assert_eq!(copy_plain(&page, position, &lengths, &mut out), Ok(scan.position));
    let mut start = 0;
    for (view, len) in views.into_iter().zip(lengths) {
        assert_eq!(view as u32, len as u32);
        let shown = view.to_le_bytes();
        let value = &out[start..start + len as usize];
        match value.len() {
            0..=12 => assert_eq!(&shown[4..4 + value.len()], value),
            _ => assert_eq!(shown[4..8], value[..4]),
        }
        start += value.len();
    }
}
