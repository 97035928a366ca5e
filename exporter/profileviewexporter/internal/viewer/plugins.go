// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"flag"
	"io"

	"github.com/google/pprof/driver"
)

// noFiles refuses to open files.
type noFiles struct{}

func (noFiles) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoFiles
}

func (noFiles) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) { return nil, errNoFiles }

// noOutput refuses to write files.
type noOutput struct{}

func (noOutput) Open(string) (io.WriteCloser, error) { return nil, errNoFiles }

// flags is a command line for google/pprof.
type flags struct {
	*flag.FlagSet
	arguments []string
}

func newFlags(arguments ...string) *flags {
	set := flag.NewFlagSet("viewer", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return &flags{FlagSet: set, arguments: arguments}
}

// StringList returns a repeatable flag. It is never given.
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
