// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package elftest makes small ELF files for tests, also wrong ones.
package elftest // import "github.com/otelpprof/otelpprof/internal/testkit/elftest"

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
)

// Section is a section of a file. Offset and Size replace those of Data if they are not 0.
type Section struct {
	Name         string
	Type, Link   uint32
	Flags        uint64
	Address      uint64
	Data         []byte
	Offset, Size uint64
}

// The address and size of the code of a file of [WithSymbols].
const (
	CodeAddress = 0x1000
	CodeSize    = 0x100
)

// Code is a section for code of a file.
func Code() Section {
	return Section{Name: ".text", Type: 1, Flags: 6, Address: CodeAddress, Data: make([]byte, CodeSize)}
}

// Note is a section with a GNU build id, in hexadecimal digits.
func Note(buildID string) Section {
	id, err := hex.DecodeString(buildID)
	if err != nil {
		panic(err)
	}
	data := binary.LittleEndian.AppendUint32(nil, 4)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(id)))
	data = binary.LittleEndian.AppendUint32(data, 3)
	return Section{Name: ".note.gnu.build-id", Type: 7, Flags: 2, Data: append(append(data, "GNU\x00"...), id...)}
}

// Symbol is an entry of a table of symbols: a global function.
func Symbol(name uint32, address, size uint64) []byte {
	data := binary.LittleEndian.AppendUint32(nil, name)
	data = append(data, 0x12, 0, 1, 0)
	data = binary.LittleEndian.AppendUint64(data, address)
	return binary.LittleEndian.AppendUint64(data, size)
}

// WithSymbols returns a file with one function of this name, and a build id.
func WithSymbols(buildID, function string) []byte {
	return Make(Code(), Note(buildID),
		Section{Name: ".symtab", Type: 2, Link: 4, Data: Symbol(1, CodeAddress, CodeSize)},
		Section{Name: ".strtab", Type: 3, Data: []byte("\x00" + function + "\x00")},
	)
}

const (
	headerSize  = 64
	sectionSize = 64
)

// Make returns a file with these sections, from number 1 on, and one of their names.
func Make(sections ...Section) []byte {
	sections = append([]Section{{}}, sections...)
	names := []byte{0}
	var offsets []uint32
	for _, s := range append(sections, Section{Name: ".shstrtab"}) {
		offsets = append(offsets, uint32(len(names)))
		names = append(append(names, s.Name...), 0)
	}
	sections = append(sections, Section{Type: 3, Data: names})
	file := make([]byte, headerSize)
	var table []byte
	for i, s := range sections {
		if s.Offset == 0 {
			s.Offset = uint64(len(file))
		}
		if s.Size == 0 {
			s.Size = uint64(len(s.Data))
		}
		file = append(file, s.Data...)
		table = binary.LittleEndian.AppendUint32(table, offsets[i])
		table = binary.LittleEndian.AppendUint32(table, s.Type)
		for _, v := range []uint64{s.Flags, s.Address, s.Offset, s.Size} {
			table = binary.LittleEndian.AppendUint64(table, v)
		}
		table = binary.LittleEndian.AppendUint64(table, uint64(s.Link))
		table = append(table, make([]byte, 16)...)
	}
	copy(file, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(file[16:], 3)
	binary.LittleEndian.PutUint16(file[18:], 62)
	binary.LittleEndian.PutUint64(file[40:], uint64(len(file)))
	binary.LittleEndian.PutUint16(file[58:], sectionSize)
	binary.LittleEndian.PutUint16(file[60:], uint16(len(sections)))
	binary.LittleEndian.PutUint16(file[62:], uint16(len(sections)-1))
	return append(file, table...)
}

// WithAddresses returns a file of debug information with a build id and a method of app::Worker at each address.
func WithAddresses(buildID string, addresses []uint64) []byte {
	addresses = slices.Compact(slices.Sorted(slices.Values(addresses)))
	texts, symbols := []byte{0}, []byte{}
	for _, address := range addresses {
		symbols = append(symbols, Symbol(uint32(len(texts)), address, 1)...)
		name := fmt.Sprintf("step%x", address)
		texts = fmt.Appendf(texts, "_ZN3app6Worker%d%sEv\x00", len(name), name)
	}
	low, high := addresses[0], addresses[len(addresses)-1]
	return Make(
		Section{Name: ".text", Type: 8, Flags: 6, Address: low, Size: high - low + 1},
		Note(buildID), Section{Name: ".symtab", Type: 2, Link: 4, Data: symbols}, Section{Type: 3, Data: texts},
	)
}
