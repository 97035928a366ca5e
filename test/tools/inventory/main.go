// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command inventory tells what the built distribution is made of: `make licences` writes a table of its modules with their
// licences, `make sbom` the same for programs, as CycloneDX. It reads the list that the Go linker puts into the binary, and
// the licence of each module from the module cache. Both are the same for the same binary. A module whose licence it does
// not know, or that has none, is an error.
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
	binary := flag.String("binary", "_build/otelcol-pprof", "the built distribution")
	source := flag.String("source", "_build", "the directory of its main module, which knows where its modules are")
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
	return writeTable(out, info, modules)
}
