// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package symbols makes the index of a binary, of all that the binary has: DWARF, Go's table of functions, and tables of symbols.
package symbols // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/symbols"

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/debuginfo"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// Result is what an index was made of.
type Result struct {
	Quality index.Quality
	// Debug counts what of DWARF was not read.
	Debug debuginfo.Stats
}

// errPanic says that a file made a reader panic: that is a defect, but ends this file only.
var errPanic = errors.New("a reader of symbols has panicked")

// Build writes the index of a file. memory counts what the work allocates.
func Build(file *elffile.File, w io.WriterAt, memory *meter.Meter) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	code, segments := codeOf(file)
	builder, err := index.NewBuilder(code, segments, memory)
	if err != nil {
		return result, err
	}
	if result.Debug, err = addDebugInfo(file, builder, memory); err != nil {
		return result, err
	}
	if !builder.HasRanges(index.LayerDebug) {
		if err := keep(addPclntab(file, builder, memory), memory); err != nil {
			return result, err
		}
	}
	if err := addSymbols(file, builder, memory); err != nil {
		return result, err
	}
	result.Quality, err = builder.WriteTo(w)
	return result, err
}

// keep drops an error of a part of a file, so that the other parts are read. Those of the meter end the work.
func keep(err error, memory *meter.Meter) error {
	if memory.Err() != nil {
		return memory.Err()
	}
	if errors.Is(err, elffile.ErrMalformed) {
		return nil
	}
	return err
}

// codeOf returns the code segments of a file, and where its code is: its sections, or these segments if it has none.
func codeOf(file *elffile.File) (code []index.Area, segments []index.Segment) {
	const executable = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	add := func(address, size uint64) {
		if address+size > address {
			code = append(code, index.Area{Low: address, High: address + size})
		}
	}
	for _, s := range file.Sections {
		if s.Flags&executable == executable {
			add(s.Addr, s.Size)
		}
	}
	hasSections := len(code) > 0
	for _, s := range file.Segments {
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
			continue
		}
		segments = append(segments, index.Segment{Offset: s.Off, Address: s.Vaddr, FileSize: s.Filesz, MemorySize: s.Memsz})
		if !hasSections {
			add(s.Vaddr, s.Memsz)
		}
	}
	return code, segments
}

// addDebugInfo adds what DWARF says. A section that is malformed is as one that is missing.
func addDebugInfo(file *elffile.File, builder *index.Builder, memory *meter.Meter) (debuginfo.Stats, error) {
	sections, size := debuginfo.Sections{Order: file.Order}, int64(0)
	for name, target := range map[string]*[]byte{
		"info": &sections.Info, "abbrev": &sections.Abbrev, "line": &sections.Line, "str": &sections.Str, "line_str": &sections.LineStr,
		"str_offsets": &sections.StrOffsets, "addr": &sections.Addr, "ranges": &sections.Ranges, "rnglists": &sections.RngLists,
	} {
		data, err := file.DebugData(name)
		if err := keep(err, memory); err != nil {
			return debuginfo.Stats{}, err
		}
		*target = data
		size += int64(len(data))
	}
	if len(sections.Info) == 0 {
		return debuginfo.Stats{}, nil
	}
	stats, err := debuginfo.Read(sections, builder, memory)
	_ = memory.Use(-size) // The sections are garbage now.
	return stats, err
}
