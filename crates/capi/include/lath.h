/* The C interface of Lath. docs/c.md is its manual.
 *
 * Generated from the sources in crates/capi/src and the headers in crates/capi/tests: change those, and run
 * LATH_WRITE_HEADER=1 cargo test -p lath-capi --test header
 *
 * For a library built with --no-default-features, which has only the kernels, define LATH_KERNELS_ONLY.
 */
#ifndef LATH_H
#define LATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 The status of a call. If it is not `LATH_STATUS_OK`, `lath_last_error_message` returns the text, and outputs have no
 meaning unless the function says otherwise.
 */
typedef enum lath_status {
  /*
   The call succeeded.
   */
  LATH_STATUS_OK = 0,
  /*
   An argument is not allowed: a null or misaligned pointer, lengths that do not agree, a condition that does not parse.
   */
  LATH_STATUS_INVALID = 1,
  /*
   The bytes of a page, a file or a store do not follow the format, or end too early.
   */
  LATH_STATUS_CORRUPT = 2,
  /*
   The file is not a Parquet file.
   */
  LATH_STATUS_NOT_PARQUET = 3,
  /*
   The file, or a column of it, is encrypted.
   */
  LATH_STATUS_ENCRYPTED = 4,
  /*
   The file uses a feature that Lath cannot read.
   */
  LATH_STATUS_UNSUPPORTED = 5,
  /*
   A value does not fit the requested type.
   */
  LATH_STATUS_OUT_OF_RANGE = 6,
  /*
   Something is larger than the format or an option allows.
   */
  LATH_STATUS_LIMIT = 7,
  /*
   An operation of the operating system failed.
   */
  LATH_STATUS_IO = 8,
  /*
   The file does not exist.
   */
  LATH_STATUS_NOT_FOUND = 9,
  /*
   Another process or transaction has the store.
   */
  LATH_STATUS_BUSY = 10,
  /*
   A file of that name already exists.
   */
  LATH_STATUS_EXISTS = 11,
  /*
   The operation was stopped.
   */
  LATH_STATUS_CANCELLED = 12,
  /*
   A bug in Lath; please report it.
   */
  LATH_STATUS_INTERNAL = 13,
} lath_status;

/*
 A decoder for a DELTA_BINARY_PACKED page of INT32, with a position in it. One thread at a time may use it.
 */
typedef struct lath_delta_i32 lath_delta_i32;

/*
 A decoder for a DELTA_BINARY_PACKED page of INT64, with a position in it. One thread at a time may use it.
 */
typedef struct lath_delta_i64 lath_delta_i64;

/*
 A decoder of the RLE/bit-packed hybrid, with a position in it. One thread at a time may use it.
 */
typedef struct lath_rle lath_rle;

/*
 Bytes allocated by Lath and owned by the caller until `lath_buffer_free`. A zero byte follows them, which is not
 counted, so that text can be printed as it is.
 */
typedef struct lath_buffer {
  /*
   The first byte, or null if there is no buffer.
   */
  uint8_t *data;
  /*
   The number of bytes.
   */
  size_t len;
} lath_buffer;

/*
 Borrowed bytes, which the caller lends for a call, or Lath for as long as the function that returns them says.
 */
typedef struct lath_bytes {
  /*
   The first byte; may be null if there are none.
   */
  const uint8_t *data;
  /*
   The number of bytes.
   */
  size_t len;
} lath_bytes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The text of the last error that a function of Lath returned on this thread, in UTF-8 and ended by a zero byte; an
 empty text if there was none. It is valid until the next error on this thread, or the thread's end.
 */
const char *lath_last_error_message(void);

/*
 The name of a status code in a few words, as a constant text ended by a zero byte. Any number is allowed.
 */
const char *lath_status_name(int32_t status);

/*
 Frees the bytes of a buffer, and makes it empty.

 # Safety
 `buffer` is null, or points to a buffer that Lath has filled or whose `data` is null, and that no other thread uses.
 */
void lath_buffer_free(struct lath_buffer *buffer);

/*
 The version of the library, as in "0.1.0", as a constant text ended by a zero byte.
 */
const char *lath_version(void);

/*
 The tier of the kernels ("scalar", "sse41", "avx2", "avx512" or "neon"), as a constant text ended by a zero byte.
 The environment variable `LATH_SIMD` lowers it, if it is set before the first call.
 */
const char *lath_simd_tier(void);

/*
 Checks whether a filter may have a value with this hash (XXH64 with seed 0, see `lath_xxh64`): writes `false` only
 if it has none.

 `bitset` is the filter as stored in a Parquet file, without its header: a whole number of blocks of 32 bytes, at
 least one. It needs no alignment.

 # Safety
 `bitset` points to `bitset_len` bytes, `found` to room for a `bool`.
 */
enum lath_status lath_bloom_check(const uint8_t *bitset,
                                  size_t bitset_len,
                                  uint64_t hash,
                                  bool *found);

