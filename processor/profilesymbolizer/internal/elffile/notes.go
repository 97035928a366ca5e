// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
)

const (
	maxNotes = 1 << 20
	// The types of notes with a build id.
	noteGNU = 3
	noteGo  = 4
)

// BuildIDs reads the build ids of the notes. That of the linker of GNU is in hexadecimal digits, that of Go's is text.
func (f *File) BuildIDs() (gnu, golang string, err error) {
	read := func(offset, size uint64) error {
		data, err := f.Read(offset, size)
		f.readNotes(data, &gnu, &golang)
		return err
	}
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == elf.SHT_NOTE && s.Size <= maxNotes {
			if err := read(s.Offset, s.Size); err != nil {
				return "", "", err
			}
		}
	}
	for _, s := range f.Segments {
		if s.Type == elf.PT_NOTE && s.Filesz <= maxNotes && gnu == "" && golang == "" {
			if err := read(s.Off, s.Filesz); err != nil {
				return "", "", err
			}
		}
	}
	return gnu, golang, nil
}

func (f *File) readNotes(data []byte, gnu, golang *string) {
	for len(data) >= 12 {
		nameSize, size, kind := uint64(f.Order.Uint32(data)), uint64(f.Order.Uint32(data[4:])), f.Order.Uint32(data[8:])
		data = data[12:]
		begin := (nameSize + 3) &^ 3
		end := begin + (size+3)&^3
		if begin+size > uint64(len(data)) {
			return
		}
		name, value := bytes.TrimRight(data[:nameSize], "\x00"), data[begin:begin+size]
		switch {
		case kind == noteGNU && string(name) == "GNU" && *gnu == "":
			*gnu = hex.EncodeToString(value)
		case kind == noteGo && string(name) == "Go" && *golang == "":
			*golang = string(value)
		}
		data = data[min(end, uint64(len(data))):]
	}
}
