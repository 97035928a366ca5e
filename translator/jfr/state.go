// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import (
	"github.com/grafana/jfr-parser/parser"
	"github.com/grafana/jfr-parser/parser/types"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
	"github.com/otelpprof/otelpprof/translator/jfr/internal/outline"
)

// decoding is the working memory of one translation, used again by the next.
type decoding struct {
	opts  *Options
	src   Source
	stats Stats

	inflated, inflatedLabels []byte

	dict      *dictionary.Builder
	recording *outline.Recording
	labels    labels
	lists     [numKinds]eventList
	clock     clock
	// first and last are the times of the first event, or chunk, and of the last.
	first, last uint64

	parser *parser.Parser
	// parsing says that the parser is running.
	parsing bool
	chunk   chunk

	attributes []int32
	text       []byte
	keys       keys

	reserved reservation
	// textBytes is the text of functions and attributes so far.
	textBytes int64
}

// chunk is what is known of the constants of the current chunk. All are indices of the dictionary plus one; 0 says nothing yet.
type chunk struct {
	outline   *outline.Chunk
	stacks    []int32
	functions []int32
	threads   [][]int32
	// frames is a table of frames by their hash.
	frames []frameEntry
	// samples is a table of observations by their hash.
	samples []sampleEntry
	// lastState is the state of the execution sample before, lastCPU and lastWall say which clocks such samples are of.
	lastState                    types.ThreadStateRef
	lastKnown, lastCPU, lastWall bool
	// frameTypes are the attributes of locations by the type of the frame.
	frameTypes [outline.NoFrameType + 1]int32
	// states are attributes, 0 for states without a name.
	states map[types.ThreadStateRef]int32
}

// keys are the strings of the dictionary that name attributes, plus one.
type keys struct {
	threadID, threadOSID, threadName, threadState, truncated, frameType int32
}

// key returns the string of the dictionary for the name of an attribute.
func (t *decoding) key(known *int32, name string) int32 {
	if *known == 0 {
		*known = t.dict.String(name) + 1
	}
	return *known - 1
}

func (t *decoding) begin(opts *Options, src Source) {
	t.opts, t.src = opts, src
	t.stats = Stats{}
	t.reserved = reservation{reserve: src.Reserve}
	t.textBytes, t.keys = 0, keys{}
	t.first, t.last = ^uint64(0), 0
	t.parsing = false
}

// release drops what refers to the caller's data and returns the size of the memory.
func (t *decoding) release() (bytes int) {
	t.src, t.recording, t.parser, t.labels = Source{}, nil, nil, labels{}
	t.reserved = reservation{}
	clear(t.chunk.threads[:cap(t.chunk.threads)])
	t.chunk.outline, t.chunk.states = nil, nil
	t.dict.Reset(dictionary.Sizes{})
	bytes = cap(t.inflated) + cap(t.inflatedLabels) + cap(t.text) + scratch.Bytes(t.chunk.stacks) + scratch.Bytes(t.chunk.functions) +
		24*cap(t.chunk.threads) + scratch.Bytes(t.chunk.samples) + scratch.Bytes(t.chunk.frames) + scratch.Bytes(t.attributes) + int(t.dict.Kept())
	for i := range t.lists {
		bytes += t.lists[i].release()
	}
	return bytes
}
