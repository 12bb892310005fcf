//! Byte strings in Arrow's layouts: with offsets, in views, or one after another at a fixed width.

#![expect(unsafe_code, reason = "reads views as the bytes that they are")]

#[cfg(test)]
pub(crate) mod layouts;

use std::hint::select_unpredictable;

use crate::KernelError;

/// Byte strings that kernels read in place.
///
/// Offsets and views may be anything: a string outside of its bytes is an error when it is reached.
#[non_exhaustive]
#[derive(Debug, Clone, Copy)]
pub enum ByteStrings<'a> {
    /// String `i` is `data[offsets[i]..offsets[i + 1]]`: one more offset than strings, or none of either.
    Offsets32 {
        /// The bytes that offsets refer to.
        data: &'a [u8],
        /// The starts of the strings, and the end of the last one.
        offsets: &'a [i32],
    },
    /// Like [`ByteStrings::Offsets32`], with wide offsets.
    Offsets64 {
        /// The bytes that offsets refer to.
        data: &'a [u8],
        /// The starts of the strings, and the end of the last one.
        offsets: &'a [i64],
    },
    /// Arrow's views, in the layout of the [`byte_array`](crate::byte_array) module.
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
        /// The length of each. Zero makes no strings.
        width: usize,
    },
}

impl<'a> ByteStrings<'a> {
    /// String `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Result<&'a [u8], KernelError> {
        macro_rules! between {
            ($data:expr, $offsets:expr) => {{
                let [start, end] = *$offsets.get(index..).and_then(<[_]>::first_chunk).ok_or_else(astray)?;
                let place = |offset| usize::try_from(offset).ok();
                place(start).zip(place(end)).and_then(|(start, end)| $data.get(start..end)).ok_or_else(astray)
            }};
        }
        match *self {
            Self::Offsets32 { data, offsets } => between!(data, offsets),
            Self::Offsets64 { data, offsets } => between!(data, offsets),
            Self::Views { views, buffers } => {
                let view = views.get(index).ok_or_else(astray)?;
                let word = u128::from_le(*view);
                let len = word as u32 as usize;
                let (home, start) = if len <= 12 {
                    (as_bytes(views), 16 * index + 4)
                } else {
                    (*buffers.get((word >> 64) as u32 as usize).ok_or_else(astray)?, (word >> 96) as usize)
                };
                home.get(start..start.saturating_add(len)).ok_or_else(astray)
            }
            Self::Fixed { data, width } => {
                let start = index.saturating_mul(width);
                data.get(start..start.saturating_add(width)).ok_or_else(astray)
            }
        }
    }

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
    /// [`KernelError::InputTooShort`] if there are fewer.
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

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A string and the bytes around it, which vector loads may access.
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

    /// `W` bytes from the string's start on, if there are that many.
    #[inline(always)]
    pub(crate) fn head<const W: usize>(self) -> Option<&'a [u8; W]> {
        self.home.get(self.start..)?.first_chunk()
    }
}

#[cold]
fn astray() -> KernelError {
    KernelError::Malformed { what: "offsets of strings: they leave the bytes that they count in" }
}

/// A layout of strings, so that loops know it at compile time.
pub(crate) trait Source<'a>: Copy {
    /// The strings in order.
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>>;

    /// The bytes of all strings, if they are one after another anyway.
    #[inline(always)]
    fn joined(self) -> Option<&'a [u8]> {
        None
    }

    /// The length of the longest string; for invalid offsets, any number.
    fn max_len(self) -> usize;

    /// Writes the length of each string, and returns the sum. Strings of views need not lie within their bytes for
    /// this.
    fn lengths(self, out: &mut [i32]) -> Result<usize, KernelError>;
}

#[derive(Clone, Copy)]
pub(crate) struct Offsets<'a, O> {
    data: &'a [u8],
    offsets: &'a [O],
}

