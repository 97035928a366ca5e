// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"cmp"
	"debug/elf"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// symbol is one of a table of symbols.
type symbol struct {
	address, size uint64
	name          uint64
	rank          int
}

// symbolBytes is the memory of a symbol, also while the list grows.
const symbolBytes = 3 * 32

// addSymbols adds the tables of symbols: the full one, or else that of dynamic linking and the one in .gnu_debugdata, which have what the
// other has not.
func addSymbols(file *elffile.File, builder *index.Builder, memory *meter.Meter) error {
	full, err := addTable(file, elf.SHT_SYMTAB, builder, memory)
	if err := keep(err, memory); err != nil || full {
		return err
	}
	_, err = addTable(file, elf.SHT_DYNSYM, builder, memory)
	if err := keep(err, memory); err != nil {
		return err
	}
	embedded, err := file.Embedded()
	if err := keep(err, memory); err != nil || embedded == nil {
		return err
	}
	_, err = addTable(embedded, elf.SHT_SYMTAB, builder, memory)
	return keep(err, memory)
}

// addTable adds the functions of the first table of a type, and reports whether there is one.
func addTable(file *elffile.File, kind elf.SectionType, builder *index.Builder, memory *meter.Meter) (bool, error) {
	i := slices.IndexFunc(file.Sections, func(s elffile.Section) bool { return s.Type == kind })
	if i < 0 || int64(file.Sections[i].Link) >= int64(len(file.Sections)) {
		return false, nil
	}
	table, err := file.Data(&file.Sections[i])
	if err != nil {
		return false, err
	}
	texts, err := file.Data(&file.Sections[file.Sections[i].Link])
	if err != nil {
		return false, err
	}
	symbols, err := readSymbols(file, table, builder, memory)
	if err != nil {
		return false, err
	}
	for i, s := range symbols {
		end := builder.CodeEnd(s.address)
		if i+1 < len(symbols) {
			end = min(end, symbols[i+1].address)
		}
		if s.size > 0 && s.size < end-s.address {
			end = s.address + s.size
		}
		text := elffile.Text(texts, s.name)
		if err := memory.Advance(int64(len(text))); err != nil { // Many symbols can share a long name.
			return false, err
		}
		// Some symbols have a version, such as f@GLIBC_2.2.5.
		if name, _, _ := strings.Cut(text, "@"); name != "" {
			function := builder.Linked(name, "", 0)
			builder.Range(index.LayerSymbols, s.address, end, builder.Node(function, 0, index.Place{}))
		}
	}
	_ = memory.Use(-symbolBytes*int64(len(symbols)) - int64(len(table)) - int64(len(texts)))
	return true, builder.Err()
}

// rank orders the symbols of one address: global, weak, local.
func rank(binding elf.SymBind) int {
	switch binding {
	case elf.STB_GLOBAL:
		return 2
	case elf.STB_WEAK:
		return 1
	}
	return 0
}

// readSymbols returns the functions of a table, one for each address.
func readSymbols(file *elffile.File, table []byte, builder *index.Builder, memory *meter.Meter) (symbols []symbol, err error) {
	size := 16
	if file.Is64 {
		size = 24
	}
	for b := table; len(b) >= size; b = b[size:] {
		s, info := symbol{name: uint64(file.Order.Uint32(b))}, byte(0)
		if file.Is64 {
			info, s.address, s.size = b[4], file.Order.Uint64(b[8:]), file.Order.Uint64(b[16:])
		} else {
			s.address, s.size, info = uint64(file.Order.Uint32(b[4:])), uint64(file.Order.Uint32(b[8:])), b[12]
		}
		s.rank = rank(elf.ST_BIND(info))
		if kind := elf.ST_TYPE(info); kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || builder.CodeEnd(s.address) == 0 {
			continue
		}
		if err := memory.Use(symbolBytes); err != nil {
			return nil, err
		}
		symbols = append(symbols, s)
	}
	slices.SortStableFunc(symbols, func(x, y symbol) int { return cmp.Or(cmp.Compare(x.address, y.address), y.rank-x.rank) })
	kept := slices.CompactFunc(symbols, func(x, y symbol) bool { return x.address == y.address })
	return kept, memory.Use(-symbolBytes * int64(len(symbols)-len(kept)))
}
