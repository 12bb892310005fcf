/* The Bloom check of the header agrees with that of the library. */
#include <lath.h>
#include <stdio.h>
#include <stdlib.h>

/* Numbers all over the 64 bits (splitmix64). */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

int main(void) {
  const size_t blocks[] = {1, 2, 3, 128, 1000, 32768};
  uint64_t state = 7;
  size_t at, i, hits = 0, misses = 0;
  for (at = 0; at < sizeof blocks / sizeof blocks[0]; at++) {
    const size_t len = 32 * blocks[at];
    /* Behind an odd address, and with nothing behind the last block, which valgrind would see. */
    uint8_t *bytes = calloc(len + 1, 1), *bitset = bytes + 1;
    if (bytes == NULL) return 1;
    for (i = 0; i < 20 * blocks[at]; i++) {
      const uint64_t hash = next(&state);
      if (lath_bloom_insert(bitset, len, &hash, 1) != LATH_STATUS_OK || !lath_bloom_has(bitset, len, hash)) {
        fprintf(stderr, "hash %zu of %zu is not in a filter of %zu blocks\n", i, 20 * blocks[at], blocks[at]);
        return 1;
      }
    }
    for (i = 0; i < 20000; i++) {
      const uint64_t hash = next(&state);
      bool found;
      if (lath_bloom_check(bitset, len, hash, &found) != LATH_STATUS_OK || found != lath_bloom_has(bitset, len, hash)) {
        fprintf(stderr, "answers differ in a filter of %zu blocks\n", blocks[at]);
        return 1;
      }
      found ? hits++ : misses++;
    }
    free(bytes);
  }
  if (hits == 0 || misses == 0) return 1;
  printf("%zu hashes found, %zu not, as by the library\n", hits, misses);
  return 0;
}
