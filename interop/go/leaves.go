package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// readLeaves gives for each leaf its path, the count of its values, and a hash over their levels and bytes.
func readLeaves(path string) ([]string, error) {
	source, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	stat, err := source.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(source, stat.Size())
	if err != nil {
		return nil, err
	}
	columns := file.Schema().Columns()
	leaves := make([]string, len(columns))
	for at, column := range columns {
		if misread(file, at) {
			leaves[at] = fmt.Sprintf("%v not compared", column)
			continue
		}
		hash, count := fnv.New64a(), 0
		values := make([]parquet.Value, 1024)
		for _, group := range file.RowGroups() {
			pages := group.ColumnChunks()[at].Pages()
			for {
				page, err := pages.ReadPage()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					pages.Close()
					return nil, err
				}
				reader := page.Values()
				for {
					n, err := reader.ReadValues(values)
					for _, value := range values[:n] {
						fmt.Fprintf(hash, "%d %d %d %x\n", value.RepetitionLevel(), value.DefinitionLevel(), value.Kind(), value.Bytes())
					}
					count += n
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						pages.Close()
						return nil, err
					}
				}
				parquet.Release(page)
			}
			pages.Close()
		}
		leaves[at] = fmt.Sprintf("%v %d %x", column, count, hash.Sum64())
	}
	return leaves, nil
}

// misread says whether parquet-go 0.32 reads wrong values from a leaf, whoever wrote it: zeros from LZ4_RAW blocks that did
// not shrink, and some values of booleans in RLE.
func misread(file *parquet.File, leaf int) bool {
	for _, group := range file.Metadata().RowGroups {
		chunk := group.Columns[leaf].MetaData
		isRLE := chunk.Type == format.Boolean && !slices.Contains(chunk.Encoding, format.Plain)
		if chunk.Codec == format.Lz4Raw || isRLE {
			return true
		}
	}
	return false
}