impl<'a> Source<'a> for Offsets<'a, i32> {
    #[inline(always)]
    fn joined(self) -> Option<&'a [u8]> {
        if !self.offsets.is_sorted() {
            return None;
        }
        let (first, last) = self.offsets.first().copied().zip(self.offsets.last().copied()).unwrap_or_default();
        self.data.get(usize::try_from(first).ok()?..usize::try_from(last).ok()?)
    }

    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        // A negative offset becomes one past all bytes.
        self.offsets.array_windows().map(move |&[start, end]| Span::new(self.data, start as usize, end as usize))
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        let len = |&[start, end]: &[i32; 2]| end.wrapping_sub(start).cast_unsigned();
        self.offsets.array_windows().map(len).max().unwrap_or(0) as usize
    }

    #[inline(always)]
    fn lengths(self, out: &mut [i32]) -> Result<usize, KernelError> {
        let (Some(&first), Some(&last)) = (self.offsets.first(), self.offsets.last()) else { return Ok(0) };
        // Offsets that start at zero or above and never decrease are valid if the last one is.
        let mut signs = first;
        for (len, &[start, end]) in out.iter_mut().zip(self.offsets.array_windows()) {
            *len = end.wrapping_sub(start);
            // A decrease that wraps to an increase starts below zero or ends there.
            signs |= *len | end;
        }
        if signs < 0 || last as usize > self.data.len() { Err(astray()) } else { Ok((last - first) as usize) }
    }
}

impl<'a> Source<'a> for Offsets<'a, i64> {
    #[inline(always)]
    fn joined(self) -> Option<&'a [u8]> {
        if !self.offsets.is_sorted() {
            return None;
        }
        let (first, last) = self.offsets.first().copied().zip(self.offsets.last().copied()).unwrap_or_default();
        self.data.get(usize::try_from(first).ok()?..usize::try_from(last).ok()?)
    }

    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        let place = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
        self.offsets.array_windows().map(move |&[start, end]| Span::new(self.data, place(start), place(end)))
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        // Lower halves suffice for valid offsets, and are faster to compare.
        let len = |&[start, end]: &[i64; 2]| (end as u32).wrapping_sub(start as u32);
        self.offsets.array_windows().map(len).max().unwrap_or(0) as usize
    }

    #[inline(always)]
    fn lengths(self, out: &mut [i32]) -> Result<usize, KernelError> {
        let (Some(&first), Some(&last)) = (self.offsets.first(), self.offsets.last()) else { return Ok(0) };
        let (mut signs, mut all) = (first, 0);
        for (out, &[start, end]) in out.iter_mut().zip(self.offsets.array_windows()) {
            let len = end.wrapping_sub(start);
            signs |= len | end;
            all |= len;
            *out = len as i32;
        }
        if signs < 0 || !usize::try_from(last).is_ok_and(|last| last <= self.data.len()) {
            return Err(astray());
        }
        if all > i64::from(i32::MAX) {
            let position = self.offsets.array_windows().position(|[start, end]| end - start > i64::from(i32::MAX));
            return Err(KernelError::OffsetOverflow { position: position.unwrap_or(0) });
        }
        Ok((last - first) as usize)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Views<'a> {
    /// The views themselves, which contain short strings.
    bytes: &'a [u8],
    buffers: &'a [&'a [u8]],
}

impl<'a> Source<'a> for Views<'a> {
    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        self.bytes.as_chunks::<16>().0.iter().enumerate().map(move |(i, view)| {
            let word = u128::from_le_bytes(*view);
            let len = word as u32 as usize;
            // Columns of short and long strings are both common, so the code favours neither.
            let is_short = len <= 12;
            let index = select_unpredictable(is_short, 0, (word >> 64) as u32 as usize);
            let buffer = match self.buffers.get(index) {
                Some(&buffer) => buffer,
                None if is_short => self.bytes,
                None => return Err(astray()),
            };
            let start = select_unpredictable(is_short, 16 * i + 4, (word >> 96) as usize);
            let home = select_unpredictable(is_short, self.bytes, buffer);
            Span::new(home, start, start.saturating_add(len))
        })
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        view_lengths(self.bytes).max().unwrap_or(0) as usize
    }

    #[inline(always)]
    fn lengths(self, out: &mut [i32]) -> Result<usize, KernelError> {
        let (mut signs, mut total) = (0, 0_u64);
        for (out, view) in out.iter_mut().zip(self.bytes.as_chunks::<16>().0) {
            let len = u128::from_le_bytes(*view) as u32;
            signs |= len.cast_signed();
            total += u64::from(len);
            *out = len.cast_signed();
        }
        if signs < 0 {
            let position = out.iter().position(|&len| len < 0).unwrap_or(0);
            return Err(KernelError::OffsetOverflow { position });
        }
        usize::try_from(total).map_err(|_| KernelError::OffsetOverflow { position: out.len() })
    }
}