/*
 Checks whether a filter may have values with these hashes: bit `i % 64` of `found[i / 64]` is the answer for hash
 `i`. Bits after the last one are zero.

 `found_len` is `(hash_count + 63) / 64`, in words.

 # Safety
 `bitset` points to `bitset_len` bytes, `hashes` to `hash_count` hashes, `found` to `found_len` words that overlap neither.
 */
enum lath_status lath_bloom_check_many(const uint8_t *bitset,
                                       size_t bitset_len,
                                       const uint64_t *hashes,
                                       size_t hash_count,
                                       uint64_t *found,
                                       size_t found_len);

/*
 Checks which of many filters may have a value with this hash: bit `i % 64` of `found[i / 64]` is the answer for
 filter `i`. Bits after the last one are zero. Filters may differ in length.

 `found_len` is `(filter_count + 63) / 64`, in words.

 # Safety
 `filters` points to `filter_count` structures with the address and length of a filter each; `found` points to
 `found_len` words that overlap none of them.
 */
enum lath_status lath_bloom_check_filters(const struct lath_bytes *filters,
                                          size_t filter_count,
                                          uint64_t hash,
                                          uint64_t *found,
                                          size_t found_len);

/*
 Inserts values with these hashes into a filter.

 # Safety
 `bitset` points to `bitset_len` bytes that no other thread uses during the call, `hashes` to `hash_count` hashes
 that do not overlap them.
 */
enum lath_status lath_bloom_insert(uint8_t *bitset,
                                   size_t bitset_len,
                                   const uint64_t *hashes,
                                   size_t hash_count);

/*
 The number of the block in which a filter of `block_count` blocks stores the bits of a hash. A reader of a file
 needs only this block, bytes `32 * index` to `32 * index + 31` of the bitset, which is a filter of one block itself.
 */
size_t lath_bloom_block_index(uint64_t hash,
                              size_t block_count);

/*
 The hash of `len` bytes.

 # Safety
 `bytes` points to `len` bytes, `hash` to room for a hash.
 */
enum lath_status lath_xxh64(const uint8_t *bytes, size_t len, uint64_t *hash);

/*
 The hashes of `count` values of `width` bytes each, one after another: `hashes[i]` is the hash of value `i`. Numbers
 are hashed in the form of Parquet's PLAIN encoding, little-endian.

 Fastest for widths of 1, 2, 4, 8 and 16 if `values` is aligned to the width; alignment is not required.

 # Safety
 `values` points to `count * width` bytes, `hashes` to room for `count` hashes that do not overlap them.
 */
enum lath_status lath_xxh64_fixed(const uint8_t *values,
                                  size_t width,
                                  size_t count,
                                  uint64_t *hashes);

/*
 The hashes of `count` strings: string `i` is bytes `offsets[i]` to `offsets[i + 1] - 1` of `data`, as in Arrow's
 strings and binary values. Offsets may be anything: `LATH_STATUS_CORRUPT` if one is outside of the data or less than
 the one before it.

 # Safety
 `data` points to `data_len` bytes, `offsets` to `count + 1` offsets, `hashes` to room for `count` hashes that overlap neither.
 */
enum lath_status lath_xxh64_strings(const uint8_t *data,
                                    size_t data_len,
                                    const int32_t *offsets,
                                    size_t count,
                                    uint64_t *hashes);

/*
 Like `lath_xxh64_strings`, with wide offsets.

 # Safety
 The same as for `lath_xxh64_strings`.
 */
enum lath_status lath_xxh64_large_strings(const uint8_t *data,
                                          size_t data_len,
                                          const int64_t *offsets,
                                          size_t count,
                                          uint64_t *hashes);

/*
 Decodes a page: writes its values to `out`, as many as fit, and their number to `decoded`.

 `src` contains the page's values as stored in the file, from the header on; bytes may follow. It needs no alignment.
 `end` gets the number of bytes of all values, which is the offset of the strings in DELTA_LENGTH_BYTE_ARRAY; it may
 be null.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for
 a number; `end` is null or points to room for a number.
 */
enum lath_status lath_delta_decode_i32(const uint8_t *src,
                                       size_t src_len,
                                       int32_t *out,
                                       size_t out_len,
                                       size_t *decoded,
                                       size_t *end);

/*
 Creates a decoder for a page, at its first value. `value_count`, which may be null, gets the number of values that
 the header announces. It is not checked against the bytes, so do not allocate by it alone.

 The decoder does not keep `src`: every later call takes the same bytes again. Free it with `lath_delta_i32_free`.

 # Safety
 `src` points to `src_len` bytes, `decoder` to room for a pointer, and `value_count` is null or points to room for a number.
 */
enum lath_status lath_delta_i32_new(const uint8_t *src,
                                    size_t src_len,
                                    struct lath_delta_i32 **decoder,
                                    size_t *value_count);

