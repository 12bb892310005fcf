/* Reads rows of Parquet files as Arrow arrays, and decodes a page by kernels. Ends with an error if an answer is wrong.
 *
 *   read examples/data/trips
 */
#include <lath.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program if a call failed. */
static void check(lath_status status, const char *what) {
  if (status != LATH_STATUS_OK) {
    fprintf(stderr, "%s: %s: %s\n", what, lath_status_name(status), lath_last_error_message());
    exit(1);
  }
}

static void expect(bool holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
  }
}

/* A page of DELTA_BINARY_PACKED there and back, and a Bloom filter of its values. */
static void use_kernels(void) {
  int64_t values[1000], back[1000];
  for (int i = 0; i < 1000; i++) values[i] = 5000000 + i * 37 % 1001;
  size_t room = lath_delta_max_encoded_len_i64(1000), len, decoded;
  uint8_t *page = malloc(room);
  expect(page != NULL, "memory");
  check(lath_delta_encode_i64(values, 1000, page, room, &len), "encode");
  check(lath_delta_decode_i64(page, len, back, 1000, &decoded, NULL), "decode");
  expect(decoded == 1000, "the number of values");
  for (int i = 0; i < 1000; i++) expect(back[i] == values[i], "a value");
  expect(lath_delta_decode_i64(page, 3, back, 1000, &decoded, NULL) == LATH_STATUS_CORRUPT, "a page that ends early");
  free(page);

  uint64_t hashes[1000], found[16];
  uint8_t filter[64 * 32] = {0};
  check(lath_xxh64_fixed((const uint8_t *)values, 8, 1000, hashes), "hash");
  check(lath_bloom_insert(filter, sizeof filter, hashes, 500), "insert");
  check(lath_bloom_check_many(filter, sizeof filter, hashes, 1000, found, 16), "check many");
  for (int i = 0; i < 1000; i++) {
    bool one;
    check(lath_bloom_check(filter, sizeof filter, hashes[i], &one), "check");
    expect(one == (found[i / 64] >> (i % 64) & 1), "one check and many agree");
    expect(one || i >= 500, "what was inserted is found");
  }
}

/* Rows that satisfy a condition, as a stream of Arrow arrays. */
static void scan(const char *folder) {
  lath_dataset *dataset;
  check(lath_dataset_open(&folder, 1, 0, &dataset), "open");
  uint64_t all, matching;
  const char *filter = "minutes > 45 AND \"from\" = 'Harbour'";
  check(lath_dataset_count(dataset, NULL, &all), "count");
  check(lath_dataset_count(dataset, filter, &matching), "count");
  expect(all == 30000 && matching > 0 && matching < all, "the numbers of rows");

  const char *columns[] = {"minutes", "from"};
  lath_scan_options options = {0};
  options.filter = filter;
  options.columns = columns;
  options.column_count = 2;
  struct ArrowArrayStream stream;
  check(lath_dataset_scan(dataset, &options, &stream), "scan");
  lath_dataset_free(dataset);

  struct ArrowSchema schema;
  expect(stream.get_schema(&stream, &schema) == 0, "the schema");
  expect(schema.n_children == 2, "the number of columns");
  printf("columns: %s (%s), %s (%s)\n", schema.children[0]->name, schema.children[0]->format,
         schema.children[1]->name, schema.children[1]->format);
  schema.release(&schema);

  uint64_t rows = 0;
  for (;;) {
    struct ArrowArray batch;
    if (stream.get_next(&stream, &batch) != 0) {
      fprintf(stderr, "%s\n", stream.get_last_error(&stream));
      exit(1);
    }
    if (batch.release == NULL) break;
    rows += (uint64_t)batch.length;
    /* Every string of the second column, which the condition asks for, has the seven bytes of Harbour. */
    const struct ArrowArray *from = batch.children[1];
    const int32_t *offsets = (const int32_t *)from->buffers[1] + from->offset;
    expect(offsets[from->length] - offsets[0] == 7 * from->length, "the strings");
    batch.release(&batch);
  }
  stream.release(&stream);
  expect(rows == matching, "the rows of the stream");
  printf("%llu of %llu rows\n", (unsigned long long)rows, (unsigned long long)all);
}

static void explain(const char *folder) {
  lath_dataset *dataset;
  lath_buffer text;
  check(lath_dataset_open(&folder, 1, 0, &dataset), "open");
  check(lath_dataset_explain(dataset, "minutes > 1000000", &text), "explain");
  fwrite(text.data, 1, text.len, stdout);
  lath_buffer_free(&text);
  uint64_t rows;
  expect(lath_dataset_count(dataset, "no_such_column = 1", &rows) == LATH_STATUS_INVALID, "a condition that is wrong");
  printf("as expected: %s\n", lath_last_error_message());
  lath_dataset_free(dataset);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: read FOLDER\n");
    return 2;
  }
  printf("Lath %s, %s\n", lath_version(), lath_simd_tier());
  use_kernels();
  scan(argv[1]);
  explain(argv[1]);
  return 0;
}
