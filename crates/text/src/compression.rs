//! Files that are compressed as a whole, detected by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::format::Compression;

/// Bytes of a file.
pub type Bytes = Box<dyn BufRead + Send>;

const BUFFER_BYTES: usize = 256 << 10;

/// The bytes of a file, decompressed, and how they were compressed. A UTF-8 byte order mark is removed.
pub(crate) fn decompressed(mut reader: Box<dyn Read + Send>) -> io::Result<(Bytes, Option<Compression>)> {
    let mut head = Vec::new();
    reader.by_ref().take(4).read_to_end(&mut head)?;
    let compression = Compression::from_head(&head);
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(reader));
    let bytes: Box<dyn Read + Send> = match compression {
        None => Box::new(whole),
        Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(whole)),
        Some(Compression::Zstd) => Box::new(zstd::stream::read::Decoder::with_buffer(whole)?),
    };
    without_bom(bytes).map(|bytes| (bytes, compression))
}

impl Compression {
    fn from_head(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

fn without_bom(mut reader: Box<dyn Read + Send>) -> io::Result<Bytes> {
    let mut head = Vec::new();
    reader.by_ref().take(3).read_to_end(&mut head)?;
    if head == b"\xef\xbb\xbf" {
        head.clear();
    }
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(reader))))
}

/// For bytes that are not text: the format they have, and how to convert it.
pub(crate) fn unsupported_format(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Some("this is UTF-16; convert it first, for example with iconv -f UTF-16 -t UTF-8")
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("this is an xz file; decompress it first"),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', ..] => Some("this is a bzip2 file; decompress it first"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("this is an LZ4 file; decompress it first"),
        [b'P', b'K', 3, 4, ..] => Some("this is a ZIP archive (Excel workbooks are, too); extract or export it first"),
        _ => None,
    }
}
