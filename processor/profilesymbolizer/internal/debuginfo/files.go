// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

import (
	"debug/dwarf"
	"strings"
)

// files are those of one program of lines.
type files struct {
	unit        *unit
	version     int
	directories [][]byte
	entries     []file
	// texts are the paths in the index, plus 1. They are made when they are used.
	texts []uint32
}

type file struct {
	name      []byte
	directory uint64
}

const fileBytes = 3 * (24 + 8 + 4)

// text returns the path of a file as a text of the index.
func (f *files) text(r *reader, number uint64) uint32 {
	if f.version < 5 {
		number-- // The first file has the number 1.
	}
	if number >= uint64(len(f.entries)) {
		return 0
	}
	if f.texts[number] == 0 {
		f.texts[number] = r.builder.Text(f.path(number)) + 1
	}
	return f.texts[number] - 1
}

// path joins the directory of the unit, the one of the file, and its name, as far as they are not absolute.
func (f *files) path(number uint64) string {
	entry := f.entries[number]
	path := string(entry.name)
	directory := ""
	switch {
	case f.version >= 5 && entry.directory < uint64(len(f.directories)):
		directory = string(f.directories[entry.directory])
	case f.version < 5 && entry.directory > 0 && entry.directory-1 < uint64(len(f.directories)):
		directory = string(f.directories[entry.directory-1])
	}
	for _, before := range []string{directory, string(f.unit.directory)} {
		if before != "" && !isAbsolute(path) {
			path = strings.TrimSuffix(before, "/") + "/" + path
		}
	}
	return path
}

// isAbsolute knows Windows' paths too: binaries for Linux are built there as well.
func isAbsolute(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\`) || len(path) > 1 && path[1] == ':'
}

// read reads the directories and files of the header of a program.
func (f *files) read(r *reader, p *program) error {
	f.version = p.version
	if p.version >= 5 {
		directories, err := r.readEntries(p, f.unit)
		if err != nil {
			return err
		}
		for _, d := range directories {
			f.directories = append(f.directories, d.name)
		}
		f.entries, err = r.readEntries(p, f.unit)
		f.texts = make([]uint32, len(f.entries))
		return err
	}
	for !p.failed {
		directory := p.text()
		if len(directory) == 0 {
			break
		}
		if err := r.memory.Need(fileBytes * int64(len(f.directories)+1)); err != nil {
			return err
		}
		f.directories = append(f.directories, directory)
	}
	for !p.failed && f.define(r, &p.cursor) {
	}
	return r.memory.Err()
}

// define adds a file, unless its name is empty.
func (f *files) define(r *reader, c *cursor) bool {
	name := c.text()
	if len(name) == 0 || c.failed {
		return false
	}
	entry := file{name: name, directory: c.unsigned()}
	c.unsigned() // its time
	c.unsigned() // its size
	if r.memory.Need(fileBytes*int64(len(f.entries)+len(f.directories)+1)) != nil {
		return false // Each later call of the meter returns the error.
	}
	f.entries, f.texts = append(f.entries, entry), append(f.texts, 0)
	return true
}

// The content types of entries of DWARF 5.
const (
	contentPath      = 1
	contentDirectory = 2
)

// readEntries reads a table of directories, or of files, of DWARF 5.
func (r *reader) readEntries(p *program, u *unit) ([]file, error) {
	var formats []attribute
	for range p.byte() {
		formats = append(formats, attribute{name: dwarf.Attr(min(p.unsigned(), 0xffff)), form: forms[p.unsigned()]})
	}
	count := p.unsigned()
	// Each entry takes some bytes.
	if p.failed || count > uint64(len(p.data)-p.at) || count > 0 && len(formats) == 0 {
		return nil, malformed("a table of %d files", count)
	}
	if err := r.memory.Need(fileBytes * 2 * int64(count)); err != nil {
		return nil, err
	}
	entries := make([]file, 0, count)
	// The forms are those of the program, not of the unit.
	shape := unit{addressSize: p.addressSize, offsetSize: p.offsetSize, version: uint16(p.version), textOffsets: u.textOffsets}
	for range count {
		var entry file
		begin := p.at
		for _, format := range formats {
			switch v := shape.value(&p.cursor, format); format.name {
			case contentPath:
				entry.name = r.text(&shape, v)
			case contentDirectory:
				entry.directory = v.number
			}
		}
		if p.failed || p.at == begin {
			return nil, malformed("a table of files ends early")
		}
		entries = append(entries, entry)
		if err := r.advance(p.at - begin); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