/// Views of up to twelve bytes, all of which contain their strings.
#[derive(Clone, Copy)]
pub(crate) struct ShortViews<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> for ShortViews<'a> {
    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        self.bytes.as_chunks::<16>().0.iter().enumerate().map(move |(i, &[len, ..])| {
            let start = 16 * i + 4;
            Span::new(self.bytes, start, start + usize::from(len))
        })
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        view_lengths(self.bytes).max().unwrap_or(0) as usize
    }

    #[inline(always)]
    fn lengths(self, out: &mut [i32]) -> Result<usize, KernelError> {
        Views { bytes: self.bytes, buffers: &[] }.lengths(out)
    }
}

#[inline(always)]
fn view_lengths(views: &[u8]) -> impl Iterator<Item = u32> {
    views.as_chunks::<16>().0.iter().map(|view| u128::from_le_bytes(*view) as u32)
}

#[derive(Clone, Copy)]
pub(crate) struct FixedWidth<'a> {
    data: &'a [u8],
    width: usize,
}

impl<'a> Source<'a> for FixedWidth<'a> {
    #[inline(always)]
    fn joined(self) -> Option<&'a [u8]> {
        Some(self.data)
    }

    #[inline(always)]
    fn spans(self) -> impl Iterator<Item = Result<Span<'a>, KernelError>> {
        let starts = (0..self.data.len()).step_by(self.width.max(1));
        starts.map(move |start| Span::new(self.data, start, start.saturating_add(self.width)))
    }

    #[inline(always)]
    fn max_len(self) -> usize {
        self.width
    }

    #[inline(always)]
    fn lengths(self, out: &mut [i32]) -> Result<usize, KernelError> {
        out.fill(i32::try_from(self.width).map_err(|_| KernelError::OffsetOverflow { position: 0 })?);
        Ok(out.len() * self.width)
    }
}

pub(crate) fn offsets<'a, O>(data: &'a [u8], offsets: &'a [O]) -> Offsets<'a, O> {
    Offsets { data, offsets }
}

pub(crate) fn fixed(data: &[u8], width: usize) -> FixedWidth<'_> {
    FixedWidth { data, width }
}

pub(crate) fn views<'a>(views: &'a [u128], buffers: &'a [&'a [u8]]) -> Views<'a> {
    Views { bytes: as_bytes(views), buffers }
}

/// The views, if all of them are short.
pub(crate) fn short_views(views: &[u128]) -> Option<ShortViews<'_>> {
    let views = ShortViews { bytes: as_bytes(views) };
    (views.max_len() <= 12).then_some(views)
}

#[cfg(target_endian = "little")]
fn as_bytes(views: &[u128]) -> &[u8] {
    // SAFETY: the bytes are the slice's bytes, all of which are initialised, and a byte has no alignment requirement.
    unsafe { std::slice::from_raw_parts(views.as_ptr().cast::<u8>(), size_of_val(views)) }
}

/// Evaluates `$call` with `$source` as the layout of `$strings`.
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
            $crate::ByteStrings::Views { views, buffers } => match $crate::byte_strings::short_views(views) {
                Some($source) => $call,
                None => {
                    let $source = $crate::byte_strings::views(views, buffers);
                    $call
                }
            },
            $crate::ByteStrings::Fixed { data, width } => {
                let $source = $crate::byte_strings::fixed(data, width);
                $call
            }
        }
    };
}
pub(crate) use with_source;
