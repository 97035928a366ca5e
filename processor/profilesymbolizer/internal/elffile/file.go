// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package elffile reads ELF files that can be hostile: sizes are checked and counted before anything is allocated or inflated.
package elffile // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// ErrMalformed says that a file is not a valid ELF file.
var ErrMalformed = errors.New("malformed ELF file")

func malformed(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, arguments...))
}

const (
	maxSections     = 1 << 14
	maxSegments     = 1 << 12
	maxSectionNames = 4 << 20
	// maxSectionName is more than the names have that are looked for. Many sections can share a long one.
	maxSectionName = 64
)

// File is an open ELF file. It is not safe for concurrent use.
type File struct {
	Order    binary.ByteOrder
	Is64     bool
	Sections []Section
	Segments []elf.ProgHeader

	reader io.ReaderAt
	size   int64
	memory *meter.Meter
}

// Section is a section header.
type Section elf.SectionHeader

// HasData reports whether the file has the bytes of the section. A file of debug information does not have those of the code.
func (s *Section) HasData() bool { return s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL }

// Open reads the headers of an ELF file. memory counts all that is read from it.
func Open(reader io.ReaderAt, size int64, memory *meter.Meter) (*File, error) {
	f := &File{reader: reader, size: size, memory: memory}
	var head [64]byte
	if size < 52 {
		return nil, malformed("it has %d bytes", size)
	}
	if _, err := reader.ReadAt(head[:min(size, 64)], 0); err != nil {
		return nil, fmt.Errorf("cannot read the header: %w", err)
	}
	if !bytes.HasPrefix(head[:], []byte("\x7fELF")) {
		return nil, malformed("it does not begin as one")
	}
	switch class, order := head[4], head[5]; {
	case class != 1 && class != 2:
		return nil, malformed("its class is %d", class)
	case order == 1:
		f.Order, f.Is64 = binary.LittleEndian, class == 2
	case order == 2:
		f.Order, f.Is64 = binary.BigEndian, class == 2
	default:
		return nil, malformed("its byte order is %d", order)
	}
	if err := f.readHeaders(head[:]); err != nil {
		return nil, err
	}
	return f, nil
}

// header decodes the header of the file.
func (f *File) header(b []byte) (h elf.Header64) {
	if f.Is64 {
		_, _ = binary.Decode(b, f.Order, &h) // It is as long as it has to be, as are the others below.
		return h
	}
	var short elf.Header32
	_, _ = binary.Decode(b, f.Order, &short)
	return elf.Header64{
		Phoff: uint64(short.Phoff), Shoff: uint64(short.Shoff), Phentsize: short.Phentsize, Phnum: short.Phnum,
		Shentsize: short.Shentsize, Shnum: short.Shnum, Shstrndx: short.Shstrndx,
	}
}

func (f *File) readHeaders(head []byte) error {
	h := f.header(head)
	segmentBytes, sectionBytes := 32, 40
	if f.Is64 {
		segmentBytes, sectionBytes = 56, 64
	}
	segmentCount, sectionCount := int(h.Phnum), int(h.Shnum)
	if segmentCount > 0 && int(h.Phentsize) != segmentBytes || segmentCount > maxSegments {
		return malformed("%d program headers of %d bytes", segmentCount, h.Phentsize)
	}
	if sectionCount > 0 && int(h.Shentsize) != sectionBytes || sectionCount > maxSections {
		return malformed("%d section headers of %d bytes", sectionCount, h.Shentsize)
	}
	segments, err := f.Read(h.Phoff, uint64(segmentCount*segmentBytes))
	if err != nil {
		return err
	}
	for ; len(segments) > 0; segments = segments[segmentBytes:] {
		f.Segments = append(f.Segments, f.segment(segments))
	}
	sections, err := f.Read(h.Shoff, uint64(sectionCount*sectionBytes))
	if err != nil {
		return err
	}
	return f.readSections(sections, sectionBytes, int(h.Shstrndx))
}

func (f *File) segment(b []byte) elf.ProgHeader {
	if f.Is64 {
		var h elf.Prog64
		_, _ = binary.Decode(b, f.Order, &h)
		return elf.ProgHeader{Type: elf.ProgType(h.Type), Flags: elf.ProgFlag(h.Flags), Off: h.Off, Vaddr: h.Vaddr, Filesz: h.Filesz, Memsz: h.Memsz}
	}
	var h elf.Prog32
	_, _ = binary.Decode(b, f.Order, &h)
	return elf.ProgHeader{
		Type: elf.ProgType(h.Type), Flags: elf.ProgFlag(h.Flags), Off: uint64(h.Off), Vaddr: uint64(h.Vaddr), Filesz: uint64(h.Filesz), Memsz: uint64(h.Memsz),
	}
}

func (f *File) section(b []byte) Section {
	if f.Is64 {
		var h elf.Section64
		_, _ = binary.Decode(b, f.Order, &h)
		return Section{Type: elf.SectionType(h.Type), Flags: elf.SectionFlag(h.Flags), Addr: h.Addr, Offset: h.Off, Size: h.Size, Link: h.Link}
	}
	var h elf.Section32
	_, _ = binary.Decode(b, f.Order, &h)
	return Section{
		Type: elf.SectionType(h.Type), Flags: elf.SectionFlag(h.Flags), Addr: uint64(h.Addr), Offset: uint64(h.Off), Size: uint64(h.Size), Link: h.Link,
	}
}

func (f *File) readSections(table []byte, size, names int) error {
	if len(table) == 0 {
		return nil
	}
	if names*size >= len(table) {
		return malformed("section %d, which has the names, does not exist", names)
	}
	section := f.section(table[names*size:])
	if section.Size > maxSectionNames {
		return malformed("%d bytes of names of sections", section.Size)
	}
	var texts []byte
	if section.HasData() {
		var err error
		if texts, err = f.Read(section.Offset, section.Size); err != nil {
			return err
		}
	}
	for ; len(table) > 0; table = table[size:] {
		section := f.section(table)
		if name := TextBytes(texts, uint64(f.Order.Uint32(table))); len(name) <= maxSectionName {
			section.Name = string(name)
		}
		f.Sections = append(f.Sections, section)
	}
	return nil
}

// MaxText is the longest text that is read: longer ones are no names.
const MaxText = 64 << 10

// Text returns the text at an offset, which a zero byte ends. It is empty if there is none.
func Text(table []byte, offset uint64) string { return string(TextBytes(table, offset)) }

// TextBytes is [Text] without a copy. It is nil if there is none.
func TextBytes(table []byte, offset uint64) []byte {
	if offset >= uint64(len(table)) {
		return nil
	}
	rest := table[offset:]
	end := bytes.IndexByte(rest[:min(len(rest), MaxText)], 0)
	if end < 0 {
		return nil
	}
	return rest[:end]
}

// Read reads a part of the file.
func (f *File) Read(offset, size uint64) ([]byte, error) {
	if offset > uint64(f.size) || size > uint64(f.size)-offset || size > math.MaxInt {
		return nil, malformed("%d bytes at %d are outside of its %d bytes", size, offset, f.size)
	}
	if size == 0 {
		return nil, nil
	}
	if err := f.memory.Use(int64(size)); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := f.reader.ReadAt(data, int64(offset)); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read %d bytes at %d: %w", size, offset, err)
	}
	return data, nil
}

// Section returns the first section with a name that the file has the bytes of, or nil.
func (f *File) Section(name string) *Section {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Name == name && s.HasData() {
			return s
		}
	}
	return nil
}

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
