// Reads pairs of files with parquet-go and arrow-go, and says whether each pair holds the same table.
//
//	check FOLDER
//
// FOLDER has CASE.lath.parquet and CASE.reference.parquet, the same table as written by Lath and by the `parquet` crate.
// A reader that cannot read the reference does not know its types or encodings; one that reads it and not Lath's file, or reads another
// table from it, has found a fault. Prints one line a reader and fault; exits with 1 if there are faults.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// reader reads a file to something that prints the same for the same table.
type reader struct {
	name string
	read func(path string) ([]string, error)
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check FOLDER")
		os.Exit(2)
	}
	references, _ := filepath.Glob(filepath.Join(os.Args[1], "*.reference.parquet"))
	if len(references) == 0 {
		fmt.Fprintln(os.Stderr, "check: no cases in", os.Args[1])
		os.Exit(1)
	}
	faults := 0
	for _, reader := range []reader{{"parquet-go", readLeaves}, {"arrow-go", readTable}} {
		faults += compare(reader, references)
	}
	if faults > 0 {
		os.Exit(1)
	}
}

func compare(reader reader, references []string) int {
	faults, equal := 0, 0
	var unknown []string
	for _, reference := range references {
		base := strings.TrimSuffix(reference, ".reference.parquet")
		name := filepath.Base(base)
		expected, err := guarded(reader.read, reference)
		if err != nil {
			unknown = append(unknown, name)
			continue
		}
		found, err := guarded(reader.read, base+".lath.parquet")
		switch {
		case err != nil:
			fmt.Printf("%s: %s: cannot read Lath's file: %v\n", reader.name, name, err)
			faults++
		case difference(found, expected) != "":
			fmt.Printf("%s: %s: reads another table from Lath's file: %s\n", reader.name, name, difference(found, expected))
			faults++
		default:
			equal++
		}
	}
	note := ""
	if len(unknown) > 0 {
		note = "; does not know what is in " + strings.Join(unknown, ", ")
	}
	fmt.Printf("%s: %d of %d equal%s\n", reader.name, equal, len(references), note)
	if equal == 0 {
		fmt.Printf("%s: read nothing at all\n", reader.name)
		faults++
	}
	return faults
}

// guarded makes errors of the panics with which readers answer what they do not know.
func guarded(read func(string) ([]string, error), path string) (values []string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return read(path)
}

// difference shows the start of the first column that is not the same.
func difference(found, expected []string) string {
	if len(found) != len(expected) {
		return fmt.Sprintf("%d columns, not %d", len(found), len(expected))
	}
	for i := range found {
		if found[i] != expected[i] {
			return fmt.Sprintf("%.100s, not %.100s", found[i], expected[i])
		}
	}
	return ""
}
