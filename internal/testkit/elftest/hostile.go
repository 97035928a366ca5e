// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package elftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// dwarf is a section of DWARF, or another one, of a hostile file.
func dwarf(name string, data []byte) Section {
	return Section{Name: ".debug_" + name, Type: 1, Data: data}
}

// little returns numbers of these sizes: uint8 to uint64 and bytes.
func little(values ...any) []byte {
	var out []byte
	for _, v := range values {
		switch v := v.(type) {
		case []byte:
			out = append(out, v...)
		case string:
			out = append(append(out, v...), 0)
		default:
			out, _ = binary.Append(out, binary.LittleEndian, v)
		}
	}
	return out
}

// unit4 returns a unit of DWARF 4, whose length is right.
func unit4(abbreviations uint32, entries []byte) []byte {
	return little(uint32(7+len(entries)), uint16(4), abbreviations, uint8(8), entries)
}

// compressedSection returns .debug_info with a header of its compression.
func compressedSection(kind uint32, size uint64, data []byte) Section {
	s := dwarf("info", little(kind, uint32(0), size, uint64(1), data))
	s.Flags = 0x800
	return s
}

func zlibOf(data []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}

func zstdOf(data []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(data, nil)
}

// An abbreviation for a function with an origin and a range, that has children.
var functionAbbreviation = little(uint8(1), uint8(0x2e), uint8(1), uint8(0x31), uint8(0x13), uint8(0x11), uint8(1), uint8(0x12), uint8(7), uint8(0), uint8(0), uint8(0))

