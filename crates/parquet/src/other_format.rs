//! Recognizes other formats by the first bytes of a file.

use std::fmt;

/// Number of bytes that are inspected.
pub(crate) const HEAD_BYTES: u64 = 512;

/// A format that is not Parquet, or no format at all.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherFormat {
    /// An empty file.
    Empty,
    /// Lines of text, the first of which has commas, semicolons or tabs.
    Csv,
    /// JSON, or lines of it.
    Json,
    /// Other text.
    Text,
    /// An Arrow IPC file (Feather).
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
    /// ORC.
    Orc,
    /// Avro.
    Avro,
    /// A ZIP archive.
    Zip,
    /// A file compressed by gzip.
    Gzip,
    /// A file compressed by Zstandard.
    Zstandard,
    /// A file compressed by bzip2.
    Bzip2,
    /// A file compressed by xz.
    Xz,
}

impl OtherFormat {
    /// The format of a file that begins with `head`, if it is recognized.
    pub(crate) fn recognise(head: &[u8]) -> Option<Self> {
        const MAGICS: [(&[u8], OtherFormat); 10] = [
            (b"ARROW1", OtherFormat::ArrowFile),
            (&[0xff, 0xff, 0xff, 0xff], OtherFormat::ArrowStream),
            (b"ORC", OtherFormat::Orc),
            (b"Obj\x01", OtherFormat::Avro),
            (b"PK\x03\x04", OtherFormat::Zip),
            (b"PK\x05\x06", OtherFormat::Zip),
            (&[0x1f, 0x8b], OtherFormat::Gzip),
            (&[0x28, 0xb5, 0x2f, 0xfd], OtherFormat::Zstandard),
            (b"BZh", OtherFormat::Bzip2),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], OtherFormat::Xz),
        ];
        if head.is_empty() {
            return Some(Self::Empty);
        }
        let magic = MAGICS.iter().find(|(magic, _)| head.starts_with(magic));
        magic.map(|(_, format)| *format).or_else(|| Self::recognise_text(head))
    }

    fn recognise_text(head: &[u8]) -> Option<Self> {
        let text = match std::str::from_utf8(head) {
            Ok(text) => text,
            // The last character may be cut off.
            Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
            Err(_) => return None,
        };
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.is_empty() || text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
            return None;
        }
        let first_line = text.lines().next().unwrap_or_default();
        Some(match text.as_bytes()[0] {
            b'{' | b'[' => Self::Json,
            _ if first_line.contains([',', ';', '\t']) => Self::Csv,
            _ => Self::Text,
        })
    }
}

impl fmt::Display for OtherFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty",
            Self::Csv => "text, perhaps CSV",
            Self::Json => "text, perhaps JSON",
            Self::Text => "text",
            Self::ArrowFile => "an Arrow IPC file",
            Self::ArrowStream => "an Arrow IPC stream",
            Self::Orc => "an ORC file",
            Self::Avro => "an Avro file",
            Self::Zip => "a ZIP archive",
            Self::Gzip => "a gzip file",
            Self::Zstandard => "a Zstandard file",
            Self::Bzip2 => "a bzip2 file",
            Self::Xz => "an xz file",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        for (head, expected) in [
            (&b""[..], Some(OtherFormat::Empty)),
            (b"id,name\n1,a\n", Some(OtherFormat::Csv)),
            (b"\xef\xbb\xbfid;name\r\n", Some(OtherFormat::Csv)),
            (b" {\"id\": 1}\n", Some(OtherFormat::Json)),
            (b"[1]", Some(OtherFormat::Json)),
            (b"some words\nand, a comma", Some(OtherFormat::Text)),
            ("cut within a letter: ä".as_bytes().split_last().unwrap().1, Some(OtherFormat::Text)),
            (b"ARROW1\0\0", Some(OtherFormat::ArrowFile)),
            (b"\xff\xff\xff\xff\x10\x01\0\0", Some(OtherFormat::ArrowStream)),
            (b"ORC\x11", Some(OtherFormat::Orc)),
            (b"Obj\x01\x04", Some(OtherFormat::Avro)),
            (b"PK\x03\x04", Some(OtherFormat::Zip)),
            (b"\x1f\x8b\x08", Some(OtherFormat::Gzip)),
            (b"\x28\xb5\x2f\xfd", Some(OtherFormat::Zstandard)),
            (b"BZh9", Some(OtherFormat::Bzip2)),
            (b"\xfd7zXZ\0", Some(OtherFormat::Xz)),
            (b"text\0with a zero", None),
            (b"\x80\x81\x82", None),
            (b" \n", None),
        ] {
            assert_eq!(OtherFormat::recognise(head), expected, "{head:?}");
        }
    }
}
