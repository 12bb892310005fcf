// Kernels of liblath beside Arrow C++, in one process, each called as a program calls it. Answers are compared before anything is
// measured. Prints the median of several rounds, in nanoseconds an operation, with the range.
//
//   bench/capi/run [--quick]
#include <arrow/buffer.h>
#include <arrow/util/config.h>
#include <lath.h>
#include <parquet/bloom_filter.h>
#include <parquet/encoding.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void check(lath_status status) {
  if (status == LATH_STATUS_OK) return;
  std::fprintf(stderr, "%s\n", lath_last_error_message());
  std::exit(1);
}

void expect(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "answers differ: %s\n", what);
  std::exit(1);
}

struct Settings {
  int rounds = 15;
  double seconds = 0.05;
};

// Nanoseconds of a call, divided by the operations that it does: least, median and greatest of the rounds.
struct Time {
  double least, median, greatest;
};

double seconds_of(const std::function<void()> &work, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; i++) work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Rounds of both alternate, so that whatever else the machine does meets both alike.
std::pair<Time, Time> measure(const Settings &settings, double operations, const std::function<void()> &lath,
                              const std::function<void()> &arrow) {
  const std::function<void()> *works[] = {&lath, &arrow};
  std::vector<double> times[2];
  int calls[2];
  for (int which = 0; which < 2; which++) {
    calls[which] = 1;
    while (seconds_of(*works[which], calls[which]) < settings.seconds) calls[which] *= 2;
  }
  for (int round = 0; round < settings.rounds; round++) {
    for (int which = 0; which < 2; which++) {
      times[which].push_back(seconds_of(*works[which], calls[which]) / calls[which] / operations * 1e9);
    }
  }
  Time answers[2];
  for (int which = 0; which < 2; which++) {
    auto &sorted = times[which];
    std::sort(sorted.begin(), sorted.end());
    answers[which] = {sorted.front(), sorted[sorted.size() / 2], sorted.back()};
  }
  return {answers[0], answers[1]};
}

void row(const std::string &name, const std::pair<Time, Time> &times, double bytes) {
  const auto &[lath, arrow] = times;
  char speed[64] = "";
  if (bytes > 0) std::snprintf(speed, sizeof speed, "%.2f / %.2f", bytes / lath.median, bytes / arrow.median);
  std::printf("| %s | %.3f (%.3f-%.3f) | %.3f (%.3f-%.3f) | %s | %.2f |\n", name.c_str(), lath.median, lath.least, lath.greatest,
              arrow.median, arrow.least, arrow.greatest, speed, arrow.median / lath.median);
  std::fflush(stdout);
}

// Half of the hashes asked for are in the filter.
void bloom(const Settings &settings, uint32_t filter_bytes) {
  std::mt19937_64 random(7);
  // Ten bits a value, as for one false positive in about a hundred.
  const size_t inserted = filter_bytes * 8 / 10;
  parquet::BlockSplitBloomFilter arrow;
  arrow.Init(filter_bytes);
  expect(arrow.GetBitsetSize() == filter_bytes, "the size of a filter");
  std::vector<uint8_t> lath(filter_bytes);
  std::vector<uint64_t> hashes(inserted);
  for (auto &hash : hashes) hash = random();
  for (const auto hash : hashes) arrow.InsertHash(hash);
  check(lath_bloom_insert(lath.data(), lath.size(), hashes.data(), hashes.size()));

  const size_t count = 4096;
  std::vector<uint64_t> asked(count);
  for (size_t i = 0; i < count; i++) asked[i] = i % 2 ? random() : hashes[random() % inserted];
  std::shuffle(asked.begin(), asked.end(), random);
  std::vector<uint64_t> found(count / 64);
  check(lath_bloom_check_many(lath.data(), lath.size(), asked.data(), count, found.data(), found.size()));
  for (size_t i = 0; i < count; i++) {
    bool one = false;
    check(lath_bloom_check(lath.data(), lath.size(), asked[i], &one));
    expect(one == arrow.FindHash(asked[i]), "one hash");
    expect(one == lath_bloom_has(lath.data(), lath.size(), asked[i]), "one hash, in the caller's code");
    expect(one == (found[i / 64] >> (i % 64) & 1), "many hashes");
  }
  // As a reader calls it, which knows a filter by its interface.
  const parquet::BloomFilter *filter = &arrow;
  volatile const parquet::BloomFilter *hidden = filter;
  filter = const_cast<const parquet::BloomFilter *>(hidden);
  volatile size_t sink = 0;
  const auto by_arrow = [&] {
    size_t hits = 0;
    for (const auto hash : asked) hits += filter->FindHash(hash);
    sink = hits;
  };
  const auto one_by_one = [&] {
    size_t hits = 0;
    for (const auto hash : asked) {
      bool one;
      lath_bloom_check(lath.data(), lath.size(), hash, &one);
      hits += one;
    }
    sink = hits;
  };
  const auto in_line = [&] {
    size_t hits = 0;
    for (const auto hash : asked) hits += lath_bloom_has(lath.data(), lath.size(), hash);
    sink = hits;
  };
  const auto all = [&] {
    lath_bloom_check_many(lath.data(), lath.size(), asked.data(), count, found.data(), found.size());
    sink = found[0];
  };
  const std::string size = filter_bytes >= 1 << 20 ? std::to_string(filter_bytes >> 20) + " MiB" : std::to_string(filter_bytes >> 10) + " KiB";
  row("Bloom, a hash a call, filter of " + size, measure(settings, count, one_by_one, by_arrow), 0);
  row("Bloom, a hash in the caller's code, filter of " + size, measure(settings, count, in_line, by_arrow), 0);
  row("Bloom, 4096 hashes a call, filter of " + size, measure(settings, count, all, by_arrow), 0);
}

