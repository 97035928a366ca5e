// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command cmd writes the profiles of testdata/pprof. A file whose content would be the same stays as it is, whatever
// the compressor of this version of Go makes of it.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: cmd folder")
		os.Exit(2)
	}
	for _, kind := range gen.Kinds() {
		if err := write(filepath.Join(os.Args[1], kind.Name+".pb.gz"), kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(path string, kind gen.Kind) error {
	var plain, compressed bytes.Buffer
	if err := kind.Make().WriteUncompressed(&plain); err != nil {
		return fmt.Errorf("cannot encode %s: %w", kind.Name, err)
	}
	if bytes.Equal(content(path), plain.Bytes()) {
		return nil
	}
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := writer.Write(plain.Bytes()); err != nil {
		return fmt.Errorf("cannot compress %s: %w", kind.Name, err)
	}
	if err := writer.Close(); err != nil {
		return fmt.Errorf("cannot compress %s: %w", kind.Name, err)
	}
	return os.WriteFile(path, compressed.Bytes(), 0o644)
}

// content returns what the file holds, nil where there is no such file or it cannot be read: then it is written anew.
func content(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		return nil
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return nil
	}
	return plain
}
