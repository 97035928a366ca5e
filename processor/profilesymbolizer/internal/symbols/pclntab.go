// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

var errPclntab = fmt.Errorf("%w: its table of Go's functions", elffile.ErrMalformed)

// The first bytes of a table.
const (
	magic118 = 0xfffffff0
	magic120 = 0xfffffff1
)

// pclntab is the table of functions that each Go program has, also without debug information: functions, inlined functions, files and lines.
// It is that of Go 1.18 and later, with inlined functions from Go 1.20 on.
type pclntab struct {
	data    []byte
	order   binary.ByteOrder
	magic   uint32
	quantum uint64
	word    int

	functions                          uint64
	names, units, files, steps, bodies []byte

	// text is the address to which those of functions are relative, inline where the inlined calls are.
	text   uint64
	inline []byte

	builder *index.Builder
	memory  *meter.Meter
	// paths are those of files that are in the index already.
	paths map[uint32]uint32

	// What belongs to the function that is read. The memory is used again for the next.
	lineSteps, fileSteps, callSteps []step
	entry                           uint64
	unit                            uint32
	tree                            []byte
	root                            uint32
	nodes                           map[int32]uint32
}

// addPclntab adds the functions of a Go program. A file without a table adds none.
func addPclntab(file *elffile.File, builder *index.Builder, memory *meter.Meter) error {
	i := slices.IndexFunc(file.Sections, func(s elffile.Section) bool { return s.HasData() && strings.HasSuffix(s.Name, ".gopclntab") })
	if i < 0 {
		return nil
	}
	s := &file.Sections[i]
	data, err := file.Data(s)
	if err != nil {
		return err
	}
	t := &pclntab{data: data, order: file.Order, builder: builder, memory: memory, paths: map[uint32]uint32{}}
	if err := t.readHeader(); err != nil {
		return err
	}
	if err := t.locate(file, s.Addr); err != nil {
		return err
	}
	err = t.readFunctions()
	_ = memory.Use(-int64(len(t.data)) - int64(len(t.inline)))
	return err
}

// readHeader reads where the parts of the table are.
func (t *pclntab) readHeader() error {
	if len(t.data) < 8 {
		return errPclntab
	}
	t.magic, t.quantum, t.word = t.order.Uint32(t.data), uint64(t.data[6]), int(t.data[7])
	if t.magic != magic118 && t.magic != magic120 {
		return fmt.Errorf("%w begins with %#x", errPclntab, t.magic)
	}
	if t.word != 4 && t.word != 8 || len(t.data) < 8+8*t.word || t.quantum == 0 {
		return errPclntab
	}
	header := func(i int) uint64 { return t.number(t.data[8+i*t.word:]) }
	t.functions, t.text = header(0), header(2)
	for i, part := range []*[]byte{&t.names, &t.units, &t.files, &t.steps, &t.bodies} {
		offset := header(3 + i)
		if offset > uint64(len(t.data)) {
			return errPclntab
		}
		*part = t.data[offset:]
	}
	if t.functions >= uint64(len(t.bodies))/8 {
		return errPclntab
	}
	return nil
}

func (t *pclntab) number(b []byte) uint64 {
	if t.word == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// The positions of fields in runtime.moduledata, in words.
const (
	moduleText      = 22
	moduleInline120 = 40
	moduleWords     = moduleInline120 + 1
)

// locate finds what only the data of the runtime say. Without them there are no inlined functions.
func (t *pclntab) locate(file *elffile.File, address uint64) error {
	module, err := t.module(file, address)
	if err != nil {
		return err
	}
	if module == nil {
		if t.text == 0 { // Since Go 1.26. Where a C linker has linked the program, this is wrong.
			if s := file.Section(".text"); s != nil {
				t.text = s.Addr
			}
		}
		return nil
	}
	t.text = t.number(module[moduleText*t.word:])
	if t.magic == magic118 {
		return nil // The entries of inlined functions have another form.
	}
	inline := t.number(module[moduleInline120*t.word:])
	for i := range file.Sections {
		if s := &file.Sections[i]; s.HasData() && s.Addr <= inline && inline-s.Addr < s.Size {
			data, err := file.Data(s)
			if err == nil && inline-s.Addr < uint64(len(data)) {
				t.inline = data[inline-s.Addr:]
			}
			return err
		}
	}
	return nil
}

// module finds runtime.moduledata: its first word is the address of the table.
func (t *pclntab) module(file *elffile.File, address uint64) ([]byte, error) {
	for _, name := range []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"} {
		s := file.Section(name)
		if s == nil {
			continue
		}
		data, err := file.Data(s)
		if err != nil {
			return nil, err
		}
		for ; len(data) >= moduleWords*t.word; data = data[t.word:] {
			if t.number(data) == address && t.number(data[t.word:]) != 0 {
				return data, nil
			}
		}
	}
	return nil, nil
}

// step is a part of a function in which a value holds.
type step struct {
	end   uint64 // relative to the function
	value int32
}

// readSteps appends the steps of a table of values of a function.
func (t *pclntab) readSteps(steps []step, offset uint32) ([]step, error) {
	if uint64(offset) >= uint64(len(t.steps)) {
		return steps, errPclntab
	}
	data, value, end := t.steps[offset:], int32(-1), uint64(0)
	for first := true; ; first = false {
		change, n := binary.Uvarint(data)
		if n <= 0 {
			return steps, errPclntab
		}
		if change == 0 && !first {
			return steps, nil
		}
		data = data[n:]
		size, n := binary.Uvarint(data)
		if n <= 0 {
			return steps, errPclntab
		}
		data = data[n:]
		value += int32(-(uint32(change) & 1) ^ uint32(change)>>1)
		if end += size * t.quantum; end > 1<<32 {
			return steps, errPclntab
		}
		if steps = append(steps, step{end, value}); len(steps) > maxSteps {
			return steps, errPclntab
		}
	}
}

// maxSteps limits the steps of one table of a function.
const maxSteps = 1 << 20

// at returns the value at an address of the function, or -1.
func at(steps []step, address uint64) int32 {
	i := sort.Search(len(steps), func(i int) bool { return steps[i].end > address })
	if i == len(steps) {
		return -1
	}
	return steps[i].value
}
