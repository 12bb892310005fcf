package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/parquet-go/parquet-go"
)

type decoded struct {
	Version    string    `json:"version"`
	Rows       int64     `json:"rows"`
	Seconds    []float64 `json:"seconds"`
	CPUSeconds []float64 `json:"cpu_seconds"`
}

func decode(path string, threads, repetitions int) {
	runtime.GOMAXPROCS(threads)
	result := decoded{Version: version()}
	for range repetitions {
		start, cpuStart := time.Now(), cpuSeconds()
		result.Rows = decodeFile(path, threads)
		result.Seconds = append(result.Seconds, time.Since(start).Seconds())
		result.CPUSeconds = append(result.CPUSeconds, cpuSeconds()-cpuStart)
	}
	check(json.NewEncoder(os.Stdout).Encode(result))
}

// cpuSeconds is what all threads of this process have used, the garbage collector's too.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/parquet-go/parquet-go" {
			return module.Version
		}
	}
	return "unknown"
}

// decodeFile reads every column chunk on as many goroutines as there are threads, and counts the rows.
func decodeFile(path string, threads int) int64 {
	source, err := os.Open(path)
	check(err)
	defer source.Close()
	stat, err := source.Stat()
	check(err)
	file, err := parquet.OpenFile(source, stat.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	check(err)

	chunks := make(chan parquet.ColumnChunk)
	var workers sync.WaitGroup
	for range threads {
		workers.Go(func() {
			values := make([]parquet.Value, 4096)
			for chunk := range chunks {
				decodeChunk(chunk, values)
			}
		})
	}
	var rows int64
	for _, group := range file.RowGroups() {
		rows += group.NumRows()
		for _, chunk := range group.ColumnChunks() {
			chunks <- chunk
		}
	}
	close(chunks)
	workers.Wait()
	return rows
}

func decodeChunk(chunk parquet.ColumnChunk, values []parquet.Value) {
	pages := chunk.Pages()
	defer pages.Close()
	var seen int64
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		reader := page.Values()
		for {
			n, err := reader.ReadValues(values)
			seen += int64(n)
			if errors.Is(err, io.EOF) {
				break
			}
			check(err)
		}
		parquet.Release(page)
	}
	if seen != chunk.NumValues() {
		check(errors.New("parquet-go read another number of values than the chunk has"))
	}
}