/*
 Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. After an error the
 decoder cannot be used any more.

 # Safety
 `decoder` comes from `lath_delta_i32_new`, and no other thread uses it. `src` points to `src_len` bytes, the same as
 when it was created; other bytes give other values or an error. `out` points to room for `out_len` values that do
 not overlap them, `decoded` to room for a number.
 */
enum lath_status lath_delta_i32_decode(struct lath_delta_i32 *decoder,
                                       const uint8_t *src,
                                       size_t src_len,
                                       int32_t *out,
                                       size_t out_len,
                                       size_t *decoded);

/*
 Skips the next `count` values, or all that remain. Writes their number to `skipped`.

 # Safety
 The same as for `lath_delta_i32_decode`; `skipped` points to room for a number.
 */
enum lath_status lath_delta_i32_skip(struct lath_delta_i32 *decoder,
                                     const uint8_t *src,
                                     size_t src_len,
                                     size_t count,
                                     size_t *skipped);

/*
 Frees a decoder; null is allowed.

 # Safety
 `decoder` is null, or comes from `lath_delta_i32_new` and is not used any more.
 */
void lath_delta_i32_free(struct lath_delta_i32 *decoder);

/*
 The output size in bytes that `lath_delta_encode_i32` requires for `count` values: more than it writes.
 */
size_t lath_delta_max_encoded_len_i32(size_t count);

/*
 Encodes all values of a page, in blocks of 128 values and miniblocks of 32. Writes the number of bytes to `written`.

 `out_len` is at least `lath_delta_max_encoded_len_i32(count)`; there may be up to 2^31 - 1 values.

 # Safety
 `values` points to `count` values, `out` to room for `out_len` bytes that do not overlap them, `written` to room for a number.
 */
enum lath_status lath_delta_encode_i32(const int32_t *values,
                                       size_t count,
                                       uint8_t *out,
                                       size_t out_len,
                                       size_t *written);

/*
 Decodes a page: writes its values to `out`, as many as fit, and their number to `decoded`.

 `src` contains the page's values as stored in the file, from the header on; bytes may follow. It needs no alignment.
 `end` gets the number of bytes of all values, which is the offset of the strings in DELTA_LENGTH_BYTE_ARRAY; it may
 be null.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for
 a number; `end` is null or points to room for a number.
 */
enum lath_status lath_delta_decode_i64(const uint8_t *src,
                                       size_t src_len,
                                       int64_t *out,
                                       size_t out_len,
                                       size_t *decoded,
                                       size_t *end);

/*
 Creates a decoder for a page, at its first value. `value_count`, which may be null, gets the number of values that
 the header announces. It is not checked against the bytes, so do not allocate by it alone.

 The decoder does not keep `src`: every later call takes the same bytes again. Free it with `lath_delta_i64_free`.

 # Safety
 `src` points to `src_len` bytes, `decoder` to room for a pointer, and `value_count` is null or points to room for a number.
 */
enum lath_status lath_delta_i64_new(const uint8_t *src,
                                    size_t src_len,
                                    struct lath_delta_i64 **decoder,
                                    size_t *value_count);

/*
 Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. After an error the
 decoder cannot be used any more.

 # Safety
 `decoder` comes from `lath_delta_i64_new`, and no other thread uses it. `src` points to `src_len` bytes, the same as
 when it was created; other bytes give other values or an error. `out` points to room for `out_len` values that do
 not overlap them, `decoded` to room for a number.
 */
enum lath_status lath_delta_i64_decode(struct lath_delta_i64 *decoder,
                                       const uint8_t *src,
                                       size_t src_len,
                                       int64_t *out,
                                       size_t out_len,
                                       size_t *decoded);

/*
 Skips the next `count` values, or all that remain. Writes their number to `skipped`.

 # Safety
 The same as for `lath_delta_i64_decode`; `skipped` points to room for a number.
 */
enum lath_status lath_delta_i64_skip(struct lath_delta_i64 *decoder,
                                     const uint8_t *src,
                                     size_t src_len,
                                     size_t count,
                                     size_t *skipped);

/*
 Frees a decoder; null is allowed.

 # Safety
 `decoder` is null, or comes from `lath_delta_i64_new` and is not used any more.
 */
void lath_delta_i64_free(struct lath_delta_i64 *decoder);

/*
 The output size in bytes that `lath_delta_encode_i64` requires for `count` values: more than it writes.
 */
size_t lath_delta_max_encoded_len_i64(size_t count);

/*
 Encodes all values of a page, in blocks of 128 values and miniblocks of 32. Writes the number of bytes to `written`.

 `out_len` is at least `lath_delta_max_encoded_len_i64(count)`; there may be up to 2^31 - 1 values.

 # Safety
 `values` points to `count` values, `out` to room for `out_len` bytes that do not overlap them, `written` to room for a number.
 */
