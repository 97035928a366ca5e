// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command inventory lists the modules in the built distribution: `make licences` writes a table with their licences,
// `make sbom` a CycloneDX document. It reads the list of modules that the Go linker writes into the binary, and licences
// from the module cache. The output is the same for the same binary. A module with an unknown licence, or without one, is
// an error.
package main

import (
	"context"
	"debug/buildinfo"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	binary := flag.String("binary", "_build/full/otelcol-pprof", "the built distribution")
	source := flag.String("source", "_build/full", "the directory of its main module, to find the modules in the module cache")
	sbom := flag.Bool("sbom", false, "write CycloneDX JSON in place of a table in Markdown")
	flag.Parse()
	if err := run(context.Background(), *binary, *source, *sbom, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "inventory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, source string, sbom bool, out io.Writer) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("cannot read what %s is made of: %w", binary, err)
	}
	modules, err := collect(ctx, info, source)
	if err != nil {
		return err
	}
	if sbom {
		return writeSBOM(out, info, modules)
	}
	return writeList(out, modules)
}
