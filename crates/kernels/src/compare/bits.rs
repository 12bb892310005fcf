//! Bitmaps combined and counted, a word at a time: loops that the compiler vectorises.

use crate::KernelError;

macro_rules! join {
    ($(#[$doc:meta])* $name:ident, |$a:ident, $b:ident| $joined:expr) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// If the bitmaps differ in length.
        pub fn $name(bits: &mut [u64], other: &[u64]) -> Result<(), KernelError> {
            if bits.len() != other.len() {
                return Err(KernelError::LengthMismatch { expected: bits.len(), actual: other.len() });
            }
            for ($a, &$b) in bits.iter_mut().zip(other) {
                *$a = $joined;
            }
            Ok(())
        }
    };
}

join!(
    /// Keeps the bits that are set in `other` too.
    and, |a, b| *a & b
);
join!(
    /// Sets the bits that are set in `other`.
    or, |a, b| *a | b
);
join!(
    /// Clears the bits that are set in `other`.
    and_not, |a, b| *a & !b
);