enum lath_status lath_delta_encode_i64(const int64_t *values,
                                       size_t count,
                                       uint8_t *out,
                                       size_t out_len,
                                       size_t *written);

/*
 Unpacks `count` values of `width` bits, at most 8, least significant bit first, as in the RLE/bit-packed hybrid and
 DELTA_BINARY_PACKED. `src` needs no alignment, and may be longer than the values.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
 */
enum lath_status lath_bitunpack_u8(const uint8_t *src,
                                   size_t src_len,
                                   uint32_t width,
                                   uint8_t *out,
                                   size_t count);

/*
 Unpacks `count` values of `width` bits, at most 32, least significant bit first, as in the RLE/bit-packed hybrid and
 DELTA_BINARY_PACKED. `src` needs no alignment, and may be longer than the values.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
 */
enum lath_status lath_bitunpack_u32(const uint8_t *src,
                                    size_t src_len,
                                    uint32_t width,
                                    uint32_t *out,
                                    size_t count);

/*
 Unpacks `count` values of `width` bits, at most 64, least significant bit first, as in the RLE/bit-packed hybrid and
 DELTA_BINARY_PACKED. `src` needs no alignment, and may be longer than the values.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
 */
enum lath_status lath_bitunpack_u64(const uint8_t *src,
                                    size_t src_len,
                                    uint32_t width,
                                    uint64_t *out,
                                    size_t count);

/*
 Creates a decoder of values of `width` bits, at most 32, at the first run. The caller handles the bytes around the
 runs in a page (a length of four bytes before levels, a byte with the width before dictionary indices). Free the
 decoder with `lath_rle_free`.

 # Safety
 `decoder` points to room for a pointer.
 */
enum lath_status lath_rle_new(uint32_t width,
                              struct lath_rle **decoder);

/*
 Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. After an error the
 decoder cannot be used any more.

 `src` contains all runs, the same bytes in every call.

 # Safety
 `decoder` comes from `lath_rle_new`, and no other thread uses it. `src` points to `src_len` bytes, `out` to room for `out_len` values
 that do not overlap them, `decoded` to room for a number.
 */
enum lath_status lath_rle_decode_u32(struct lath_rle *decoder,
                                     const uint8_t *src,
                                     size_t src_len,
                                     uint32_t *out,
                                     size_t out_len,
                                     size_t *decoded);

/*
 Decodes the next values: `out_len` of them, or all that remain. Writes their number to `decoded`. The width is at
 most 8. After an error the decoder cannot be used any more.

 `src` contains all runs, the same bytes in every call.

 # Safety
 `decoder` comes from `lath_rle_new`, and no other thread uses it. `src` points to `src_len` bytes, `out` to room for `out_len` values
 that do not overlap them, `decoded` to room for a number.
 */
enum lath_status lath_rle_decode_u8(struct lath_rle *decoder,
                                    const uint8_t *src,
                                    size_t src_len,
                                    uint8_t *out,
                                    size_t out_len,
                                    size_t *decoded);

/*
 Skips the next `count` values, or all that remain. Writes their number to `skipped`.

 # Safety
 The same as for `lath_rle_decode_u32`; `skipped` points to room for a number.
 */
enum lath_status lath_rle_skip(struct lath_rle *decoder,
                               const uint8_t *src,
                               size_t src_len,
                               size_t count,
                               size_t *skipped);

/*
 Frees a decoder; null is allowed.

 # Safety
 `decoder` is null, or comes from `lath_rle_new` and is not used any more.
 */
void lath_rle_free(struct lath_rle *decoder);

/*
 Decodes the values from `first` on of a page of `value_count` values of `width` bytes each: as many as fit into
 `out_len` bytes, which is a multiple of the width.

 `src` contains the page's values: `width` streams of `value_count` bytes one after another. Neither pointer needs
 alignment.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `out_len` bytes that do not overlap them.
 */
enum lath_status lath_byte_stream_split_decode(const uint8_t *src,
                                               size_t src_len,
                                               size_t value_count,
                                               size_t width,
                                               size_t first,
                                               uint8_t *out,
                                               size_t out_len);

/*
 Encodes values of `width` bytes as the values from `first` on of a page of `value_count` values. `out` is the whole
 page, of which only the bytes of these values are written.

 `values_len`, in bytes, is a multiple of the width; `out_len` is `value_count * width` or more.

 # Safety
 `values` points to `values_len` bytes, `out` to `out_len` bytes that do not overlap them.
 */
enum lath_status lath_byte_stream_split_encode(const uint8_t *values,
                                               size_t values_len,
                                               size_t value_count,
                                               size_t width,
                                               size_t first,
                                               uint8_t *out,
                                               size_t out_len);

/*
 Counts the bytes that equal `needle`, for example a given level among levels.

 # Safety
 `haystack` points to `len` bytes, `count` to room for a number.
 */
enum lath_status lath_count_byte(const uint8_t *haystack, size_t len, uint8_t needle, size_t *count);

