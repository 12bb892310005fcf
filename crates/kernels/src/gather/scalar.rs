//! Portable gathers: a checked load per value. The check is one well-predicted compare, and costs little compared with
//! the two loads and the store of a value.

use crate::KernelError;

macro_rules! named {
    ($($name:ident $value:ty),*) => { $(
        pub(super) fn $name(dict: &[$value], indices: &[u32], out: &mut [$value]) -> Result<(), KernelError> {
            gather(dict, indices, out)
        }
    )* };
}
named!(gather_u8 u8, gather_u16 u16, gather_u32 u32, gather_u64 u64, gather_u128 u128);

pub(super) fn gather<T: Copy>(dict: &[T], indices: &[u32], out: &mut [T]) -> Result<(), KernelError> {
    for (value, &index) in out.iter_mut().zip(indices) {
        let Some(&entry) = dict.get(index as usize) else {
            return Err(KernelError::IndexOutOfRange { index, len: dict.len() });
        };
        *value = entry;
    }
    Ok(())
}

/// Values of a constant width, so that a copy is one or two moves.
pub(super) fn gather_arrays<const W: usize>(dict: &[u8], indices: &[u32], out: &mut [u8]) -> Result<(), KernelError> {
    gather(dict.as_chunks::<W>().0, indices, out.as_chunks_mut::<W>().0)
}

/// Values of any width but zero.
pub(super) fn gather_slices(dict: &[u8], width: usize, indices: &[u32], out: &mut [u8]) -> Result<(), KernelError> {
    let len = dict.len() / width;
    for (value, &index) in out.chunks_exact_mut(width).zip(indices) {
        if index as usize >= len {
            return Err(KernelError::IndexOutOfRange { index, len });
        }
        value.copy_from_slice(&dict[index as usize * width..][..width]);
    }
    Ok(())
}

pub(super) fn max_index(indices: &[u32]) -> Option<u32> {
    indices.iter().copied().max()
}
