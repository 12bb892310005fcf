use std::io::Write;

use flate2::write::{GzEncoder, ZlibEncoder};
use lath_format::CompressionCodec;
use lath_testkit::Seeded;

use super::Decompressor;
use crate::error::{Error, Result};

/// Output of each codec's own encoder for `bytes`, in every framing that is read.
fn encoded(bytes: &[u8]) -> Vec<(&'static str, CompressionCodec, Vec<u8>)> {
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("bytes that can be compressed")
    };
    let zlib = |bytes: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("bytes that can be compressed")
    };
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 1).expect("bytes that can be compressed");
    let hadoop_blocks = |blocks: &[&[u8]]| {
        let len = blocks.iter().map(|block| block.len() as u32).sum::<u32>();
        let mut framed = len.to_be_bytes().to_vec();
        for block in blocks {
            let block = lz4_flex::block::compress(block);
            framed.extend((block.len() as u32).to_be_bytes());
            framed.extend(block);
        }
        framed
    };
    let mut lz4_frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4_frame.write_all(bytes).expect("bytes that can be compressed");
    let (front, back) = bytes.split_at(bytes.len() / 2);
    let gzip_of = CompressionCodec::Gzip;
    let zstd_of = CompressionCodec::Zstd;
    vec![
        ("uncompressed", CompressionCodec::Uncompressed, bytes.to_vec()),
        ("Snappy", CompressionCodec::Snappy, snap::raw::Encoder::new().compress_vec(bytes).expect("bytes")),
        ("Gzip", gzip_of, gzip(bytes)),
        ("Gzip, two members", gzip_of, [gzip(front), gzip(back)].concat()),
        ("Gzip, empty members and padding", gzip_of, [gzip(&[]), gzip(bytes), gzip(&[]), vec![0; 9]].concat()),
        ("Zlib", gzip_of, zlib(bytes)),
        ("Zstandard", zstd_of, zstd(bytes)),
        ("Zstandard, two frames", zstd_of, [zstd(front), zstd(back)].concat()),
        ("LZ4_RAW", CompressionCodec::Lz4Raw, lz4_flex::block::compress(bytes)),
        ("LZ4, raw", CompressionCodec::Lz4, lz4_flex::block::compress(bytes)),
        ("LZ4, frame", CompressionCodec::Lz4, lz4_frame.finish().expect("a frame")),
        ("LZ4, Hadoop", CompressionCodec::Lz4, hadoop_blocks(&[bytes])),
        ("LZ4, Hadoop, two units", CompressionCodec::Lz4, [hadoop_blocks(&[front]), hadoop_blocks(&[back])].concat()),
        ("LZ4, Hadoop, two blocks in a unit", CompressionCodec::Lz4, hadoop_blocks(&[front, back])),
    ]
}

fn decompress(codec: CompressionCodec, stored: &[u8], len: usize) -> Result<Vec<u8>> {
    let mut dst = Vec::new();
    Decompressor::new(codec)?.decompress(stored, &mut dst, len)?;
    dst.truncate(len);
    Ok(dst)
}