/*
 The number of bytes in ascending order that are less than `key`, and thus the index of the first that is not. For
 short arrays, such as the labels of a tree's node.

 # Safety
 `sorted` points to `len` bytes, `place` to room for a number.
 */
enum lath_status lath_lower_bound_u8(const uint8_t *sorted,
                                     size_t len,
                                     uint8_t key,
                                     size_t *place);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#ifdef __AVX2__
#include <immintrin.h>
#endif

/*
 Returns whether a filter may have a value with this hash, like `lath_bloom_check`, but compiled into the caller, for one hash a call: in
 code compiled for AVX2 it takes about a nanosecond. The arguments are not checked.

 `bitset` points to `bitset_len` bytes, a whole number of blocks of 32 bytes, at least one. It needs no alignment.
 */
static inline bool lath_bloom_has(const uint8_t *bitset, size_t bitset_len, uint64_t hash) {
  static const uint32_t salts[8] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                    0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};
  const uint8_t *block = bitset + 32 * (size_t)(((hash >> 32) * (uint64_t)(bitset_len / 32)) >> 32);
#ifdef __AVX2__
  const __m256i products = _mm256_mullo_epi32(_mm256_set1_epi32((int)(uint32_t)hash), _mm256_loadu_si256((const __m256i *)salts));
  const __m256i bits = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(products, 27));
  return _mm256_testc_si256(_mm256_loadu_si256((const __m256i *)block), bits) != 0;
#else
  uint32_t missing = 0;
  size_t i;
  for (i = 0; i < 8; i++, block += 4) {
    /* Little-endian, as filters are on every processor. */
    const uint32_t word = block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16 | (uint32_t)block[3] << 24;
    missing |= ~(word >> (((uint32_t)hash * salts[i]) >> 27));
  }
  return (missing & 1) == 0;
#endif
}

#ifndef LATH_KERNELS_ONLY

/* The structures of the Arrow C data interface, as its specification says:
 * https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/*
 For `lath_dataset_open`: the table has the columns of all files, with nulls for columns that a file lacks. Without
 it, all files must have the same columns.
 */
#define LATH_UNION_SCHEMAS 1

/*
 For `lath_dataset_open`: directories called `key=value` do not become columns.
 */
#define LATH_NO_PARTITIONS 2

/*
 For `lath_store_open`: fail if the store does not exist, instead of creating it.
 */
#define LATH_STORE_EXISTING 1

/*
 For `lath_store_open`: open the store read-only.
 */
#define LATH_STORE_READ_ONLY 2

/*
 For `lath_store_open`: commits survive the end of the process at once, and a loss of power after `lath_store_sync`
 or a checkpoint. Without this flag they survive both once they return.
 */
#define LATH_STORE_DEFERRED 4

/*
 A position among the keys of a tree. One thread at a time may use it.
 */
typedef struct lath_cursor lath_cursor;

/*
 Files that are read as one table. Any number of threads may use it at once.
 */
typedef struct lath_dataset lath_dataset;

/*
 A store at one commit. Any number of threads may use it at once.
 */
typedef struct lath_snapshot lath_snapshot;

/*
 An open store. Any number of threads may use it at once.
 */
typedef struct lath_store lath_store;

/*
 Changes that become visible together, or not at all. A store has one open transaction at a time. It may move between
 threads; one thread at a time may use it.
 */
typedef struct lath_transaction lath_transaction;

/*
 Selects the rows and columns of a scan, and how it runs. A structure of zeros reads everything.
 */
typedef struct lath_scan_options {
  /*
   A condition in SQL, as `lath find` takes it: `minutes > 45 AND "from" = 'Harbour'`. Null for all rows.
   */
  const char *filter;
  /*
   The paths of the selected columns, `rider.plan` for a field within a struct. Null for all columns.
   */
  const char *const *columns;
  /*
   Their number. If `columns` is not null, zero selects no columns: batches have numbers of rows only.
   */
  size_t column_count;
  /*
   The maximum number of rows; 0 for all.
   */
  uint64_t limit;
  /*
   The maximum number of rows in a batch; 0 for the default.
   */
  size_t batch_size;
  /*
   The number of threads; 0 for the number of processor cores, or of concurrent requests for remote files.
   */
  size_t threads;
  /*
   Whether strings and binary values may be Arrow views, which is faster. Otherwise they have offsets, which every
   version of Arrow understands.
   */
  bool string_views;
  /*
   Whether batches may come in any order, which is faster.
   */
  bool unordered;
} lath_scan_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Opens files as one table: paths of files and directories, globs, and URLs of object stores.

 `flags` is 0, or `LATH_UNION_SCHEMAS`, `LATH_NO_PARTITIONS` or both. Free the dataset with `lath_dataset_free`.

 # Safety
 `locations` points to `location_count` texts in UTF-8 that end with a zero byte, `dataset` to room for a pointer.
 */
