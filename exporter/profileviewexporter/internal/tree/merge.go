// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/query"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/symbols"
)

// Merge adds the samples of a selection to a side. Of a profile with several selected sample types, it adds the first.
func (t *Tree) Merge(s *query.Selection, side int) error {
	for i := range s.Parts {
		m := merger{Tree: t, part: &s.Parts[i], table: s.Parts[i].Table, side: side}
		if err := m.merge(); err != nil {
			return err
		}
	}
	return s.Err()
}

// merger merges a part of a selection.
type merger struct {
	*Tree
	part  *query.Part
	table *symbols.Table
	side  int
	// functions are the names of functions plus 1, and nodes the nodes of stacks plus 1.
	functions, nodes []uint32
	frames           []uint32
	// steps counts the frames of all stacks, and extra is the memory of the merger.
	steps int
	extra int64
}

// ErrExpensive is the error for stacks with too many frames.
var ErrExpensive = fmt.Errorf("the stacks have more than %d frames together: select a shorter time", maxSteps)

// maxSteps limits the frames of all stacks of a part. It takes a few seconds.
const maxSteps = 1 << 27

// The memory to merge, for each stack and function of the table.
const (
	stackBytes    = 8 + 4
	functionBytes = 4
)

// mostNewNodes is for how many nodes there is place from the start. Many stacks can have the same functions.
const mostNewNodes = 64 << 10

func (m *merger) merge() error {
	stacks := m.table.Stacks.Rows
	m.extra = stackBytes*int64(len(stacks)) + functionBytes*int64(len(m.table.Functions.Rows))
	if err := m.Need(m.extra); err != nil {
		return err
	}
	self, err := m.sum()
	if err != nil {
		return err
	}
	m.functions = make([]uint32, len(m.table.Functions.Rows))
	m.nodes = make([]uint32, len(stacks))
	const needed = 1
	nodes := 0
	for i := len(stacks) - 1; i > 0; i-- {
		if self[i] != 0 || m.nodes[i] == needed {
			nodes++
			m.nodes[i] = needed
			m.nodes[stacks[i].Caller] = needed
		}
	}
	if err := m.grow(min(nodes, mostNewNodes), m.extra); err != nil {
		return err
	}
	m.nodes[0] = 1
	m.values[0][m.side].self += self[0]
	for i := 1; i < len(stacks); i++ {
		if m.nodes[i] == 0 {
			continue
		}
		at, err := m.location(m.nodes[stacks[i].Caller]-1, stacks[i].Location)
		if err != nil {
			return err
		}
		m.nodes[i] = at + 1
		m.values[at][m.side].self += self[i]
	}
	return nil
}

// sum returns the sum of the selected values, by stack.
func (m *merger) sum() ([]int64, error) {
	self := make([]int64, len(m.table.Stacks.Rows))
	for _, p := range m.part.Profiles {
		if err := m.work.Continue(); err != nil {
			return nil, err
		}
		if len(p.Columns) == 0 {
			continue
		}
		column, counts := p.Columns[0], p.Keeps == nil
		for s := range p.Samples.All() {
			if p.Keeps == nil || p.Keeps(s.Labels) {
				self[s.Stack] += s.Values[column]
				counts = true
			}
		}
		if counts {
			m.Profiles[m.side]++
		}
	}
	return self, nil
}

// location returns the node below at for the lines of a location, the outermost call first.
func (m *merger) location(at, location uint32) (_ uint32, err error) {
	l := &m.table.Locations.Rows[location]
	m.frames = m.frames[:0]
	for line := l.Lines; line != 0; {
		row := &m.table.Lines.Rows[line]
		m.frames = append(m.frames, m.function(row, l))
		line = row.Next
	}
	if len(m.frames) == 0 {
		m.frames = append(m.frames, m.name(m.placeOf(l), place{}))
	}
	if m.steps += len(m.frames); m.steps > maxSteps {
		return 0, ErrExpensive
	}
	for i := len(m.frames) - 1; i >= 0 && err == nil; i-- {
		at, err = m.child(at, m.frames[i], m.extra)
	}
	return at, err
}

// function returns the name of the function of a line.
func (m *merger) function(line *symbols.Line, l *symbols.Location) uint32 {
	if known := m.functions[line.Function]; known != 0 {
		return known - 1
	}
	f := &m.table.Functions.Rows[line.Function]
	text := m.table.Text(f.Name)
	if text == "" {
		text = m.table.Text(f.SystemName)
	}
	if text == "" {
		return m.name(m.placeOf(l), place{})
	}
	at := place{file: m.table.Text(f.File), line: f.StartLine}
	if at.line == 0 {
		at.line = line.Line
	}
	name := m.name(text, at)
	m.functions[line.Function] = name + 1
	return name
}

// placeOf returns the binary of a location and the offset in it, for functions without a name.
func (m *merger) placeOf(l *symbols.Location) string {
	offset, binary := l.Address, ""
	mapping := &m.table.Mappings.Rows[l.Mapping]
	if file := m.table.Text(mapping.File); file != "" {
		binary = path.Base(strings.ReplaceAll(file, `\`, "/"))
		if l.Address >= mapping.Start && (l.Address < mapping.Limit || mapping.Limit == 0) {
			offset += mapping.Offset - mapping.Start
		}
	}
	switch {
	case l.Address == 0 && binary == "":
		return "[no symbols]"
	case l.Address == 0:
		return binary
	case binary == "":
		return "0x" + strconv.FormatUint(offset, 16)
	}
	return binary + "+0x" + strconv.FormatUint(offset, 16)
}
