// Bloom filters of liblath, through cgo, beside those of arrow-go and parquet-go, in one process. Answers are compared before anything is
// measured. Prints the median of several rounds, in nanoseconds a hash, with the range.
//
//	bench/capi/run [--quick]
package main

/*
#cgo pkg-config: lath
#include <lath.h>
*/
import "C"

import (
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/parquet-go/parquet-go/bloom"
)

func insertLath(bitset []byte, hashes []uint64) {
	status := C.lath_bloom_insert(
		(*C.uint8_t)(unsafe.SliceData(bitset)), C.size_t(len(bitset)), (*C.uint64_t)(unsafe.SliceData(hashes)), C.size_t(len(hashes)))
	if status != C.LATH_STATUS_OK {
		log.Fatal("hashes are not inserted")
	}
}

// As docs/embedding.md has it for arrow-go.
func checkBulkLath(bitset []byte, hashes []uint64, results []bool) {
	words := make([]uint64, (len(hashes)+63)/64)
	status := C.lath_bloom_check_many(
		(*C.uint8_t)(unsafe.SliceData(bitset)), C.size_t(len(bitset)),
		(*C.uint64_t)(unsafe.SliceData(hashes)), C.size_t(len(hashes)),
		(*C.uint64_t)(unsafe.SliceData(words)), C.size_t(len(words)))
	for word, bits := range words {
		part := results[64*word : min(64*word+64, len(hashes))]
		for i := range part {
			part[i] = status != C.LATH_STATUS_OK || bits&1 == 1
			bits >>= 1
		}
	}
}

// What arrow-go's filters have besides what their type says.
type bulk interface{ CheckBulk(hashes []uint64) []bool }

type settings struct {
	rounds   int
	shortest time.Duration
}

// Rounds of all alternate, so that whatever else the machine does meets all alike.
func (s settings) measure(operations int, works ...func()) [][]float64 {
	calls, times := make([]int, len(works)), make([][]float64, len(works))
	round := func(which int) time.Duration {
		started := time.Now()
		for range calls[which] {
			works[which]()
		}
		return time.Since(started)
	}
	for which := range works {
		for calls[which] = 1; round(which) < s.shortest; {
			calls[which] *= 2
		}
	}
	for range s.rounds {
		for which := range works {
			times[which] = append(times[which], float64(round(which))/float64(calls[which]*operations))
		}
	}
	for _, of := range times {
		slices.Sort(of)
	}
	return times
}

func row(what string, times [][]float64) {
	fmt.Printf("| %s |", what)
	median := func(of []float64) float64 { return of[len(of)/2] }
	for _, of := range times {
		fmt.Printf(" %.3f (%.3f-%.3f) |", median(of), of[0], of[len(of)-1])
	}
	fmt.Printf(" %.2f | %.2f |\n", median(times[1])/median(times[0]), median(times[2])/median(times[0]))
}

// Half of the hashes asked for are in the filter.
func (s settings) compare(bytes, count int) {
	random := rand.New(rand.NewPCG(7, uint64(bytes)))
	// Ten bits a value, as for one false positive in about a hundred.
	inserted := make([]uint64, bytes*8/10)
	for i := range inserted {
		inserted[i] = random.Uint64()
	}
	lath, ofParquetGo := make([]byte, bytes), bloom.MakeSplitBlockFilter(make([]byte, bytes))
	ofArrow := metadata.NewBloomFilter(uint32(bytes), uint32(bytes), memory.DefaultAllocator)
	insertLath(lath, inserted)
	ofArrow.InsertBulk(inserted)
	ofParquetGo.InsertBulk(inserted)
	if !slices.Equal(lath, ofParquetGo.Bytes()) || ofArrow.Size() != int64(bytes) {
		log.Fatal("filters differ")
	}

	asked := make([]uint64, count)
	for i := range asked {
		asked[i] = random.Uint64()
		if random.IntN(2) == 0 {
			asked[i] = inserted[random.IntN(len(inserted))]
		}
	}
	results := make([]bool, count)
	byLath := func() { checkBulkLath(lath, asked, results) }
	arrow := ofArrow.(bulk)
	byArrow := func() { results = arrow.CheckBulk(asked) }
	byParquetGo := func() {
		for i, hash := range asked {
			results[i] = ofParquetGo.Check(hash)
		}
	}
	var answers [3][]bool
	for i, work := range []func(){byLath, byArrow, byParquetGo} {
		work()
		answers[i] = slices.Clone(results)
	}
	if !slices.Equal(answers[0], answers[1]) || !slices.Equal(answers[0], answers[2]) {
		log.Fatal("answers differ")
	}
	size := fmt.Sprintf("filter of %d KiB", bytes>>10)
	row(fmt.Sprintf("check, %d hashes a call, %s", count, size), s.measure(count, byLath, byArrow, byParquetGo))
	if count < 4096 {
		return
	}
	row(fmt.Sprintf("insert, %d hashes a call, %s", count, size), s.measure(count,
		func() { insertLath(lath, asked) },
		func() { ofArrow.InsertBulk(asked) },
		func() { ofParquetGo.InsertBulk(asked) }))
}

func main() {
	s := settings{15, 50 * time.Millisecond}
	if len(os.Args) > 1 && os.Args[1] == "--quick" {
		s = settings{3, 5 * time.Millisecond}
	}
	versions := map[string]string{}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			versions[module.Path] = module.Version
		}
	}
	fmt.Printf("Lath %s at %s, through cgo, beside arrow-go %s and parquet-go %s\n\n", C.GoString(C.lath_version()), C.GoString(C.lath_simd_tier()),
		versions["github.com/apache/arrow-go/v18"], versions["github.com/parquet-go/parquet-go"])
	fmt.Println("| Bloom filters | Lath, ns | arrow-go, ns | parquet-go, ns | times as fast as arrow-go | as parquet-go |")
	fmt.Println("| --- | --: | --: | --: | --: | --: |")
	for _, bytes := range []int{4 << 10, 64 << 10, 1 << 20, 16 << 20} {
		for _, count := range []int{256, 4096} {
			s.compare(bytes, count)
		}
	}
}
