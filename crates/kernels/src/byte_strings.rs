//! Byte strings where Arrow has them: behind offsets, in views, or one after another at a fixed width.

#![expect(unsafe_code, reason = "reads views as the bytes that they are")]

use crate::KernelError;

/// Byte strings that kernels read in place.
///
/// Offsets and views may be anything: a string that does not lie in its bytes is an error where it is met.
#[non_exhaustive]
#[derive(Debug, Clone, Copy)]
pub enum ByteStrings<'a> {
    /// String `i` is `data[offsets[i]..offsets[i + 1]]`: one offset more than strings, or none of either.
    Offsets32 {
        /// The bytes that offsets count in.
        data: &'a [u8],
        /// Where strings start, and at last where the last one ends.
        offsets: &'a [i32],
    },
    /// As [`ByteStrings::Offsets32`], with wide offsets.
    Offsets64 {
        /// The bytes that offsets count in.
        data: &'a [u8],
        /// Where strings start, and at last where the last one ends.
        offsets: &'a [i64],
    },
    /// Arrow's views, as the [`byte_array`](crate::byte_array) module lays them out.
    Views {
        /// A view for each string.
        views: &'a [u128],
        /// The buffers that views of more than twelve bytes point into.
        buffers: &'a [&'a [u8]],
    },
    /// Strings of one length, without anything between them.
    Fixed {
        /// The strings.
        data: &'a [u8],
        /// Bytes of each. Zero makes no strings, however many are meant.
        width: usize,
    },
}

impl ByteStrings<'_> {
    /// The number of strings.
    pub fn len(&self) -> usize {
        match *self {
            Self::Offsets32 { offsets, .. } => offsets.len().saturating_sub(1),
            Self::Offsets64 { offsets, .. } => offsets.len().saturating_sub(1),
            Self::Views { views, .. } => views.len(),
            Self::Fixed { data, width } => data.len().checked_div(width).unwrap_or(0),
        }
    }

    /// `count` strings from number `first` on.
    ///
    /// # Errors
    /// [`KernelError::InputTooShort`] where there are not so many.
    pub fn slice(self, first: usize, count: usize) -> Result<Self, KernelError> {
        let end = first.saturating_add(count);
        if end > self.len() {
            return Err(KernelError::InputTooShort { needed: end, available: self.len() });
        }
        Ok(match self {
            Self::Offsets32 { data, offsets } => {
                Self::Offsets32 { data, offsets: if count == 0 { &[] } else { &offsets[first..=end] } }
            }
            Self::Offsets64 { data, offsets } => {
                Self::Offsets64 { data, offsets: if count == 0 { &[] } else { &offsets[first..=end] } }
            }
            Self::Views { views, buffers } => Self::Views { views: &views[first..end], buffers },
            Self::Fixed { data, width } => Self::Fixed { data: &data[first * width..end * width], width },
        })
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A string and the bytes around it, which vector loads may touch.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) home: &'a [u8],
    /// `start + len` is no more than the length of `home`.
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl<'a> Span<'a> {
    #[inline(always)]
    fn new(home: &'a [u8], start: usize, end: usize) -> Result<Self, KernelError> {
        if start <= end && end <= home.len() { Ok(Self { home, start, len: end - start }) } else { Err(astray()) }
    }

    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.home[self.start..self.start + self.len]
    }

    /// `W` bytes from the string's start on, if so many are there.
    #[inline(always)]
    pub(crate) fn head<const W: usize>(self) -> Option<&'a [u8; W]> {
        self.home.get(self.start..self.start.saturating_add(W))?.first_chunk()
    }
}

#[cold]
fn astray() -> KernelError {
    KernelError::Malformed { what: "offsets of strings: they leave the bytes that they count in" }
}

/// One way of keeping strings, so that loops know it before they start.
pub(crate) trait Source<'a>: Copy {
    /// The strings in their order.
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>>;

    /// The length of the longest string; of broken offsets, any number.
    fn max_len(self) -> usize;
}

