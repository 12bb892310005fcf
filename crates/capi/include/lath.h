/* The C interface of Lath. docs/c.md is its manual.
 *
 * Made of the sources in crates/capi/src and of the headers in crates/capi/tests: change those, and run
 * LATH_WRITE_HEADER=1 cargo test -p lath-capi --test header
 *
 * Of a library that has the kernels alone (built with --no-default-features), define LATH_KERNELS_ONLY.
 */
#ifndef LATH_H
#define LATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 What became of a call. After anything but `LATH_STATUS_OK`, `lath_last_error_message` has the text, and outputs have no meaning
 unless the function says otherwise.
 */
typedef enum lath_status {
  /*
   The call did what it says.
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
   The file uses what Lath cannot read.
   */
  LATH_STATUS_UNSUPPORTED = 5,
  /*
   A value does not fit the type in which it is wanted.
   */
  LATH_STATUS_OUT_OF_RANGE = 6,
  /*
   Something is larger than the format or an option allows.
   */
  LATH_STATUS_LIMIT = 7,
  /*
   The operating system failed.
   */
  LATH_STATUS_IO = 8,
  /*
   There is no such file.
   */
  LATH_STATUS_NOT_FOUND = 9,
  /*
   Another process or transaction has the store.
   */
  LATH_STATUS_BUSY = 10,
  /*
   There is a file of that name.
   */
  LATH_STATUS_EXISTS = 11,
  /*
   The work was stopped.
   */
  LATH_STATUS_CANCELLED = 12,
  /*
   A bug in Lath; please report it.
   */
  LATH_STATUS_INTERNAL = 13,
} lath_status;

/*
 A decoder of a DELTA_BINARY_PACKED page of INT32, at some value of it. One thread at a time may use it.
 */
typedef struct lath_delta_i32 lath_delta_i32;

/*
 A decoder of a DELTA_BINARY_PACKED page of INT64, at some value of it. One thread at a time may use it.
 */
typedef struct lath_delta_i64 lath_delta_i64;

/*
 A decoder of the RLE/bit-packed hybrid, at some value. One thread at a time may use it.
 */
typedef struct lath_rle lath_rle;

/*
 Bytes that Lath has allocated and the caller owns, until `lath_buffer_free`. Behind them is a zero byte, which does not count, so
 that text can be printed as it is.
 */
typedef struct lath_buffer {
  /*
   The first byte, or null if there is no buffer.
   */
  uint8_t *data;
  /*
   Their number.
   */
  size_t len;
} lath_buffer;

/*
 Bytes that are lent: by the caller for a call, or by Lath for as long as the function that gives them says.
 */
typedef struct lath_bytes {
  /*
   The first byte; may be null if there are none.
   */
  const uint8_t *data;
  /*
   Their number.
   */
  size_t len;
} lath_bytes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The text of the last error that a function of Lath returned on this thread, in UTF-8 and ended by a zero byte; an empty text if
 there was none. It is valid until the next error on this thread, or the thread's end.
 */
const char *lath_last_error_message(void);

/*
 The name of a code in a few words, as a constant text ended by a zero byte. Any number may be given.
 */
const char *lath_status_name(int32_t status);

/*
 Frees what a buffer has, and makes it an empty one.

 # Safety
 `buffer` is null, or points to a buffer that Lath has filled or whose `data` is null, and that no other thread uses.
 */
void lath_buffer_free(struct lath_buffer *buffer);

/*
 The version of the library, as in "0.1.0", as a constant text ended by a zero byte.
 */
const char *lath_version(void);

/*
 The tier that kernels run at ("scalar", "sse41", "avx2", "avx512" or "neon"), as a constant text ended by a zero byte. The
 environment variable `LATH_SIMD` lowers it, if it is set before the first call.
 */
const char *lath_simd_tier(void);

/*
 Whether a filter may have a value with this hash (XXH64 with seed 0, see `lath_xxh64`): writes `false` only if it has none.

 `bitset` is the filter as a Parquet file has it, without its header: a whole number of blocks of 32 bytes, one at least. It needs
 no alignment.

 # Safety
 `bitset` points to `bitset_len` bytes, `found` to room for a `bool`.
 */
