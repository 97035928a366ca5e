// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"flag"
	"io"

	"github.com/google/pprof/driver"
)

// noFiles opens nothing.
type noFiles struct{}

func (noFiles) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoFiles
}

func (noFiles) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) { return nil, errNoFiles }

// noOutput writes nothing.
type noOutput struct{}

func (noOutput) Open(string) (io.WriteCloser, error) { return nil, errNoFiles }

// flags are a command line of google/pprof.
type flags struct {
	*flag.FlagSet
	arguments []string
}

func newFlags(arguments ...string) *flags {
	set := flag.NewFlagSet("viewer", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return &flags{FlagSet: set, arguments: arguments}
}

// StringList is a flag that can come several times; here it never does.
func (f *flags) StringList(name, value, usage string) *[]*string {
	return &[]*string{f.String(name, value, usage)}
}

func (f *flags) ExtraUsage() string   { return "" }
func (f *flags) AddExtraUsage(string) {}

func (f *flags) Parse(usage func()) []string {
	f.Usage = usage
	if err := f.FlagSet.Parse(f.arguments); err != nil {
		return nil
	}
	return f.Args()
}