#[derive(Clone, Copy)]
pub(crate) struct Offsets<'a, O> {
    data: &'a [u8],
    offsets: &'a [O],
}

impl<'a> Source<'a> for Offsets<'a, i32> {
    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        // A negative offset becomes one behind all bytes.
        self.offsets.array_windows().map(move |&[start, end]| Span::new(self.data, start as usize, end as usize))
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        let len = |&[start, end]: &[i32; 2]| end.wrapping_sub(start).cast_unsigned();
        self.offsets.array_windows().map(len).max().unwrap_or(0) as usize
    }
}

impl<'a> Source<'a> for Offsets<'a, i64> {
    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        self.offsets.array_windows().map(move |&[start, end]| Span::new(self.data, place(start), place(end)))
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        // Lower halves suffice for what is sound, and are quicker to compare.
        let len = |&[start, end]: &[i64; 2]| (end as u32).wrapping_sub(start as u32);
        self.offsets.array_windows().map(len).max().unwrap_or(0) as usize
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Views<'a> {
    /// The views themselves, which hold short strings.
    bytes: &'a [u8],
    buffers: &'a [&'a [u8]],
}

impl<'a> Source<'a> for Views<'a> {
    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        self.bytes.as_chunks::<16>().0.iter().enumerate().map(move |(i, view)| {
            let word = u128::from_le_bytes(*view);
            let len = word as u32 as usize;
            if len <= 12 {
                return Ok(Span { home: self.bytes, start: 16 * i + 4, len });
            }
            let Some(&buffer) = self.buffers.get((word >> 64) as u32 as usize) else { return Err(astray()) };
            let start = (word >> 96) as usize;
            Span::new(buffer, start, start.saturating_add(len))
        })
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        let lens = self.bytes.as_chunks::<4>().0.iter().step_by(4).map(|&len| u32::from_le_bytes(len));
        lens.max().unwrap_or(0) as usize
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Fixed<'a> {
    data: &'a [u8],
    width: usize,
}

impl<'a> Source<'a> for Fixed<'a> {
    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        let starts = (0..self.data.len()).step_by(self.width.max(1));
        starts.map(move |start| Span::new(self.data, start, start.saturating_add(self.width)))
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        self.width
    }
}

pub(crate) fn offsets<'a, O>(data: &'a [u8], offsets: &'a [O]) -> Offsets<'a, O> {
    Offsets { data, offsets }
}

pub(crate) fn fixed(data: &[u8], width: usize) -> Fixed<'_> {
    Fixed { data, width }
}

#[cfg(target_endian = "little")]
pub(crate) fn views<'a>(views: &'a [u128], buffers: &'a [&'a [u8]]) -> Views<'a> {
    // SAFETY: the bytes are those of the slice, which all are initialised, and a byte has no alignment to keep.
    let bytes = unsafe { std::slice::from_raw_parts(views.as_ptr().cast::<u8>(), size_of_val(views)) };
    Views { bytes, buffers }
}

/// Evaluates `$call` with `$source` being the way in which `$strings` keeps its strings.
macro_rules! with_source {
    ($strings:expr, |$source:ident| $call:expr) => {
        match $strings {
            $crate::ByteStrings::Offsets32 { data, offsets } => {
                let $source = $crate::byte_strings::offsets(data, offsets);
                $call
            }
            $crate::ByteStrings::Offsets64 { data, offsets } => {
                let $source = $crate::byte_strings::offsets(data, offsets);
                $call
            }
            $crate::ByteStrings::Views { views, buffers } => {
                let $source = $crate::byte_strings::views(views, buffers);
                $call
            }
            $crate::ByteStrings::Fixed { data, width } => {
                let $source = $crate::byte_strings::fixed(data, width);
                $call
            }
        }
    };
}
pub(crate) use with_source;