enum lath_status lath_bloom_check(const uint8_t *bitset,
                                  size_t bitset_len,
                                  uint64_t hash,
                                  bool *found);

/*
 Whether a filter may have values with these hashes: bit `i % 64` of `found[i / 64]` is the answer of hash `i`. Bits behind the last
 one are zero.

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
 Which of many filters may have a value with this hash: bit `i % 64` of `found[i / 64]` is the answer of filter `i`. Bits behind the
 last one are zero. Filters may differ in length.

 `found_len` is `(filter_count + 63) / 64`, in words.

 # Safety
 `filters` points to `filter_count` structures, each of which has the place and the length of a filter; `found` points to `found_len`
 words that overlap none of them.
 */
enum lath_status lath_bloom_check_filters(const struct lath_bytes *filters,
                                          size_t filter_count,
                                          uint64_t hash,
                                          uint64_t *found,
                                          size_t found_len);

/*
 Puts values with these hashes into a filter.

 # Safety
 `bitset` points to `bitset_len` bytes that no other thread uses meanwhile, `hashes` to `hash_count` hashes outside of them.
 */
enum lath_status lath_bloom_insert(uint8_t *bitset,
                                   size_t bitset_len,
                                   const uint64_t *hashes,
                                   size_t hash_count);

/*
 The number of the block in which a filter of `block_count` blocks has the bits of a hash. Who reads a file needs only this block,
 bytes `32 * index` to `32 * index + 31` of the bitset, which is a filter of one block itself.
 */
size_t lath_bloom_block_index(uint64_t hash,
                              size_t block_count);

/*
 The hash of some bytes.

 # Safety
 `bytes` points to `len` bytes, `hash` to room for a hash.
 */
enum lath_status lath_xxh64(const uint8_t *bytes, size_t len, uint64_t *hash);

/*
 The hashes of `count` values of `width` bytes each, one after another: `hashes[i]` is that of value `i`. Numbers are hashed as
 Parquet's PLAIN has them, little-endian.

 Fastest for widths of 1, 2, 4, 8 and 16 where `values` is aligned to the width; it need not be.

 # Safety
 `values` points to `count * width` bytes, `hashes` to room for `count` hashes that do not overlap them.
 */
enum lath_status lath_xxh64_fixed(const uint8_t *values,
                                  size_t width,
                                  size_t count,
                                  uint64_t *hashes);

/*
 The hashes of `count` strings: string `i` is bytes `offsets[i]` to `offsets[i + 1] - 1` of `data`, as Arrow has strings and binary
 values. Offsets may be anything: `LATH_STATUS_CORRUPT` where one is outside of the data or below the one before it.

 # Safety
 `data` points to `data_len` bytes, `offsets` to `count + 1` offsets, `hashes` to room for `count` hashes that overlap neither.
 */
enum lath_status lath_xxh64_strings(const uint8_t *data,
                                    size_t data_len,
                                    const int32_t *offsets,
                                    size_t count,
                                    uint64_t *hashes);

/*
 As `lath_xxh64_strings`, with wide offsets.

 # Safety
 As `lath_xxh64_strings`.
 */
enum lath_status lath_xxh64_large_strings(const uint8_t *data,
                                          size_t data_len,
                                          const int64_t *offsets,
                                          size_t count,
                                          uint64_t *hashes);

/*
 Decodes a page: its values to `out`, as many as there is room for, and their number to `decoded`.

 `src` is the page's values as the file has them, from the header on; bytes may follow. It needs no alignment. `end` gets the number
 of bytes that all values take up, which is where the strings of DELTA_LENGTH_BYTE_ARRAY begin; it may be null.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for a number, and
 `end` is null or does too.
 */
enum lath_status lath_delta_decode_i32(const uint8_t *src,
                                       size_t src_len,
                                       int32_t *out,
                                       size_t out_len,
                                       size_t *decoded,
                                       size_t *end);

/*
 Makes a decoder of a page, at its first value. `value_count`, which may be null, gets the number of values that the header
 announces: it is not checked against the bytes, so do not allocate on its word alone.

 The decoder keeps nothing of `src`: every later call takes the same bytes again. Give it to `lath_delta_i32_free` in the end.

 # Safety
 `src` points to `src_len` bytes, `decoder` to room for a pointer, and `value_count` is null or points to room for a number.
 */
