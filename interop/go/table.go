package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// readTable gives for each column its field and its values as JSON.
func readTable(path string) ([]string, error) {
	source, err := file.OpenParquetFile(path, false)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	reader, err := pqarrow.NewFileReader(source, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	table, err := reader.ReadTable(context.Background())
	if err != nil {
		return nil, err
	}
	defer table.Release()
	columns := make([]string, table.NumCols())
	for at := range columns {
		chunked := table.Column(at).Data()
		values := ""
		if len(chunked.Chunks()) > 0 {
			whole, err := array.Concatenate(chunked.Chunks(), memory.DefaultAllocator)
			if err != nil {
				return nil, err
			}
			// Value by value: a dictionary may have its entries in another order, and others than the rows have.
			for row := range whole.Len() {
				values += whole.ValueStr(row) + " "
			}
			whole.Release()
		}
		columns[at] = fmt.Sprintf("%v %d %s", table.Schema().Field(at), chunked.Len(), values)
	}
	return columns, nil
}
