//! Options whose values formats of text cannot tell apart, or do not have.

/// An option that can be set to nothing: a list of one value, which may be null.
pub(super) mod nested {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::options) fn serialize<T: Serialize, S: Serializer>(
        value: &Option<Option<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(|value| [value]).serialize(serializer)
    }

    pub(in crate::options) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        Ok(Option::<[Option<T>; 1]>::deserialize(deserializer)?.map(|[value]| value))
    }
}

/// Keys, which are not sent.
pub(super) mod keys {
    use lath_format::EncryptionKeys;
    use serde::ser::Error;
    use serde::{Serialize, Serializer};

    pub(in crate::options) fn serialize<S: Serializer>(
        keys: &Option<EncryptionKeys>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match keys {
            None => ().serialize(serializer),
            Some(_) => Err(S::Error::custom("keys of encrypted files are not sent to other processes")),
        }
    }
}

/// Bytes: a list of numbers.
pub(super) mod bytes {
    use ::bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::options) fn serialize<S: Serializer>(
        value: &Option<Bytes>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_deref().serialize(serializer)
    }

    pub(in crate::options) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Bytes>, D::Error> {
        Ok(Option::<Vec<u8>>::deserialize(deserializer)?.map(Bytes::from))
    }
}