enum lath_status lath_delta_i32_new(const uint8_t *src,
                                    size_t src_len,
                                    struct lath_delta_i32 **decoder,
                                    size_t *value_count);

/*
 Decodes the next values: `out_len` of them or all that remain. Their number goes to `decoded`. After an error the decoder is of
 no further use.

 # Safety
 `decoder` comes from `lath_delta_i32_new`, and no other thread uses it. `src` points to `src_len` bytes, those that it was made of;
 others give other values or an error. `out` points to room for `out_len` values that do not overlap them, `decoded` to room for a
 number.
 */
enum lath_status lath_delta_i32_decode(struct lath_delta_i32 *decoder,
                                       const uint8_t *src,
                                       size_t src_len,
                                       int32_t *out,
                                       size_t out_len,
                                       size_t *decoded);

/*
 Passes over the next `count` values or all that remain. Their number goes to `skipped`.

 # Safety
 As for `lath_delta_i32_decode`; `skipped` points to room for a number.
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
 The bytes of output that `lath_delta_encode_i32` of `count` values asks for: more than it writes.
 */
size_t lath_delta_max_encoded_len_i32(size_t count);

/*
 Encodes all values of a page, in blocks of 128 values and miniblocks of 32. The number of bytes goes to `written`.

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
 Decodes a page: its values to `out`, as many as there is room for, and their number to `decoded`.

 `src` is the page's values as the file has them, from the header on; bytes may follow. It needs no alignment. `end` gets the number
 of bytes that all values take up, which is where the strings of DELTA_LENGTH_BYTE_ARRAY begin; it may be null.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `out_len` values that do not overlap them, `decoded` to room for a number, and
 `end` is null or does too.
 */
enum lath_status lath_delta_decode_i64(const uint8_t *src,
                                       size_t src_len,
                                       int64_t *out,
                                       size_t out_len,
                                       size_t *decoded,
                                       size_t *end);

/*
 Makes a decoder of a page, at its first value. `value_count`, which may be null, gets the number of values that the header
 announces: it is not checked against the bytes, so do not allocate on its word alone.

 The decoder keeps nothing of `src`: every later call takes the same bytes again. Give it to `lath_delta_i64_free` in the end.

 # Safety
 `src` points to `src_len` bytes, `decoder` to room for a pointer, and `value_count` is null or points to room for a number.
 */
enum lath_status lath_delta_i64_new(const uint8_t *src,
                                    size_t src_len,
                                    struct lath_delta_i64 **decoder,
                                    size_t *value_count);

/*
 Decodes the next values: `out_len` of them or all that remain. Their number goes to `decoded`. After an error the decoder is of
 no further use.

 # Safety
 `decoder` comes from `lath_delta_i64_new`, and no other thread uses it. `src` points to `src_len` bytes, those that it was made of;
 others give other values or an error. `out` points to room for `out_len` values that do not overlap them, `decoded` to room for a
 number.
 */
enum lath_status lath_delta_i64_decode(struct lath_delta_i64 *decoder,
                                       const uint8_t *src,
                                       size_t src_len,
                                       int64_t *out,
                                       size_t out_len,
                                       size_t *decoded);

/*
 Passes over the next `count` values or all that remain. Their number goes to `skipped`.

 # Safety
 As for `lath_delta_i64_decode`; `skipped` points to room for a number.
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
 The bytes of output that `lath_delta_encode_i64` of `count` values asks for: more than it writes.
 */
size_t lath_delta_max_encoded_len_i64(size_t count);

/*
 Encodes all values of a page, in blocks of 128 values and miniblocks of 32. The number of bytes goes to `written`.

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
 Unpacks `count` values of `width` bits, at most 8, least significant bit first, as the RLE/bit-packed hybrid and DELTA_BINARY_PACKED
 store them. `src` needs no alignment, and may be longer than the values are.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
 */
enum lath_status lath_bitunpack_u8(const uint8_t *src,
                                   size_t src_len,
                                   uint32_t width,
                                   uint8_t *out,
                                   size_t count);

/*
 Unpacks `count` values of `width` bits, at most 32, least significant bit first, as the RLE/bit-packed hybrid and DELTA_BINARY_PACKED
 store them. `src` needs no alignment, and may be longer than the values are.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
 */
