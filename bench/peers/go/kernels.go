package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

const count = 1 << 16

// kernels times every page in the folder and prints the best and the median seconds of a call.
func kernels(folder string, total time.Duration) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.page"))
	check(err)
	report := map[string][2]float64{}
	for _, path := range paths {
		page, err := os.ReadFile(path)
		check(err)
		values, err := os.ReadFile(strings.TrimSuffix(path, ".page") + ".values")
		check(err)
		name := strings.TrimSuffix(filepath.Base(path), ".page")
		report[name] = kernel(name, page, values, total)
	}
	check(json.NewEncoder(os.Stdout).Encode(report))
}

func kernel(name string, page, values []byte, total time.Duration) [2]float64 {
	var result [2]float64
	var decoded []byte
	var err error
	kind := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch {
	case kind("delta-i32"):
		out := make([]int32, count)
		result = measure(total, func() { out, err = new(delta.BinaryPackedEncoding).DecodeInt32(out, page) })
		decoded = raw(out)
	case kind("delta-i64"):
		out := make([]int64, count)
		result = measure(total, func() { out, err = new(delta.BinaryPackedEncoding).DecodeInt64(out, page) })
		decoded = raw(out)
	case kind("indices"):
		out := make([]int32, count)
		result = measure(total, func() { out, err = new(rle.DictionaryEncoding).DecodeInt32(out, page) })
		// The last group may be padded.
		decoded = raw(out[:count])
	case kind("split-f32"):
		out := make([]float32, count)
		result = measure(total, func() { out, err = new(bytestreamsplit.Encoding).DecodeFloat(out, page) })
		decoded = raw(out)
	case kind("split-f64"):
		out := make([]float64, count)
		result = measure(total, func() { out, err = new(bytestreamsplit.Encoding).DecodeDouble(out, page) })
		decoded = raw(out)
	case kind("length-strings"):
		out, offsets := make([]byte, len(values)), make([]uint32, count+1)
		result = measure(total, func() {
			out, offsets, err = new(delta.LengthByteArrayEncoding).DecodeByteArray(out, page, offsets)
		})
		decoded = out
	case kind("prefix-strings"):
		out, offsets := make([]byte, len(values)), make([]uint32, count+1)
		result = measure(total, func() {
			out, offsets, err = new(delta.ByteArrayEncoding).DecodeByteArray(out, page, offsets)
		})
		decoded = out
	case kind("count"):
		newline, found := []byte{'\n'}, 0
		result = measure(total, func() { found = bytes.Count(page, newline) })
		decoded = []byte(strconv.Itoa(found))
	case kind("encode-indices"):
		src, encoded := cast[int32](page), []byte(nil)
		result = measure(total, func() { encoded, err = new(rle.DictionaryEncoding).EncodeInt32(encoded[:0], src) })
		check(err)
		var out []int32
		out, err = new(rle.DictionaryEncoding).DecodeInt32(make([]int32, count), encoded)
		decoded = raw(out[:count])
	case kind("encode-delta-i32"):
		src, encoded := cast[int32](page), []byte(nil)
		result = measure(total, func() { encoded, err = new(delta.BinaryPackedEncoding).EncodeInt32(encoded[:0], src) })
		check(err)
		var out []int32
		out, err = new(delta.BinaryPackedEncoding).DecodeInt32(make([]int32, count), encoded)
		decoded = raw(out)
	case kind("encode-delta-i64"):
		src, encoded := cast[int64](page), []byte(nil)
		result = measure(total, func() { encoded, err = new(delta.BinaryPackedEncoding).EncodeInt64(encoded[:0], src) })
		check(err)
		var out []int64
		out, err = new(delta.BinaryPackedEncoding).DecodeInt64(make([]int64, count), encoded)
		decoded = raw(out)
	default:
		err = fmt.Errorf("no decoder for %s", name)
	}
	check(err)
	if !bytes.Equal(decoded, values) {
		check(fmt.Errorf("parquet-go decodes %s to other values", name))
	}
	return result
}

func raw[T int32 | int64 | float32 | float64](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(values[0])))
}

// cast copies, so that the values are aligned.
func cast[T int32 | int64](bytes []byte) []T {
	values := make([]T, count)
	copy(raw(values), bytes)
	return values
}

// measure takes many short samples, as the Rust side does.
func measure(total time.Duration, work func()) [2]float64 {
	work()
	start := time.Now()
	work()
	once := max(time.Since(start).Seconds(), 1e-9)
	calls := int(100e-6/once) + 1
	var samples []float64
	for begin := time.Now(); time.Since(begin) < total || len(samples) < 20; {
		start := time.Now()
		for range calls {
			work()
		}
		samples = append(samples, time.Since(start).Seconds()/float64(calls))
	}
	slices.Sort(samples)
	return [2]float64{samples[0], samples[len(samples)/2]}
}
