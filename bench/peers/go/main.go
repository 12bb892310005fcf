// Decodes with parquet-go what the Lath benchmarks decode, and prints one line of JSON.
//
//	peer decode FILE THREADS REPETITIONS    a whole file: every value of every page
//	peer kernels FOLDER MILLISECONDS       the encoded pages that the kernel benchmarks left in FOLDER
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == "decode" {
		decode(os.Args[2], number(os.Args[3]), number(os.Args[4]))
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "kernels" {
		kernels(os.Args[2], time.Duration(number(os.Args[3]))*time.Millisecond)
		return
	}
	fmt.Fprintln(os.Stderr, "usage: peer decode FILE THREADS REPETITIONS | peer kernels FOLDER MILLISECONDS")
	os.Exit(2)
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
