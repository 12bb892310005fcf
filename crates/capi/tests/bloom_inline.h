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