// lineProgram returns a program of lines of DWARF 4.
func lineProgram(operations []byte) []byte {
	header := little(uint8(1), uint8(1), uint8(1), int8(-5), uint8(14), uint8(13),
		[]byte{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, uint8(0), "file.c", uint8(0), uint8(0), uint8(0), uint8(0))
	body := little(uint16(4), uint32(len(header)), header, operations)
	return little(uint32(len(body)), body)
}

// atCode returns an operation that sets the address to that of the code.
func atCode() []byte { return little([]byte{0, 9, 2}, uint64(CodeAddress)) }

// withLines returns a file with a program of lines that a unit refers to.
func withLines(program []byte) []byte {
	abbreviation := little(uint8(1), uint8(0x11), uint8(0), uint8(0x10), uint8(0x17), uint8(0), uint8(0), uint8(0))
	return Make(Code(), dwarf("info", unit4(0, little(uint8(1), uint32(0)))), dwarf("abbrev", abbreviation), dwarf("line", program))
}

// Hostile returns files that attack a reader, by name.
func Hostile() map[string][]byte {
	files := map[string][]byte{}
	zeros := make([]byte, 64<<20)
	for name, s := range map[string]Section{
		"zlib of zeros":           compressedSection(1, uint64(len(zeros)), zlibOf(zeros)),
		"zstd of zeros":           compressedSection(2, uint64(len(zeros)), zstdOf(zeros)),
		"zlib says little":        compressedSection(1, 10, zlibOf(zeros)),
		"zstd says little":        compressedSection(2, 10, zstdOf(zeros)),
		"zlib says much":          compressedSection(1, math.MaxInt64, zlibOf([]byte("x"))),
		"zstd says much":          compressedSection(2, math.MaxUint64, zstdOf([]byte("x"))),
		"zlib says 16 MiB":        compressedSection(1, 16<<20, zlibOf([]byte("x"))),
		"zlib is none":            compressedSection(1, 100, []byte("no zlib")),
		"zstd is none":            compressedSection(2, 100, []byte("no zstd")),
		"unknown compression":     compressedSection(9, 100, []byte("x")),
		"short header":            {Name: ".debug_info", Type: 1, Flags: 0x800, Data: make([]byte, 5)},
		"zdebug":                  {Name: ".zdebug_info", Type: 1, Data: append([]byte("ZLIB\x00\x00\x00\x00\x04\x00\x00\x00"), zlibOf(zeros)...)},
		"beyond the file":         {Name: ".debug_info", Type: 1, Offset: 1 << 40, Size: 1 << 40},
		"offset and size wrap":    {Name: ".debug_info", Type: 1, Offset: math.MaxUint64 - 10, Size: 20},
		"the whole file":          {Name: ".debug_info", Type: 1, Offset: 1, Size: 500},
		"xz with a dictionary":    {Name: ".gnu_debugdata", Type: 1, Data: little([]byte("\xfd7zXZ\x00\x00\x04xxxx"), []byte{2, 0, 0x21, 1, 40, 0, 0, 0, 0, 0, 0, 0})},
		"xz ends":                 {Name: ".gnu_debugdata", Type: 1, Data: []byte("\xfd7zXZ\x00\x00\x04xxxx")},
		"xz is none":              {Name: ".gnu_debugdata", Type: 1, Data: zeros[:1<<20]},
		"unit of no end":          dwarf("info", little(uint32(math.MaxUint32), uint64(math.MaxUint64), uint16(4))),
		"unit of a reserved size": dwarf("info", little(uint32(0xfffffff5), uint16(4))),
		"units without bytes":     dwarf("info", make([]byte, 1<<20)),
		"units of 7 bytes":        dwarf("info", bytes.Repeat(unit4(0, nil), 1<<17)),
		"unit of version 99":      dwarf("info", little(uint32(7), uint16(99), uint32(0), uint8(8))),
		"addresses of 255 bytes":  dwarf("info", little(uint32(7), uint16(4), uint32(0), uint8(255))),
	} {
		files[name] = Make(Code(), s, dwarf("abbrev", []byte{1, 0x11, 0, 0, 0, 0}))
	}
	for name, abbreviations := range map[string][]byte{
		"no abbreviations":             nil,
		"abbreviations without end":    bytes.Repeat([]byte{1, 0x11, 0, 3, 8, 0, 0}, 1<<16),
		"attributes without end":       append([]byte{1, 0x11, 0}, bytes.Repeat([]byte{3, 8}, 1<<20)...),
		"many sparse codes":            sparse(1 << 16),
		"long numbers":                 bytes.Repeat([]byte{0xff}, 1<<20),
		"forms that are not known":     {1, 0x2e, 0, 3, 0x7f, 0, 0, 0},
		"indirect without end":         {1, 0x2e, 0, 3, 0x16, 0, 0, 0},
		"blocks":                       {1, 0x2e, 0, 3, 9, 4, 0x18, 0x11, 1, 0, 0, 0},
		"entries of no bytes":          {1, 0x2e, 1, 0, 0, 0},
		"children without end":         {1, 0x0b, 1, 0, 0, 0},
		"functions in functions":       functionAbbreviation,
		"inlined in inlined":           bytes.Replace(functionAbbreviation, []byte{0x2e}, []byte{0x1d}, 1),
		"ranges that are not there":    {1, 0x2e, 0, 0x55, 0x17, 3, 8, 0, 0, 0},
		"texts that are not there":     {1, 0x2e, 0, 3, 0x0e, 0x11, 1, 0x12, 7, 0, 0, 0},
		"indices that are not there":   {1, 0x2e, 0, 3, 0x1a, 0x11, 0x1b, 0x12, 7, 0, 0, 0},
		"references to a supplement":   {1, 0x2e, 0, 0x31, 0xa0, 0x3e, 0x11, 1, 0x12, 7, 0, 0, 0},
		"references beyond everything": {1, 0x2e, 0, 0x31, 0x10, 0x11, 1, 0x12, 7, 0, 0, 0},
	} {
		entries := bytes.Repeat(little(uint8(1), uint32(0x0b), uint64(CodeAddress), uint64(0x80)), 4096)
		files["abbreviations: "+name] = Make(Code(), dwarf("abbrev", abbreviations), dwarf("info", unit4(0, entries)))
		files["ones: "+name] = Make(Code(), dwarf("abbrev", abbreviations), dwarf("info", unit4(0, bytes.Repeat([]byte{1}, 1<<20))))
	}
	// Each unit has another offset in one long table.
	var units []byte
	for i := range uint32(1 << 15) {
		units = append(units, unit4(i*7, []byte{1, 0})...)
	}
	files["a table for each unit"] = Make(Code(), dwarf("info", units), dwarf("abbrev", sparse(1<<16)))
	// Functions within functions, all with one name, and inlined ones.
	for name, tag := range map[string]byte{"functions": 0x2e, "inlined functions": 0x1d} {
		named := []byte{1, tag, 1, 3, 8, 0x11, 1, 0x12, 7, 0, 0, 0}
		deep := bytes.Repeat(little(uint8(1), "f", uint64(CodeAddress), uint64(0x80)), 1<<16)
		files["deep "+name] = Make(Code(), dwarf("info", unit4(0, deep)), dwarf("abbrev", named))
		named[2] = 0
		files["many "+name] = Make(Code(), dwarf("info", unit4(0, deep)), dwarf("abbrev", named))
	}
	// Many functions share one long list of ranges.
	list := bytes.Repeat(little(uint64(CodeAddress), uint64(CodeAddress+8)), 1<<14)
	sharing := bytes.Repeat(little(uint8(1), "f", uint32(0)), 1<<14)
	files["a list of ranges for many functions"] = Make(Code(), dwarf("info", unit4(0, sharing)),
		dwarf("abbrev", []byte{1, 0x2e, 0, 3, 8, 0x55, 0x17, 0, 0, 0}), dwarf("ranges", append(list, make([]byte, 16)...)))
	// A circle of origins: each function refers to itself.
	self := little(uint8(1), uint32(11), uint64(CodeAddress), uint64(0x80), uint8(0))
	files["a circle of origins"] = Make(Code(), dwarf("info", unit4(0, self)), dwarf("abbrev", functionAbbreviation))

	for name, operations := range map[string][]byte{
		"rows":                     append(atCode(), bytes.Repeat([]byte{13 + 6 + 14}, 8<<20)...),
		"rows of one address":      append(atCode(), bytes.Repeat([]byte{13}, 8<<20)...),
		"copies":                   bytes.Repeat([]byte{1}, 1<<20),
		"sequences":                bytes.Repeat(little([]byte{0, 9, 2}, uint64(CodeAddress), []byte{1, 13 + 5 + 14, 0, 1, 1}), 1<<17),
		"files":                    bytes.Repeat([]byte{0, 6, 3, 'f', 0, 0, 0, 0}, 1<<18),
		"an operation of no end":   {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"an address of 200 bytes":  append([]byte{0, 201, 1, 2}, make([]byte, 199)...),
		"numbers of many bytes":    append([]byte{2}, bytes.Repeat([]byte{0x80}, 1<<20)...),
		"addresses that go back":   bytes.Repeat(little([]byte{0, 9, 2}, uint64(CodeAddress+0x80), []byte{1}, []byte{0, 9, 2}, uint64(CodeAddress), []byte{1}), 1<<16),
		"an operation beyond end":  {9, 1},
		"a file that is not there": {4, 0xff, 0x7f, 1, 13, 0, 1, 1},
	} {
		files["lines: "+name] = withLines(lineProgram(operations))
	}
	for name, program := range map[string][]byte{
		"no program":            {1, 2, 3},
		"range of 0":            little(uint32(20), uint16(4), uint32(6), []byte{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
		"header of no end":      little(uint32(20), uint16(4), uint32(math.MaxUint32), make([]byte, 14)),
		"many files of nothing": little(uint32(64), uint16(5), uint8(8), uint8(0), uint32(50), []byte{1, 1, 1, 0xfb, 14, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, make([]byte, 60)),
	} {
		files["programs: "+name] = withLines(program)
	}

	symbols := bytes.Repeat(Symbol(1, CodeAddress, math.MaxUint64), 1<<17)
	files["many symbols of one address"] = Make(Code(), Section{Name: ".symtab", Type: 2, Link: 3, Data: symbols}, Section{Type: 3, Data: []byte("\x00f\x00")})
	long := append(append([]byte{0}, bytes.Repeat([]byte("f"), 1<<20)...), 0)
	files["a long name"] = Make(Code(), Section{Name: ".symtab", Type: 2, Link: 3, Data: Symbol(1, CodeAddress, 1)}, Section{Type: 3, Data: long})
	bomb := []byte("\x00_Z1fI" + string(bytes.Repeat([]byte("1aI"), 1000)) + string(bytes.Repeat([]byte("S_S_S_E"), 1000)) + "EvT_\x00")
	files["a name that grows"] = Make(Code(), Section{Name: ".symtab", Type: 2, Link: 3, Data: Symbol(1, CodeAddress, 1)}, Section{Type: 3, Data: bomb})
	deepName := little("_Z1f" + strings.Repeat("P", 5<<20) + "i") // Each P is a call within a call of the demangler.
	linkage := compressedSection(1, uint64(len(deepName)), zlibOf(deepName))
	linkage.Name = ".debug_str"
	files["a long linkage name"] = Make(Code(), linkage, dwarf("abbrev", []byte{1, 0x2e, 0, 0x6e, 0x0e, 0x11, 1, 0x12, 7, 0, 0, 0}),
		dwarf("info", unit4(0, little(uint8(1), uint32(0), uint64(CodeAddress), uint64(0x80)))))
	files["a long name in its entry"] = Make(Code(), dwarf("abbrev", []byte{1, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 7, 0, 0, 0}),
		dwarf("info", unit4(0, little(uint8(1), strings.Repeat("f", 1<<17), uint64(CodeAddress), uint64(0x80)))))
	files["symbols without names"] = Make(Code(), Section{Name: ".symtab", Type: 2, Link: 9999, Data: Symbol(1, CodeAddress, 1)})
	files["code of everything"] = Make(Section{Name: ".text", Type: 8, Flags: 6, Size: math.MaxUint64}, Section{Name: ".text", Type: 8, Flags: 6, Address: 5, Size: math.MaxUint64 - 5})
	files["Go without functions"] = Make(Code(), Section{Name: ".gopclntab", Type: 1, Data: little(uint32(0xfffffff1), []byte{0, 0, 1, 8}, make([]byte, 64))})
	files["Go with many functions"] = Make(Code(), Section{Name: ".gopclntab", Type: 1, Data: goTable()})

	good := WithSymbols("aabbccdd", "f")
	for _, length := range []int{0, 10, 63, 64, 100, len(good) - 1} {
		files[fmt.Sprint("cut after ", length)] = good[:length]
	}
	for _, at := range []int{4, 5, 40, 58, 60, 62} {
		damaged := bytes.Clone(good)
		damaged[at] ^= 0x7f
		files[fmt.Sprint("damaged at ", at)] = damaged
	}
	return files
}

// sparse returns a table of abbreviations whose codes are not 1, 2, 3 and so on.
func sparse(n uint32) (table []byte) {
	for i := range n {
		table = binary.AppendUvarint(table, uint64(i)*3+1)
		table = append(table, 0x0b, 0, 3, 8, 0, 0)
	}
	return append(table, 0)
}

// goTable returns a table of Go with many functions that share one long list of steps.
func goTable() []byte {
	const functions, header = 1 << 14, 72
	body := make([]byte, 44)
	binary.LittleEndian.PutUint32(body[4:], 1)
	binary.LittleEndian.PutUint32(body[20:], 1)
	binary.LittleEndian.PutUint32(body[24:], 1)
	names := []byte("\x00main.f\x00")
	steps := append(bytes.Repeat([]byte{2, 1}, 1<<18), 0, 0)
	var table []byte
	for i := range uint32(functions) {
		table = little(table, CodeAddress+i%CodeSize, uint32(8*functions+8))
	}
	table = little(table, uint32(CodeAddress+CodeSize), uint32(0), body)
	at := uint64(header)
	head := little(uint32(0xfffffff1), []byte{0, 0, 1, 8}, uint64(functions), uint64(1), uint64(0))
	for _, part := range [][]byte{names, nil, nil, steps, table} {
		head = little(head, at)
		at += uint64(len(part))
	}
	return little(head, names, steps, table)
}
