// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command inventory writes the modules in the built distribution as a CycloneDX document. It reads the list of modules that the
// Go linker writes into the binary, and licences from the module cache. The output is the same for the same binary. A module with
// an unknown licence, or without one, is an error.
package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	binary := flag.String("binary", "_build/full/otelcol-pprof", "the built distribution")
	source := flag.String("source", "_build/full", "the directory of its main module, to find the modules in the module cache")
	flag.Parse()
	if err := run(context.Background(), *binary, *source, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "inventory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, source string, out io.Writer) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("cannot read what %s is made of: %w", binary, err)
	}
	modules, err := collect(ctx, info, source)
	if err != nil {
		return err
	}
	return writeSBOM(out, info, modules)
}

// module is a third-party module in the binary.
type module struct {
	path, version, sum string
	licences           []string
}

// ours is the prefix of the modules of this repository.
const ours = "github.com/otelpprof/otelpprof"

// collect returns the modules that are linked into the binary, without those of this repository, sorted by path.
func collect(ctx context.Context, info *buildinfo.BuildInfo, source string) ([]module, error) {
	directories, err := directories(ctx, source)
	if err != nil {
		return nil, err
	}
	var modules []module
	for _, dependency := range info.Deps {
		if strings.HasPrefix(dependency.Path, ours) {
			continue
		}
		m := module{path: dependency.Path, version: dependency.Version, sum: dependency.Sum}
		if dependency.Replace != nil {
			return nil, fmt.Errorf("cannot tell the licence of %s: it is replaced", m.path)
		}
		if m.licences, err = licencesIn(directories[m.path+"@"+m.version]); err != nil {
			return nil, fmt.Errorf("cannot tell the licence of %s %s: %w", m.path, m.version, err)
		}
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return modules, nil
}

// directories returns the directories in the module cache of the modules that the main module needs, by path@version.
func directories(ctx context.Context, source string) (map[string]string, error) {
	const format = "{{with .Module}}{{.Path}}@{{.Version}}\t{{.Dir}}{{end}}"
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, ".")
	command.Dir = source
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the modules of %s: %w", source, err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(output)) {
		module, directory, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found[module] = directory
	}
	return found, nil
}
