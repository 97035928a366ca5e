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

// decoding is the working memory of one translation. The next translation uses it again.
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
	// first and last are the time range of the profiles in nanoseconds since 1970: of all events and chunks. last is not part of it.
	first, last uint64

	parser *parser.Parser
	// parsing says that the parser is running, so that a panic comes from it.
	parsing bool
	chunk   chunk

	attributes []int32
	text       []byte
	keys       keys

	reserved reservation
	// textBytes is the size of the text of functions and attributes so far, see spendText.
	textBytes int64
}

// chunk has the translated constants of the current chunk. Unless a field says otherwise, the numbers are indices in the dictionary
// plus one, and 0 means not translated yet.
type chunk struct {
	outline   *outline.Chunk
	stacks    []int32
	functions []int32
	// threads has the attributes of threads as indices in the dictionary, not plus one. nil means not translated yet.
	threads [][]int32
	// frames is a hash table of frames, see decoding.location.
	frames []frameEntry
	// samples is a hash table of observations, see decoding.add.
	samples []sampleEntry
	// lastState is the state of the previous execution sample. lastCPU and lastWall are its result of clocksOf. lastKnown says that
	// there was such a sample.
	lastState                    types.ThreadStateRef
	lastKnown, lastCPU, lastWall bool
	// frameTypes has the attributes of locations by frame type.
	frameTypes [outline.NoFrameType + 1]int32
	// states has the attributes of thread states. 0 means that the state has no name.
	states map[types.ThreadStateRef]int32
}

// keys has the string indices of the attribute keys, plus one. 0 means that the dictionary does not have the key yet.
type keys struct {
	threadID, threadOSID, threadName, threadState, truncated, frameType int32
}

// key returns the string index of an attribute key.
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

// release drops all references to the caller's data, and returns the size of the memory that it keeps, in bytes.
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
