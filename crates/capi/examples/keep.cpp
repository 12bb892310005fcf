// Keeps numbers in a store, page by page, with a Bloom filter of each page. Ends with an error if an answer is wrong.
//
//   keep FILE
#include <lath.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(lath_status status) {
  if (status != LATH_STATUS_OK) throw std::runtime_error(lath_last_error_message());
}

void expect(bool holds, const char *what) {
  if (!holds) throw std::runtime_error(std::string("wrong: ") + what);
}

// Handles that are freed by themselves.
struct Free {
  void operator()(lath_store *store) const { lath_store_close(store); }
  void operator()(lath_snapshot *snapshot) const { lath_snapshot_free(snapshot); }
  void operator()(lath_cursor *cursor) const { lath_cursor_free(cursor); }
  void operator()(lath_transaction *transaction) const { lath_transaction_abort(transaction); }
};
template <typename T>
using Handle = std::unique_ptr<T, Free>;

Handle<lath_store> open(const char *path) {
  lath_store *store = nullptr;
  check(lath_store_open(path, LATH_STORE_DEFERRED, &store));
  return Handle<lath_store>(store);
}

const size_t PAGE = 500;
const int64_t PAGES = 40;

int64_t number(int64_t page, size_t index) { return page * 1000000 + static_cast<int64_t>(index * index); }

std::vector<uint8_t> page_key(int64_t page) { return {static_cast<uint8_t>(page >> 8), static_cast<uint8_t>(page)}; }

void write(lath_store *store) {
  lath_transaction *begun = nullptr;
  check(lath_store_begin(store, true, &begun));
  Handle<lath_transaction> transaction(begun);
  for (int64_t page = 0; page < PAGES; page++) {
    std::vector<int64_t> values(PAGE);
    for (size_t i = 0; i < PAGE; i++) values[i] = number(page, i);
    std::vector<uint8_t> bytes(lath_delta_max_encoded_len_i64(PAGE));
    size_t len = 0;
    check(lath_delta_encode_i64(values.data(), PAGE, bytes.data(), bytes.size(), &len));
    std::vector<uint64_t> hashes(PAGE);
    check(lath_xxh64_fixed(reinterpret_cast<const uint8_t *>(values.data()), 8, PAGE, hashes.data()));
    std::vector<uint8_t> filter(32 * 32);
    check(lath_bloom_insert(filter.data(), filter.size(), hashes.data(), PAGE));
    const std::vector<uint8_t> key = page_key(page);
    check(lath_transaction_put(transaction.get(), "pages", key.data(), key.size(), bytes.data(), len));
    check(lath_transaction_put(transaction.get(), "filters", key.data(), key.size(), filter.data(), filter.size()));
  }
  check(lath_transaction_commit(transaction.release()));
}

// The pages that have a number, of which filters rule most out.
size_t find(lath_snapshot *snapshot, int64_t wanted) {
  uint64_t hash = 0;
  check(lath_xxh64(reinterpret_cast<const uint8_t *>(&wanted), 8, &hash));
  lath_cursor *made = nullptr;
  check(lath_snapshot_cursor(snapshot, "filters", &made));
  Handle<lath_cursor> cursor(made);
  std::vector<lath_bytes> filters;
  std::vector<std::string> names;
  for (;;) {
    bool found = false;
    check(lath_cursor_next(cursor.get(), &found));
    if (!found) break;
    lath_bytes key, value;
    check(lath_cursor_entry(cursor.get(), &key, &value));
    // The value stays as long as the snapshot, the key until the cursor moves.
    names.emplace_back(reinterpret_cast<const char *>(key.data), key.len);
    filters.push_back(value);
  }
  expect(filters.size() == static_cast<size_t>(PAGES), "the number of filters");
  std::vector<uint64_t> hits((filters.size() + 63) / 64);
  check(lath_bloom_check_filters(filters.data(), filters.size(), hash, hits.data(), hits.size()));
  size_t read = 0, found = 0;
  for (size_t page = 0; page < filters.size(); page++) {
    if (!(hits[page / 64] >> (page % 64) & 1)) continue;
    lath_bytes bytes;
    const uint8_t *name = reinterpret_cast<const uint8_t *>(names[page].data());
    check(lath_snapshot_get(snapshot, "pages", name, names[page].size(), &bytes));
    expect(bytes.data != nullptr, "a page is there");
    std::vector<int64_t> values(PAGE);
    size_t decoded = 0;
    check(lath_delta_decode_i64(bytes.data, bytes.len, values.data(), values.size(), &decoded, nullptr));
    expect(decoded == PAGE, "the number of values");
    read++;
    for (size_t i = 0; i < decoded; i++) found += values[i] == wanted;
  }
  std::printf("%lld: %zu of %zu pages read, found %zu times\n", static_cast<long long>(wanted), read, filters.size(), found);
  expect(read < filters.size() / 2, "filters rule pages out");
  return found;
}

void run(const char *path) {
  {
    Handle<lath_store> store = open(path);
    write(store.get());
  }
  // As a later run finds it.
  Handle<lath_store> store = open(path);
  lath_snapshot *taken = nullptr;
  check(lath_store_snapshot(store.get(), &taken));
  Handle<lath_snapshot> snapshot(taken);
  expect(find(snapshot.get(), number(17, 123)) == 1, "a number that is there");
  expect(find(snapshot.get(), -5) == 0, "a number that is not");
  expect(lath_store_put(store.get(), nullptr, nullptr, 0, nullptr, 0) == LATH_STATUS_INVALID, "a null tree");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: keep FILE\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
