//! Portable byte-string kernels: eight bytes at a time in a word, and a count that vectorises.

/// The bits in which two words differ start in the first byte that differs.
pub(super) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a_words, a_tail) = a[..len].as_chunks::<8>();
    let (b_words, b_tail) = b[..len].as_chunks::<8>();
    for (i, (&x, &y)) in a_words.iter().zip(b_words).enumerate() {
        let different = u64::from_le_bytes(x) ^ u64::from_le_bytes(y);
        if different != 0 {
            return i * 8 + different.trailing_zeros() as usize / 8;
        }
    }
    a_words.len() * 8 + a_tail.iter().zip(b_tail).take_while(|(x, y)| x == y).count()
}

/// Sums in bytes, so that a vector holds as many counters as it has bytes; 255 rounds are what a byte can hold.
pub(super) fn count_byte(haystack: &[u8], needle: u8) -> usize {
    const LANES: usize = 32;
    let mut total = 0;
    for block in haystack.chunks(255 * LANES) {
        let (vectors, tail) = block.as_chunks::<LANES>();
        let mut counts = [0_u8; LANES];
        for vector in vectors {
            for (count, &byte) in counts.iter_mut().zip(vector) {
                *count += u8::from(byte == needle);
            }
        }
        total += counts.iter().map(|&count| usize::from(count)).sum::<usize>();
        total += tail.iter().filter(|&&byte| byte == needle).count();
    }
    total
}
