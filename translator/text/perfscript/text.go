// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package perfscript

import (
	"bytes"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// Attributes of samples, from the semantic conventions.
const (
	attributePID = "process.pid"
	attributeCPU = "cpu.logical_number"
)

// maxShown limits how many bytes of the payload an error quotes.
const maxShown = 64

// reader reads one payload.
type reader struct {
	*profilebuilder.Builder
	byEvent map[eventKey]*eventProfile
	events  []*eventProfile
	// samples counts the samples that were read. The first one sets wallClock.
	samples   int
	wallClock bool

	// sample is the header of the current sample, if inSample is true. Its stack is leaf first.
	sample   header
	inSample bool
	stack    []int32
	// lines are the inlined functions at address, until the function that they are inlined into.
	lines      []dictionary.Line
	address    uint64
	attributes []int32
}

// readText reads all samples. An empty line or the next header ends a sample.
func (r *reader) readText(text []byte) {
	number := 1
	for ; len(text) > 0 && r.Err() == nil; number++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		r.Advance(int64(len(line)) + 1)
		if r.readLine(bytes.TrimRight(line, " \t\r")); r.Err() != nil {
			r.AddPosition("line %d", number)
			return
		}
	}
	if r.endSample(); r.Err() != nil {
		r.AddPosition("line %d", number-1)
	}
	if r.samples == 0 {
		r.Fail(profilebuilder.Malformed("there is no sample"))
	}
}

func (r *reader) readLine(line []byte) {
	switch {
	case len(line) == 0:
		r.endSample()
		return
	case line[0] == '#':
		return
	}
	if line[0] != '\t' {
		if h, ok := r.parseHeader(line); ok {
			r.endSample()
			r.beginSample(&h)
			return
		}
	}
	f, ok := parseFrame(line)
	switch {
	case !isSpace(line[0]) || !r.inSample:
		r.Fail(profilebuilder.Malformed("%.*q is not the header of a sample, which needs a thread, a time and an event: comm pid/tid [cpu] time: period event:", maxShown, line))
	case !ok:
		r.Fail(profilebuilder.Malformed("%.*q is not a frame, which begins with an address: address symbol (file)", maxShown, bytes.TrimSpace(line)))
	default:
		r.addFrame(&f)
	}
}

// beginSample starts a sample. Without call graphs, its only frame is on the same line. For a tracepoint, its fields
// follow the event name; they are ignored.
func (r *reader) beginSample(h *header) {
	r.sample, r.inSample = *h, true
	r.stack, r.lines = r.stack[:0], r.lines[:0]
	if f, ok := parseFrame(h.rest); ok && len(f.dso) > 0 {
		r.addFrame(&f)
	}
}

func (r *reader) endSample() {
	if !r.inSample || r.Err() != nil {
		return
	}
	r.inSample = false
	if len(r.lines) > 0 {
		r.addLocation(&frame{address: r.address})
	}
	h := &r.sample
	r.attributes = r.attributes[:0]
	if len(h.comm) > 0 {
		r.attributes = append(r.attributes, r.StringAttribute(semconv.ThreadName, h.comm))
	}
	r.addNumber(attributePID, h.pid)
	r.addNumber(semconv.ThreadID, h.tid)
	r.addNumber(attributeCPU, h.cpu)
	r.attributes = dictionary.SortSet(r.attributes, 0)
	r.addSample(h, r.Stack(r.stack, false))
}

// addNumber adds an attribute, unless the value is unknown.
func (r *reader) addNumber(key string, value int64) {
	if value >= 0 {
		r.attributes = append(r.attributes, r.IntAttribute(key, value))
	}
}