lath_status lath_dataset_open(const char *const *locations,
                              size_t location_count,
                              uint32_t flags,
                              struct lath_dataset **dataset);

/*
 Closes a dataset; null is allowed. Streams that were created from it stay valid.

 # Safety
 `dataset` is null, or comes from `lath_dataset_open` and is not used any more.
 */
void lath_dataset_free(struct lath_dataset *dataset);

/*
 The names and types of the columns, as a struct. The caller must call `schema->release(schema)`.

 # Safety
 `dataset` comes from `lath_dataset_open`; `schema` points to room for a structure, whose old contents are ignored.
 */
lath_status lath_dataset_schema(const struct lath_dataset *dataset,
                                struct ArrowSchema *schema);

/*
 The number of rows that satisfy a condition, or of all rows if `filter` is null. Reads only what is needed: for all
 rows, only the files' footers.

 # Safety
 `dataset` comes from `lath_dataset_open`; `filter` is null or a text in UTF-8 that ends with a zero byte; `rows` points to room for
 a number.
 */
lath_status lath_dataset_count(const struct lath_dataset *dataset,
                               const char *filter,
                               uint64_t *rows);

/*
 Reads rows as a stream of Arrow record batches. Work begins when the first batch is requested. The stream may move
 between threads; one thread at a time may use it. Errors while reading are reported by its `get_last_error`. The
 caller must call `stream->release(stream)`, at any time.

 # Safety
 `dataset` comes from `lath_dataset_open`; `options` is null or points to a structure with valid pointers, which is
 read only during this call; `stream` points to room for a structure, whose old contents are ignored.
 */
lath_status lath_dataset_scan(const struct lath_dataset *dataset,
                              const struct lath_scan_options *options,
                              struct ArrowArrayStream *stream);

/*
 Finds the rows that satisfy a condition, and writes to `text` what was pruned and what was read, in lines. Free
 `text` with `lath_buffer_free`.

 # Safety
 `dataset` comes from `lath_dataset_open`; `filter` is a text in UTF-8 that ends with a zero byte; `text` points to
 room for a buffer, whose old contents are ignored.
 */
lath_status lath_dataset_explain(const struct lath_dataset *dataset,
                                 const char *filter,
                                 lath_buffer *text);

/*
 Opens the store in a file; its log is in files next to it. `flags` is 0 or a sum of `LATH_STORE_…`. Close the store
 with `lath_store_close`.

 # Safety
 `path` is a text in UTF-8 that ends with a zero byte, `store` points to room for a pointer.
 */
lath_status lath_store_open(const char *path,
                            uint32_t flags,
                            struct lath_store **store);

/*
 Closes a store; null is allowed. Its snapshots, cursors and transactions keep the files open until they are freed
 too.

 # Safety
 `store` is null, or comes from `lath_store_open` and is not used any more.
 */
void lath_store_close(struct lath_store *store);

/*
 Makes all commits so far survive a loss of power.

 # Safety
 `store` comes from `lath_store_open`.
 */
lath_status lath_store_sync(const struct lath_store *store);

/*
 Copies the value of a key in the last commit to `value`. If the key or tree does not exist, the call succeeds and
 `value->data` is null; for an empty value it is not null. Free `value` with `lath_buffer_free`.

 # Safety
 `store` comes from `lath_store_open`; `tree` is a text in UTF-8 that ends with a zero byte; `key` points to
 `key_len` bytes; `value` points to room for a buffer, whose old contents are ignored.
 */
lath_status lath_store_get(const struct lath_store *store,
                           const char *tree,
                           const uint8_t *key,
                           size_t key_len,
                           lath_buffer *value);

/*
 Puts a value at a key, replacing any old value, as a separate commit. Creates the tree if it does not exist. Waits
 for other transactions: never call it on a thread that has one open itself.

 # Safety
 The same as for `lath_store_get`; `value` points to `value_len` bytes.
 */
lath_status lath_store_put(const struct lath_store *store,
                           const char *tree,
                           const uint8_t *key,
                           size_t key_len,
                           const uint8_t *value,
                           size_t value_len);

/*
 Removes a key as a separate commit. `was_there`, which may be null, tells whether the key existed. Waits like
 `lath_store_put`.

 # Safety
 The same as for `lath_store_get`; `was_there` is null or points to room for a `bool`.
 */
lath_status lath_store_delete(const struct lath_store *store,
                              const char *tree,
                              const uint8_t *key,
                              size_t key_len,
                              bool *was_there);

/*
 Takes a snapshot of the last commit, which does not change while others write. Space that only it needs is not
 reused until `lath_snapshot_free`.

 # Safety
 `store` comes from `lath_store_open`; `snapshot` points to room for a pointer.
 */
lath_status lath_store_snapshot(const struct lath_store *store,
                                struct lath_snapshot **snapshot);

