// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package debuginfo

import (
	"math"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// program is the header of a program of lines, and where its operations are.
type program struct {
	cursor
	version, offsetSize, addressSize int

	minLength, maxOperations uint64
	lineBase                 int8
	lineRange, opcodeBase    byte
	lengths                  []byte
}

// readLines reads the program of lines of a unit. The files are valid even if there is an error.
func (r *reader) readLines(u *unit) (*files, error) {
	f := &files{unit: u}
	if u.lines.kind != kindOffset && u.lines.kind != kindNumber {
		return f, nil
	}
	offset := u.lines.number
	if offset >= uint64(len(r.sections.Line)) {
		return f, malformed("a program of lines at %d", offset)
	}
	p := program{cursor: cursor{data: r.sections.Line, at: int(offset), order: r.sections.Order}, addressSize: u.addressSize}
	if err := r.readProgramHeader(&p, f); err != nil {
		return f, err
	}
	// Units can share a program, for the files.
	if r.programs[offset] {
		return f, nil
	}
	if err := r.memory.Use(32); err != nil {
		return f, err
	}
	r.programs[offset] = true
	return f, r.run(&p, f)
}

func (r *reader) readProgramHeader(p *program, f *files) error {
	length, offsetSize := p.length()
	if p.failed || length > uint64(len(p.data)-p.at) {
		return malformed("a program of lines of %d bytes", length)
	}
	p.data = p.data[:p.at+int(length)]
	p.offsetSize = offsetSize
	p.version = int(p.number(2))
	if p.version < 2 || p.version > 5 {
		return malformed("a program of lines of version %d", p.version)
	}
	if p.version >= 5 {
		p.addressSize = int(p.byte())
		p.skip(1)
	}
	headerLength := p.number(offsetSize)
	if p.failed || headerLength > uint64(len(p.data)-p.at) || p.addressSize != 4 && p.addressSize != 8 {
		return malformed("the header of a program of lines has %d bytes", headerLength)
	}
	begin := p.at + int(headerLength)
	p.minLength, p.maxOperations = uint64(p.byte()), 1
	if p.version >= 4 {
		p.maxOperations = max(1, uint64(p.byte()))
	}
	p.skip(1) // whether rows are statements at first
	p.lineBase, p.lineRange, p.opcodeBase = int8(p.byte()), p.byte(), p.byte()
	if p.lineRange == 0 || p.opcodeBase == 0 {
		return malformed("the header of a program of lines")
	}
	p.lengths = p.take(uint64(p.opcodeBase - 1))
	if err := f.read(r, p); err != nil {
		return err
	}
	if p.failed {
		return malformed("the header of a program of lines ends early")
	}
	p.at = begin
	return nil
}

// Operations.
const (
	opExtended = iota
	opCopy
	opAdvancePC
	opAdvanceLine
	opSetFile
	opSetColumn
	opNegateStatement
	opBasicBlock
	opConstAddPC
	opFixedAdvancePC
	opPrologueEnd
	opEpilogueBegin
	opSetISA
)

const (
	extendedEnd = iota + 1
	extendedAddress
	extendedFile
)

// state is that of a program of lines.
type state struct {
	address, operation uint64
	file, column       uint64
	line               int64
}

func (s *state) advance(p *program, by uint64) {
	if p.maxOperations == 1 {
		s.address += by * p.minLength
		return
	}
	total := s.operation + by
	s.address += p.minLength * (total / p.maxOperations)
	s.operation = total % p.maxOperations
}

func (r *reader) place(s *state, f *files) index.Place {
	return index.Place{
		File: f.text(r, s.file), Line: uint32(min(max(s.line, 0), math.MaxInt32)), Column: uint32(min(s.column, math.MaxInt32)),
	}
}

// run executes a program of lines.
func (r *reader) run(p *program, f *files) error {
	s, rows := state{file: 1, line: 1}, r.builder.Sequence()
	for !p.end() {
		begin := p.at
		switch op := p.byte(); {
		case op >= p.opcodeBase:
			special := op - p.opcodeBase
			s.advance(p, uint64(special/p.lineRange))
			s.line += int64(p.lineBase) + int64(special%p.lineRange)
			rows.Row(s.address, r.place(&s, f))
		case op == opExtended:
			if r.runExtended(p, &s, f) {
				rows.End(s.address)
				s = state{file: 1, line: 1}
			}
		case op == opCopy:
			rows.Row(s.address, r.place(&s, f))
		default:
			s.standard(p, op)
		}
		// A row costs more than the byte that makes it.
		if err := r.advance(16 * (p.at - begin)); err != nil {
			return err
		}
		if err := r.builder.Err(); err != nil {
			return err
		}
	}
	if p.failed {
		return malformed("a program of lines ends within an operation")
	}
	return nil
}

// standard executes an operation that makes no row.
func (s *state) standard(p *program, op byte) {
	switch op {
	case opAdvancePC:
		s.advance(p, p.unsigned())
	case opAdvanceLine:
		s.line += p.signed()
	case opSetFile:
		s.file = p.unsigned()
	case opSetColumn:
		s.column = p.unsigned()
	case opConstAddPC:
		s.advance(p, uint64((255-p.opcodeBase)/p.lineRange))
	case opFixedAdvancePC:
		s.address += p.number(2)
		s.operation = 0
	case opNegateStatement, opBasicBlock, opPrologueEnd, opEpilogueBegin:
	case opSetISA:
		p.unsigned()
	default:
		for range p.lengths[op-1] {
			p.unsigned()
		}
	}
}

// runExtended executes an extended operation, and reports whether it ends the sequence.
func (r *reader) runExtended(p *program, s *state, f *files) bool {
	size := p.unsigned()
	body := cursor{data: p.take(size), order: p.order}
	if len(body.data) == 0 {
		return false
	}
	switch body.byte() {
	case extendedEnd:
		return true
	case extendedAddress:
		if len(body.data)-1 <= 8 {
			s.address, s.operation = body.number(len(body.data)-1), 0
		}
	case extendedFile:
		f.define(r, &body)
	}
	return false
}
