/// The dictionary of a column chunk, in memory only while pages need it.
#[derive(Debug, Default)]
pub(super) enum ChunkDictionary<T> {
    #[default]
    None,
    Here(T),
    /// Released once; read again if pages need it, and kept from then on.
    Released,
    Restored(T),
}

impl<T> ChunkDictionary<T> {
    pub(super) fn values(&self) -> Option<&T> {
        match self {
            Self::Here(values) | Self::Restored(values) => Some(values),
            Self::None | Self::Released => None,
        }
    }

    pub(super) fn is_released(&self) -> bool {
        matches!(self, Self::Released)
    }

    /// Releases the dictionary, unless that turned out to be too early before.
    pub(super) fn release(&mut self) {
        if matches!(self, Self::Here(_)) {
            *self = Self::Released;
        }
    }
}