/*
 Frees a snapshot; null is allowed. Its cursors stay valid; values lent by `lath_snapshot_get` do not.

 # Safety
 `snapshot` is null, or comes from `lath_store_snapshot` and is not used any more.
 */
void lath_snapshot_free(struct lath_snapshot *snapshot);

/*
 Lends the value of a key without copying it, until the snapshot is freed. If the key or tree does not exist,
 `value->data` is null; for an empty value it is not null.

 # Safety
 `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `key` points to `key_len` bytes;
 `value` points to room for a structure.
 */
lath_status lath_snapshot_get(const struct lath_snapshot *snapshot,
                              const char *tree,
                              const uint8_t *key,
                              size_t key_len,
                              lath_bytes *value);

/*
 The number of keys in a tree; 0 if the tree does not exist.

 # Safety
 `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `count` points to room for a number.
 */
lath_status lath_snapshot_count(const struct lath_snapshot *snapshot,
                                const char *tree,
                                uint64_t *count);

/*
 Creates a cursor over a tree, before its first key. A tree that does not exist has no keys. Free it with
 `lath_cursor_free`; the snapshot may be freed before it.

 # Safety
 `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `cursor` points to room for a
 pointer.
 */
lath_status lath_snapshot_cursor(const struct lath_snapshot *snapshot,
                                 const char *tree,
                                 struct lath_cursor **cursor);

/*
 Frees a cursor; null is allowed.

 # Safety
 `cursor` is null, or comes from `lath_snapshot_cursor` and is not used any more.
 */
void lath_cursor_free(struct lath_cursor *cursor);

/*
 Moves to the next key, from before the first key to the first. `found` tells whether there is one.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it; `found` points to room for a `bool`.
 */
lath_status lath_cursor_next(struct lath_cursor *cursor, bool *found);

/*
 Moves to the previous key, from after the last key to the last. `found` tells whether there is one.

 # Safety
 The same as for `lath_cursor_next`.
 */
lath_status lath_cursor_prev(struct lath_cursor *cursor, bool *found);

/*
 Moves to the first key that is not less than `key`. `found` tells whether there is one.

 # Safety
 The same as for `lath_cursor_next`; `key` points to `key_len` bytes.
 */
lath_status lath_cursor_seek(struct lath_cursor *cursor, const uint8_t *key, size_t key_len, bool *found);

/*
 Moves after the last key, so that `lath_cursor_prev` moves to the last key.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it.
 */
lath_status lath_cursor_seek_to_end(struct lath_cursor *cursor);

/*
 Lends the key and the value at the cursor; `data` of both is null if the cursor is at no key. The key is valid until
 the cursor is moved or freed, the value until the cursor and its snapshot are freed. `value` may be null.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`; `key` points to room for a structure; `value` is null or points to room
 for one.
 */
lath_status lath_cursor_entry(const struct lath_cursor *cursor,
                              lath_bytes *key,
                              lath_bytes *value);

/*
 Begins a transaction. If another one is open, waits for it if `wait` is true, and otherwise returns
 `LATH_STATUS_BUSY`. A thread that has one open itself would wait forever.

 End it with `lath_transaction_commit` or `lath_transaction_abort`; one of them must be called.

 # Safety
 `store` comes from `lath_store_open`; `transaction` points to room for a pointer.
 */
lath_status lath_store_begin(const struct lath_store *store,
                             bool wait,
                             struct lath_transaction **transaction);

/*
 Lends the value of a key, including the changes so far. It is valid until the next call with this transaction. If
 the key or tree does not exist, `value->data` is null; for an empty value it is not null.

 # Safety
 `transaction` comes from `lath_store_begin`, and no other thread uses it; `tree` is a text in UTF-8 that ends with a zero byte; `key`
 points to `key_len` bytes; `value` points to room for a structure.
 */
lath_status lath_transaction_get(struct lath_transaction *transaction,
                                 const char *tree,
                                 const uint8_t *key,
                                 size_t key_len,
                                 lath_bytes *value);

/*
 Puts a value at a key, replacing any old value. Creates the tree if it does not exist.

 A key has at most 32 KiB, a value 4 GiB: otherwise the call returns `LATH_STATUS_LIMIT` and changes nothing. After
 any other error the transaction can only be aborted.

 # Safety
 The same as for `lath_transaction_get`; `value` points to `value_len` bytes.
 */
lath_status lath_transaction_put(struct lath_transaction *transaction,
                                 const char *tree,
                                 const uint8_t *key,
                                 size_t key_len,
                                 const uint8_t *value,
                                 size_t value_len);

/*
 Removes a key. `was_there`, which may be null, tells whether the key existed.

 # Safety
 The same as for `lath_transaction_get`; `was_there` is null or points to room for a `bool`.
 */
lath_status lath_transaction_delete(struct lath_transaction *transaction,
                                    const char *tree,
                                    const uint8_t *key,
                                    size_t key_len,
                                    bool *was_there);

