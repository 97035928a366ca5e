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

// BuildIDs are the build ids of a file. GNU's is in hexadecimal digits, Go's is text.
type BuildIDs struct{ GNU, Go string }

// BuildIDs reads the build ids of the notes.
func (f *File) BuildIDs() (ids BuildIDs, err error) {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == elf.SHT_NOTE && s.Size <= maxNotes {
			data, err := f.Read(s.Offset, s.Size)
			if err != nil {
				return ids, err
			}
			f.readNotes(data, &ids)
		}
	}
	for _, s := range f.Segments {
		if s.Type == elf.PT_NOTE && s.FileSize <= maxNotes && ids.GNU == "" && ids.Go == "" {
			data, err := f.Read(s.Offset, s.FileSize)
			if err != nil {
				return ids, err
			}
			f.readNotes(data, &ids)
		}
	}
	return ids, nil
}

func (f *File) readNotes(data []byte, ids *BuildIDs) {
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
		case kind == noteGNU && string(name) == "GNU" && ids.GNU == "":
			ids.GNU = hex.EncodeToString(value)
		case kind == noteGo && string(name) == "Go" && ids.Go == "":
			ids.Go = string(value)
		}
		data = data[min(end, uint64(len(data))):]
	}
}