template <typename T>
struct Delta;

template <>
struct Delta<int32_t> {
  using Type = parquet::Int32Type;
  static constexpr const char *name = "i32";
  static constexpr auto max_len = lath_delta_max_encoded_len_i32;
  static constexpr auto encode = lath_delta_encode_i32;
  static constexpr auto decode = lath_delta_decode_i32;
};

template <>
struct Delta<int64_t> {
  using Type = parquet::Int64Type;
  static constexpr const char *name = "i64";
  static constexpr auto max_len = lath_delta_max_encoded_len_i64;
  static constexpr auto encode = lath_delta_encode_i64;
  static constexpr auto decode = lath_delta_decode_i64;
};

// Values whose differences have about so many bits.
template <typename T>
std::vector<T> numbers(size_t count, int bits) {
  std::mt19937_64 random(bits);
  std::vector<T> values(count);
  T value = 1000000;
  for (auto &place : values) {
    place = value;
    value = static_cast<T>(static_cast<uint64_t>(value) + (random() >> (64 - bits)) - (uint64_t{1} << (bits - 1)));
  }
  return values;
}

template <typename T>
void delta(const Settings &settings, int bits) {
  using D = Delta<T>;
  const size_t count = 20000;
  const auto values = numbers<T>(count, bits);
  auto encoder = parquet::MakeTypedEncoder<typename D::Type>(parquet::Encoding::DELTA_BINARY_PACKED);
  encoder->Put(values.data(), static_cast<int>(count));
  const std::shared_ptr<arrow::Buffer> page = encoder->FlushValues();
  auto decoder = parquet::MakeTypedDecoder<typename D::Type>(parquet::Encoding::DELTA_BINARY_PACKED);

  // Each reads what the other has written.
  std::vector<T> back(count), other(count);
  std::vector<uint8_t> bytes(D::max_len(count));
  size_t written = 0, decoded = 0;
  check(D::encode(values.data(), count, bytes.data(), bytes.size(), &written));
  check(D::decode(page->data(), page->size(), back.data(), count, &decoded, nullptr));
  expect(decoded == count && back == values, "a page that Arrow has written");
  decoder->SetData(static_cast<int>(count), bytes.data(), static_cast<int>(written));
  expect(decoder->Decode(other.data(), static_cast<int>(count)) == static_cast<int>(count) && other == values,
         "a page that Lath has written");

  const std::string what = std::string("DELTA ") + D::name + ", differences of " + std::to_string(bits) + " bits";
  row(what + ", decode",
      measure(
          settings, count,
          [&] { D::decode(page->data(), page->size(), back.data(), count, &decoded, nullptr); },
          [&] {
            decoder->SetData(static_cast<int>(count), page->data(), static_cast<int>(page->size()));
            decoder->Decode(other.data(), static_cast<int>(count));
          }),
      sizeof(T));
  row(what + ", encode",
      measure(
          settings, count, [&] { D::encode(values.data(), count, bytes.data(), bytes.size(), &written); },
          [&] {
            encoder->Put(values.data(), static_cast<int>(count));
            encoder->FlushValues();
          }),
      sizeof(T));
}

}  // namespace

int main(int argc, char **argv) {
  Settings settings;
  if (argc > 1 && std::strcmp(argv[1], "--quick") == 0) settings = {3, 0.005};
  std::printf("Lath %s at %s, through C, beside Arrow C++ %s\n\n", lath_version(), lath_simd_tier(), ARROW_VERSION_STRING);
  std::printf("| what | Lath, ns | Arrow C++, ns | GB/s, Lath / Arrow | times as fast |\n");
  std::printf("| --- | --: | --: | --: | --: |\n");
  for (const uint32_t bytes : {4u << 10, 64u << 10, 1u << 20, 16u << 20}) bloom(settings, bytes);
  for (const int bits : {2, 8, 16, 27}) delta<int32_t>(settings, bits);
  for (const int bits : {2, 8, 20, 45}) delta<int64_t>(settings, bits);
  return 0;
}