enum lath_status lath_bitunpack_u32(const uint8_t *src,
                                    size_t src_len,
                                    uint32_t width,
                                    uint32_t *out,
                                    size_t count);

/*
 Unpacks `count` values of `width` bits, at most 64, least significant bit first, as the RLE/bit-packed hybrid and DELTA_BINARY_PACKED
 store them. `src` needs no alignment, and may be longer than the values are.

 # Safety
 `src` points to `src_len` bytes, `out` to room for `count` values that do not overlap them.
 */
enum lath_status lath_bitunpack_u64(const uint8_t *src,
                                    size_t src_len,
                                    uint32_t width,
                                    uint64_t *out,
                                    size_t count);

/*
 Makes a decoder of values of `width` bits, at most 32, at the first run. What surrounds the runs in a page (a length of four bytes
 before levels, a byte with the width before dictionary indices) is the caller's. Give it to `lath_rle_free` in the end.

 # Safety
 `decoder` points to room for a pointer.
 */
enum lath_status lath_rle_new(uint32_t width,
                              struct lath_rle **decoder);

/*
 Decodes the next values: `out_len` of them or all that remain. Their number goes to `decoded`. After an error the decoder is of no
 further use.

 `src` is all runs, the same bytes with every call.

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
 Decodes the next values: `out_len` of them or all that remain. Their number goes to `decoded`. The width is at most 8. After
 an error the decoder is of no further use.

 `src` is all runs, the same bytes with every call.

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
 Passes over the next `count` values or all that remain. Their number goes to `skipped`.

 # Safety
 As for `lath_rle_decode_u32`; `skipped` points to room for a number.
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
 Decodes values `first` and following of a page of `value_count` values of `width` bytes each: as many as `out_len` bytes have room
 for, which is a multiple of the width.

 `src` is the page's values: `width` streams of `value_count` bytes one after another. Neither pointer needs alignment.

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
 Encodes values of `width` bytes as values `first` and following of a page of `value_count` values: `out` is the whole page, of which
 the bytes of these values are written.

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
 How many of the bytes equal `needle`: of levels, say, those that are a given one.

 # Safety
 `haystack` points to `len` bytes, `count` to room for a number.
 */
enum lath_status lath_count_byte(const uint8_t *haystack, size_t len, uint8_t needle, size_t *count);

/*
 How many of the bytes, which are in ascending order, are below `key`: the place of the first that is not. For short arrays, such as
 the labels of a tree's node.

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
 Whether a filter may have a value with this hash, as `lath_bloom_check`, but compiled into the caller: for one hash a call, which in code
 that is compiled for AVX2 then takes about a nanosecond. Nothing is checked.

 `bitset` points to `bitset_len` bytes, a whole number of blocks of 32 bytes, one at least. It needs no alignment.
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
 For `lath_dataset_open`: columns of any file are columns of the table, and null where a file has them not. Otherwise the files have
 the same columns.
 */
#define LATH_UNION_SCHEMAS 1

/*
 For `lath_dataset_open`: directories called `key=value` are no columns.
 */
#define LATH_NO_PARTITIONS 2

/*
 For `lath_store_open`: do not create the store, but fail if it is not there.
 */
#define LATH_STORE_EXISTING 1

/*
 For `lath_store_open`: open for reading only.
 */
#define LATH_STORE_READ_ONLY 2

/*
 For `lath_store_open`: commits survive the end of the process at once, and a loss of power after `lath_store_sync` or a checkpoint.
 Without this flag they survive both when they return.
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
 A store as one commit left it. Any number of threads may use it at once.
 */
typedef struct lath_snapshot lath_snapshot;

/*
 An open store. Any number of threads may use it at once.
 */
typedef struct lath_store lath_store;

/*
 Changes that become visible together, or not at all. One at a time is open in a store. It may move between threads; one at a time
 may use it.
 */
typedef struct lath_transaction lath_transaction;

/*
 Which rows and columns a scan reads, and how. A structure of zeros reads everything.
 */
