// Counts rows of Parquet files by station and keeps the counts in a store. Ends with an error if an answer is wrong.
//
//	go run . FOLDER STORE
package main

/*
#cgo pkg-config: lath
#include <lath.h>
#include <stdlib.h>

// Go calls no pointers of functions.
static int next_batch(struct ArrowArrayStream *stream, struct ArrowArray *batch) { return stream->get_next(stream, batch); }
static const char *stream_error(struct ArrowArrayStream *stream) { return stream->get_last_error(stream); }
static void release_stream(struct ArrowArrayStream *stream) { stream->release(stream); }
static void release_batch(struct ArrowArray *batch) { batch->release(batch); }
static bool is_end(struct ArrowArray *batch) { return batch->release == NULL; }
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"runtime"
	"unsafe"
)

// call runs a function of Lath. Its text is of the thread that called it, so that the goroutine stays on that.
func call(function func() C.lath_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := function(); status != C.LATH_STATUS_OK {
		return fmt.Errorf("%s: %s", C.GoString(C.lath_status_name(C.int32_t(status))), C.GoString(C.lath_last_error_message()))
	}
	return nil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// bytes is where a slice lies, for the length of a call.
func bytes(slice []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(slice)) }

// countByStation reads the rows of a scan and counts them by their string column.
func countByStation(dataset *C.lath_dataset, filter string) map[string]uint64 {
	condition, column := C.CString(filter), C.CString("from")
	defer C.free(unsafe.Pointer(condition))
	defer C.free(unsafe.Pointer(column))
	// The structure leads to memory of C, as cgo asks.
	columns := (**C.char)(C.malloc(C.size_t(unsafe.Sizeof(column))))
	defer C.free(unsafe.Pointer(columns))
	*columns = column
	options := C.lath_scan_options{filter: condition, columns: columns, column_count: 1}
	stream := (*C.struct_ArrowArrayStream)(C.calloc(1, C.sizeof_struct_ArrowArrayStream))
	batch := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	defer C.free(unsafe.Pointer(stream))
	defer C.free(unsafe.Pointer(batch))
	must(call(func() C.lath_status { return C.lath_dataset_scan(dataset, &options, stream) }))
	defer C.release_stream(stream)
	counts := map[string]uint64{}
	for {
		if C.next_batch(stream, batch) != 0 {
			log.Fatal(C.GoString(C.stream_error(stream)))
		}
		if C.is_end(batch) {
			return counts
		}
		strings := *batch.children
		buffers := unsafe.Slice(strings.buffers, 3)
		offsets := unsafe.Slice((*int32)(buffers[1]), strings.offset+strings.length+1)[strings.offset:]
		for i := range offsets[1:] {
			text := unsafe.Slice((*byte)(unsafe.Add(buffers[2], offsets[i])), offsets[i+1]-offsets[i])
			counts[string(text)]++
		}
		C.release_batch(batch)
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: go run . FOLDER STORE")
	}
	location, path, tree := C.CString(os.Args[1]), C.CString(os.Args[2]), C.CString("trips by station")
	defer C.free(unsafe.Pointer(location))
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(tree))

	var dataset *C.lath_dataset
	locations := (**C.char)(C.malloc(C.size_t(unsafe.Sizeof(location))))
	defer C.free(unsafe.Pointer(locations))
	*locations = location
	must(call(func() C.lath_status { return C.lath_dataset_open(locations, 1, 0, &dataset) }))
	defer C.lath_dataset_free(dataset)
	counts := countByStation(dataset, "minutes > 20")

	var store *C.lath_store
	must(call(func() C.lath_status { return C.lath_store_open(path, C.LATH_STORE_DEFERRED, &store) }))
	defer C.lath_store_close(store)
	var transaction *C.lath_transaction
	must(call(func() C.lath_status { return C.lath_store_begin(store, true, &transaction) }))
	for station, count := range counts {
		key, value := []byte(station), binary.LittleEndian.AppendUint64(nil, count)
		must(call(func() C.lath_status {
			return C.lath_transaction_put(transaction, tree, bytes(key), C.size_t(len(key)), bytes(value), C.size_t(len(value)))
		}))
	}
	must(call(func() C.lath_status { return C.lath_transaction_commit(transaction) }))

	var kept uint64
	for station := range counts {
		key := []byte(station)
		var value C.lath_buffer
		must(call(func() C.lath_status {
			return C.lath_store_get(store, tree, bytes(key), C.size_t(len(key)), &value)
		}))
		if value.len != 8 {
			log.Fatalf("%s is not in the store", station)
		}
		kept += binary.LittleEndian.Uint64(C.GoBytes(unsafe.Pointer(value.data), C.int(value.len)))
		C.lath_buffer_free(&value)
	}
	condition := C.CString("minutes > 20 AND \"from\" IS NOT NULL")
	defer C.free(unsafe.Pointer(condition))
	var rows C.uint64_t
	must(call(func() C.lath_status { return C.lath_dataset_count(dataset, condition, &rows) }))
	if kept != uint64(rows) || kept == 0 {
		log.Fatalf("%d rows are kept, and %d are in the files", kept, rows)
	}
	// An error, with its text.
	wrong := C.CString("minutes >")
	defer C.free(unsafe.Pointer(wrong))
	if err := call(func() C.lath_status { return C.lath_dataset_count(dataset, wrong, &rows) }); err == nil {
		log.Fatal("half a condition is no condition")
	} else {
		fmt.Println("as expected:", err)
	}
	fmt.Printf("%d trips from %d stations\n", kept, len(counts))
}