/// Repetitive text, and noise.
fn sample(random: &mut Seeded, len: usize) -> Vec<u8> {
    let words = ["carefully ", "final ", "deposits ", "sleep ", "\0\0\0\u{7}"];
    let mut bytes = Vec::new();
    while bytes.len() < len {
        match random.u8(..8) {
            0 => bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(20)),
            word => bytes.extend(words[usize::from(word) % words.len()].bytes()),
        }
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn what_is_compressed_comes_back_in_every_framing() {
    let mut random = Seeded::new("what_is_compressed_comes_back_in_every_framing");
    for len in [2, 3, 17, 100, 4096, 70_000, 700_000] {
        let bytes = sample(&mut random, len);
        for (framing, codec, stored) in encoded(&bytes) {
            let result = decompress(codec, &stored, len);
            assert!(result.is_ok_and(|result| result == bytes), "{framing}, {len} bytes");
        }
    }
}

#[test]
fn a_decompressor_is_used_again_with_buffers_of_any_length() {
    let mut random = Seeded::new("a_decompressor_is_used_again_with_buffers_of_any_length");
    for (index, (framing, codec, _)) in encoded(b"ab").into_iter().enumerate() {
        let mut decompressor = Decompressor::new(codec).expect("a codec that is read");
        assert!(decompressor.is_for(codec));
        for _ in 0..20 {
            let len = random.usize(2..3000);
            let bytes = sample(&mut random, len);
            let mut dst = vec![0xcc; random.usize(..6000)];
            let stored = &encoded(&bytes)[index].2;
            decompressor.decompress(stored, &mut dst, len).expect("sound bytes");
            assert!(dst.len() >= len && dst[..len] == bytes, "{framing}, {len} bytes");
            // An error must not affect the next page. The last byte may be missing if it holds no data: padding, or a frame's end
            // mark.
            let cut = decompressor.decompress(&stored[..stored.len() - 1], &mut dst, len);
            assert_eq!(cut.is_ok(), framing.ends_with("padding") || framing.ends_with("frame"), "{framing}");
        }
    }
}

#[test]
fn another_length_than_stated_is_an_error() {
    let bytes = sample(&mut Seeded::with_seed("another_length_than_stated_is_an_error", 1), 5000);
    for (framing, codec, stored) in encoded(&bytes) {
        for len in [1, 4998, 4999, 5001, 5002, 10_000, 1 << 24, i32::MAX as usize] {
            let result = decompress(codec, &stored, len);
            assert!(matches!(result, Err(Error::Corrupt { .. })), "{framing}, {len} bytes");
        }
        assert!(decompress(codec, &[], 1).is_err(), "{framing} of nothing");
        assert!(decompress(codec, &stored, 0).expect("nothing is asked for").is_empty(), "{framing}");
    }
}

#[test]
fn changed_and_cut_bytes_are_an_error_or_as_long_as_stated() {
    let mut random = Seeded::new("changed_and_cut_bytes_are_an_error_or_as_long_as_stated");
    for _ in 0..30 {
        let len = random.usize(2..2000);
        let bytes = sample(&mut random, len);
        for (_, codec, stored) in encoded(&bytes) {
            for _ in 0..20 {
                let mut changed = stored.clone();
                let position = random.usize(..changed.len());
                changed[position] = random.u8(..);
                if let Ok(result) = decompress(codec, &changed, len) {
                    assert_eq!(result.len(), len);
                }
                drop(decompress(codec, &stored[..random.usize(..stored.len())], len));
            }
        }
    }
}

#[test]
fn brotli_comes_back_and_grows_only_with_its_output() {
    // "The quick brown fox jumps over the lazy dog", as the format's reference tool wrote it, uncompressed meta-block.
    let text = b"The quick brown fox jumps over the lazy dog";
    let mut stored = vec![0x0b, 0x15, 0x80];
    stored.extend(text);
    stored.push(0x03);
    let codec = CompressionCodec::Brotli;
    assert_eq!(decompress(codec, &stored, text.len()).expect("sound bytes"), text);
    for len in [1, text.len() - 1, text.len() + 1, i32::MAX as usize] {
        let mut dst = Vec::new();
        let result = Decompressor::new(codec).and_then(|mut codec| codec.decompress(&stored, &mut dst, len));
        assert!(result.is_err(), "{len} bytes");
        assert!(dst.len() <= 1 << 20, "{} bytes were taken for a page of {len}", dst.len());
    }
    for len in 0..stored.len() {
        assert!(decompress(codec, &stored[..len], text.len()).is_err(), "cut to {len} bytes");
    }
}

#[test]
fn lzo_comes_back_with_hadoops_framing_and_without() {
    // A first byte over 17 is a literal of 17 less; then a copy of 4 from 3 back, and the end mark.
    let block = [17 + 8, b'a', b'b', b'c', b'd', b'e', b'f', b'g', b'h', 0x68, 0x00, 0x11, 0, 0];
    let text = b"abcdefghfghf";
    let unit = |len: usize| [&(len as u32).to_be_bytes()[..], &(block.len() as u32).to_be_bytes(), &block].concat();
    for (framing, stored) in
        [("one block", block.to_vec()), ("Hadoop", unit(12)), ("two units", [unit(12), unit(12)].concat())]
    {
        let expected = text.repeat(if framing == "two units" { 2 } else { 1 });
        assert_eq!(
            decompress(CompressionCodec::Lzo, &stored, expected.len()).expect("sound bytes"),
            expected,
            "{framing}"
        );
        for len in [1, expected.len() - 1, expected.len() + 1, i32::MAX as usize] {
            assert!(decompress(CompressionCodec::Lzo, &stored, len).is_err(), "{framing}, {len} bytes");
        }
        for len in 0..stored.len() {
            drop(decompress(CompressionCodec::Lzo, &stored[..len], expected.len()));
            for byte in 0..=255 {
                let mut changed = stored.clone();
                changed[len] = byte;
                drop(decompress(CompressionCodec::Lzo, &changed, expected.len()));
            }
        }
    }
}