typedef struct lath_scan_options {
  /*
   A condition in SQL, as `lath find` takes it: `minutes > 45 AND "from" = 'Harbour'`. Null for all rows.
   */
  const char *filter;
  /*
   The paths of the columns wanted, `rider.plan` for a field within a struct. Null for all columns.
   */
  const char *const *columns;
  /*
   Their number. With a pointer that is not null, zero columns are none: batches have numbers of rows only.
   */
  size_t column_count;
  /*
   The maximum number of rows; 0 for all.
   */
  uint64_t limit;
  /*
   The maximum number of rows in a batch; 0 for what Lath chooses.
   */
  size_t batch_size;
  /*
   The number of threads; 0 for as many as there are processor cores, or requests in flight for files that are far away.
   */
  size_t threads;
  /*
   Whether strings and binary values may come as Arrow's views, which is faster; otherwise they come with offsets, which every
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

 `flags` is 0, or `LATH_UNION_SCHEMAS`, `LATH_NO_PARTITIONS` or both. Give the dataset to `lath_dataset_free` in the end.

 # Safety
 `locations` points to `location_count` texts in UTF-8 that end with a zero byte, `dataset` to room for a pointer.
 */
lath_status lath_dataset_open(const char *const *locations,
                              size_t location_count,
                              uint32_t flags,
                              struct lath_dataset **dataset);

/*
 Closes a dataset; null is allowed. Streams that were made of it go on.

 # Safety
 `dataset` is null, or comes from `lath_dataset_open` and is not used any more.
 */
void lath_dataset_free(struct lath_dataset *dataset);

/*
 The names and types of the columns, as a struct. The caller calls `schema->release(schema)` in the end.

 # Safety
 `dataset` comes from `lath_dataset_open`; `schema` points to room for a structure, of which nothing is read.
 */
lath_status lath_dataset_schema(const struct lath_dataset *dataset, struct ArrowSchema *schema);

/*
 The number of rows for which a condition is true, or of all rows if `filter` is null. Nothing is read that takes no part in it: for
 all rows, only the files' footers.

 # Safety
 `dataset` comes from `lath_dataset_open`; `filter` is null or a text in UTF-8 that ends with a zero byte; `rows` points to room for
 a number.
 */
lath_status lath_dataset_count(const struct lath_dataset *dataset,
                               const char *filter,
                               uint64_t *rows);

/*
 Reads rows as a stream of Arrow record batches. Work begins when the first batch is asked for. The stream can be used on any
 thread, by one at a time; what goes wrong while it is read is in its `get_last_error`. The caller calls `stream->release(stream)` in
 the end, at any time.

 # Safety
 `dataset` comes from `lath_dataset_open`; `options` is null or points to a structure whose pointers are as it says, and which is read
 during this call only; `stream` points to room for a structure, of which nothing is read.
 */
lath_status lath_dataset_scan(const struct lath_dataset *dataset,
                              const struct lath_scan_options *options,
                              struct ArrowArrayStream *stream);

/*
 Finds the rows for which a condition is true, and writes to `text` what was ruled out without reading it and what was read, in lines.
 Give `text` to `lath_buffer_free` in the end.

 # Safety
 `dataset` comes from `lath_dataset_open`; `filter` is a text in UTF-8 that ends with a zero byte; `text` points to room for a buffer,
 of which nothing is read.
 */
lath_status lath_dataset_explain(const struct lath_dataset *dataset,
                                 const char *filter,
                                 lath_buffer *text);

/*
 Opens the store in a file; a second file beside it is its log. `flags` is 0 or `LATH_STORE_…` added up. Give the store to
 `lath_store_close` in the end.

 # Safety
 `path` is a text in UTF-8 that ends with a zero byte, `store` points to room for a pointer.
 */
lath_status lath_store_open(const char *path,
                            uint32_t flags,
                            struct lath_store **store);

/*
 Closes a store; null is allowed. Its snapshots, cursors and transactions keep the files open until they are freed too.

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
 Copies the value of a key in the last commit to `value`. Where there is no such key or tree, the call is not an error and
 `value->data` is null; of an empty value it is not null. Give `value` to `lath_buffer_free` in the end.

 # Safety
 `store` comes from `lath_store_open`; `tree` is a text in UTF-8 that ends with a zero byte; `key` points to `key_len` bytes; `value`
 points to room for a buffer, of which nothing is read.
 */
lath_status lath_store_get(const struct lath_store *store,
                           const char *tree,
                           const uint8_t *key,
                           size_t key_len,
                           lath_buffer *value);

/*
 Puts a value at a key, whether or not there is one, as a commit of its own. The tree is created if it does not exist. Waits for other
 transactions: never call it on a thread that has one open itself.

 # Safety
 As for `lath_store_get`; `value` points to `value_len` bytes.
 */
lath_status lath_store_put(const struct lath_store *store,
                           const char *tree,
                           const uint8_t *key,
                           size_t key_len,
                           const uint8_t *value,
                           size_t value_len);

/*
 Removes a key as a commit of its own. `was_there`, which may be null, says whether there was one. Waits as `lath_store_put` does.

 # Safety
 As for `lath_store_get`; `was_there` is null or points to room for a `bool`.
 */
lath_status lath_store_delete(const struct lath_store *store,
                              const char *tree,
                              const uint8_t *key,
                              size_t key_len,
                              bool *was_there);

/*
 Takes a snapshot of the last commit, which stays as it is while others write. Space that only it needs is not reused until it is given
 to `lath_snapshot_free`.

 # Safety
 `store` comes from `lath_store_open`; `snapshot` points to room for a pointer.
 */
lath_status lath_store_snapshot(const struct lath_store *store,
                                struct lath_snapshot **snapshot);

/*
 Frees a snapshot; null is allowed. Its cursors go on; values that `lath_snapshot_get` has lent do not.

 # Safety
 `snapshot` is null, or comes from `lath_store_snapshot` and is not used any more.
 */
void lath_snapshot_free(struct lath_snapshot *snapshot);

/*
 Lends the value of a key, which is valid until the snapshot is freed; nothing is copied. Where there is no such key or tree,
 `value->data` is null; of an empty value it is not null.

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
 The number of keys in a tree; 0 if there is no such tree.

 # Safety
 `snapshot` comes from `lath_store_snapshot`; `tree` is a text in UTF-8 that ends with a zero byte; `count` points to room for a number.
 */
lath_status lath_snapshot_count(const struct lath_snapshot *snapshot,
                                const char *tree,
                                uint64_t *count);

/*
 Makes a cursor over a tree, before its first key. A tree that does not exist has no keys. Give it to `lath_cursor_free` in the end; the
 snapshot may be freed before it.

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
 Moves to the next key, from before the first one to the first. `found` says whether there is one.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it; `found` points to room for a `bool`.
 */
lath_status lath_cursor_next(struct lath_cursor *cursor, bool *found);

/*
 Moves to the previous key, from after the last one to the last. `found` says whether there is one.

 # Safety
 As for `lath_cursor_next`.
 */
lath_status lath_cursor_prev(struct lath_cursor *cursor, bool *found);

/*
 Moves to the first key that is not less than `key`. `found` says whether there is one.

 # Safety
 As for `lath_cursor_next`; `key` points to `key_len` bytes.
 */
lath_status lath_cursor_seek(struct lath_cursor *cursor, const uint8_t *key, size_t key_len, bool *found);

/*
 Moves after the last key, from where `lath_cursor_prev` leads to it.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it.
 */
lath_status lath_cursor_seek_to_end(struct lath_cursor *cursor);

/*
 Lends the key and the value at the cursor; `data` of both is null where it is at none. The key is valid until the cursor is moved or
 freed, the value until the cursor and its snapshot are freed. `value` may be null.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`; `key` points to room for a structure, and `value` is null or does too.
 */
lath_status lath_cursor_entry(const struct lath_cursor *cursor,
                              lath_bytes *key,
                              lath_bytes *value);

/*
 Begins a transaction. If there is another, waits for it if `wait` is true, and is `LATH_STATUS_BUSY` otherwise; a thread that has one
 open itself would wait for ever.

 It ends with `lath_transaction_commit` or `lath_transaction_abort`, of which one has to be called.

 # Safety
 `store` comes from `lath_store_open`; `transaction` points to room for a pointer.
 */
lath_status lath_store_begin(const struct lath_store *store,
                             bool wait,
                             struct lath_transaction **transaction);

/*
 Lends the value of a key, with the changes so far. It is valid until the next call with this transaction. Where there is no such key
 or tree, `value->data` is null; of an empty value it is not null.

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
 Puts a value at a key, whether or not there is one. The tree is created if it does not exist.

 A key has at most 32 KiB, a value 4 GiB: `LATH_STATUS_LIMIT`, which leaves everything as it was. After any other error the transaction
 can only be aborted.

 # Safety
 As for `lath_transaction_get`; `value` points to `value_len` bytes.
 */
lath_status lath_transaction_put(struct lath_transaction *transaction,
                                 const char *tree,
                                 const uint8_t *key,
                                 size_t key_len,
                                 const uint8_t *value,
                                 size_t value_len);

/*
 Removes a key. `was_there`, which may be null, says whether there was one.

 # Safety
 As for `lath_transaction_get`; `was_there` is null or points to room for a `bool`.
 */
lath_status lath_transaction_delete(struct lath_transaction *transaction,
                                    const char *tree,
                                    const uint8_t *key,
                                    size_t key_len,
                                    bool *was_there);

/*
 Makes the changes a commit, and frees the transaction, also if this fails.

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
 Begins a transaction. If there is another, waits for it if `wait` is true, and is `LATH_STATUS_BUSY` otherwise; a thread that has one
 open itself would wait for ever.

 It ends with `lath_transaction_commit` or `lath_transaction_abort`, of which one has to be called.

 # Safety
 `store` comes from `lath_store_open`; `transaction` points to room for a pointer.
 */
lath_status lath_store_begin(const struct lath_store *store,
                             bool wait,
                             struct lath_transaction **transaction);

/*
 Lends the value of a key, with the changes so far. It is valid until the next call with this transaction. Where there is no such key
 or tree, `value->data` is null; of an empty value it is not null.

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
 Puts a value at a key, whether or not there is one. The tree is created if it does not exist.

 A key has at most 32 KiB, a value 4 GiB: `LATH_STATUS_LIMIT`, which leaves everything as it was. After any other error the transaction
 can only be aborted.

 # Safety
 As for `lath_transaction_get`; `value` points to `value_len` bytes.
 */
lath_status lath_transaction_put(struct lath_transaction *transaction,
                                 const char *tree,
                                 const uint8_t *key,
                                 size_t key_len,
                                 const uint8_t *value,
                                 size_t value_len);

/*
 Removes a key. `was_there`, which may be null, says whether there was one.

 # Safety
 As for `lath_transaction_get`; `was_there` is null or points to room for a `bool`.
 */
lath_status lath_transaction_delete(struct lath_transaction *transaction,
                                    const char *tree,
                                    const uint8_t *key,
                                    size_t key_len,
                                    bool *was_there);

/*
 Makes the changes a commit, and frees the transaction, also if this fails.

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
 Makes a cursor over a tree, before its first key. A tree that does not exist has no keys. Give it to `lath_cursor_free` in the end; the
 snapshot may be freed before it.

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
 Moves to the next key, from before the first one to the first. `found` says whether there is one.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it; `found` points to room for a `bool`.
 */
lath_status lath_cursor_next(struct lath_cursor *cursor, bool *found);

/*
 Moves to the previous key, from after the last one to the last. `found` says whether there is one.

 # Safety
 As for `lath_cursor_next`.
 */
lath_status lath_cursor_prev(struct lath_cursor *cursor, bool *found);

/*
 Moves to the first key that is not less than `key`. `found` says whether there is one.

 # Safety
 As for `lath_cursor_next`; `key` points to `key_len` bytes.
 */
lath_status lath_cursor_seek(struct lath_cursor *cursor, const uint8_t *key, size_t key_len, bool *found);

/*
 Moves after the last key, from where `lath_cursor_prev` leads to it.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`, and no other thread uses it.
 */
lath_status lath_cursor_seek_to_end(struct lath_cursor *cursor);

/*
 Lends the key and the value at the cursor; `data` of both is null where it is at none. The key is valid until the cursor is moved or
 freed, the value until the cursor and its snapshot are freed. `value` may be null.

 # Safety
 `cursor` comes from `lath_snapshot_cursor`; `key` points to room for a structure, and `value` is null or does too.
 */
lath_status lath_cursor_entry(const struct lath_cursor *cursor,
                              lath_bytes *key,
                              lath_bytes *value);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif /* LATH_KERNELS_ONLY */

#endif /* LATH_H */