/*
 Commits the changes, and frees the transaction, even if this fails.

 # Safety
 `transaction` comes from `lath_store_begin`, and is not used any more.
 */
lath_status lath_transaction_commit(struct lath_transaction *transaction);

/*
 Undoes the changes, and frees the transaction; null is allowed.

 # Safety
 `transaction` is null, or comes from `lath_store_begin` and is not used any more.
 */
void lath_transaction_abort(struct lath_transaction *transaction);

/*
 Begins a transaction. If another one is open, waits for it if `wait` is true, and otherwise returns
 `LATH_STATUS_BUSY`. A thread that has one open itself would wait forever.

 End it with `lath_transaction_commit` or `lath_transaction_abort`; one of them must be called.

 # Safety
 `store` comes from `lath_store_open`; `transaction` points to room for a pointer.
 */
lath_status lath_store_begin(const struct lath_store *store,
                             bool wait,
                             struct lath_transaction **transaction);

/*
 Lends the value of a key, including the changes so far. It is valid until the next call with this transaction. If
 the key or tree does not exist, `value->data` is null; for an empty value it is not null.

 # Safety
 `transaction` comes from `lath_store_begin`, and no other thread uses it; `tree` is a text in UTF-8 that ends with a zero byte; `key`
 points to `key_len` bytes; `value` points to room for a structure.
 */
lath_status lath_transaction_get(struct lath_transaction *transaction,
                                 const char *tree,
                                 const uint8_t *key,
                                 size_t key_len,
                                 lath_bytes *value);

/*
 Puts a value at a key, replacing any old value. Creates the tree if it does not exist.

 A key has at most 32 KiB, a value 4 GiB: otherwise the call returns `LATH_STATUS_LIMIT` and changes nothing. After
 any other error the transaction can only be aborted.

 # Safety
 The same as for `lath_transaction_get`; `value` points to `value_len` bytes.
 */
lath_status lath_transaction_put(struct lath_transaction *transaction,
                                 const char *tree,
                                 const uint8_t *key,
                                 size_t key_len,
                                 const uint8_t *value,
                                 size_t value_len);

/*
 Removes a key. `was_there`, which may be null, tells whether the key existed.

 # Safety
 The same as for `lath_transaction_get`; `was_there` is null or points to room for a `bool`.
 */
lath_status lath_transaction_delete(struct lath_transaction *transaction,
                                    const char *tree,
                                    const uint8_t *key,
                                    size_t key_len,
                                    bool *was_there);

/*
 Commits the changes, and frees the transaction, even if this fails.

 # Safety
 `transaction` comes from `lath_store_begin`, and is not used any more.
 */
lath_status lath_transaction_commit(struct lath_transaction *transaction);

/*
 Undoes the changes, and frees the transaction; null is allowed.

 # Safety
 `transaction` is null, or comes from `lath_store_begin` and is not used any more.
 */
void lath_transaction_abort(struct lath_transaction *transaction);

/*
 Creates a cursor over a tree, before its first key. A tree that does not exist has no keys. Free it with
 `lath_cursor_free`; the snapshot may be freed before it.

 # Safety
 `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `cursor` points to room for a
 pointer.
 */
lath_status lath_snapshot_cursor(const struct lath_snapshot *snapshot,
                                 const char *tree,
                                 struct lath_cursor **cursor);

/*
 Frees a cursor; null is allowed.

 # Safety
 `cursor` is null, or comes from `lath_snapshot_cursor` and is not used any more.
 */
void lath_cursor_free(struct lath_cursor *cursor);

/*
 Moves to the next key, from before the first key to the first. `found` tells whether there is one.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it; `found` points to room for a `bool`.
 */
lath_status lath_cursor_next(struct lath_cursor *cursor, bool *found);

/*
 Moves to the previous key, from after the last key to the last. `found` tells whether there is one.

 # Safety
 The same as for `lath_cursor_next`.
 */
lath_status lath_cursor_prev(struct lath_cursor *cursor, bool *found);

/*
 Moves to the first key that is not less than `key`. `found` tells whether there is one.

 # Safety
 The same as for `lath_cursor_next`; `key` points to `key_len` bytes.
 */
lath_status lath_cursor_seek(struct lath_cursor *cursor, const uint8_t *key, size_t key_len, bool *found);

/*
 Moves after the last key, so that `lath_cursor_prev` moves to the last key.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it.
 */
lath_status lath_cursor_seek_to_end(struct lath_cursor *cursor);

/*
 Lends the key and the value at the cursor; `data` of both is null if the cursor is at no key. The key is valid until
 the cursor is moved or freed, the value until the cursor and its snapshot are freed. `value` may be null.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`; `key` points to room for a structure; `value` is null or points to room
 for one.
 */
lath_status lath_cursor_entry(const struct lath_cursor *cursor,
                              lath_bytes *key,
                              lath_bytes *value);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif /* LATH_KERNELS_ONLY */

#endif /* LATH_H */
