// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/javaframe"
	"github.com/otelpprof/otelpprof/translator/internal/tables"
)

// decoding is the memory of one request. The next one reuses it.
//
// A record adds nothing to the dictionary until it is known to be valid. Only a pprof that is refused for memory can leave entries,
// which are removed at the end, so a refused record leaves nothing in the message.
type decoding struct {
	opts     *Options
	received pcommon.Timestamp
	profiles pprofile.Profiles
	result   Result
	dict     *dictionary.Builder

	// samplesLeft and inflatedLeft are the limits for the rest of the request.
	samplesLeft  int
	inflatedLeft int64

	memory requestMemory

	resources  []*resourceEntry
	byResource map[uint64][]*resourceEntry
	resource   *resourceEntry
	scope      *scopeEntry
	// groups are those of the request in the order of their first records, and behind their end groups of earlier requests.
	groups []*textGroup

	record record
	// body is the record's body, payload is the body after decoding base64, inflated is the payload after decompression.
	body, payload     []byte
	decoded, inflated []byte

	wire   pprofwire.Profile
	tables tables.Tables
	events events
	labels labelTranslation
	// stacks has an entry for each sample of the pprof.
	stacks []sampleStack

	text      text
	functions javaframe.Normalizer

	lines      []dictionary.Line
	stack      []int32
	attributes []int32
	keys       keySet
	// native is the frame type attribute of native code, plus one.
	native int32
	// leftovers is true if a refused pprof has left entries in the dictionary.
	leftovers bool
}

func (t *decoding) begin(opts *Options, received pcommon.Timestamp) {
	t.opts, t.received = opts, min(received, math.MaxInt64)
	t.profiles = pprofile.NewProfiles()
	t.result = Result{}
	t.memory, t.leftovers = requestMemory{}, false
	t.samplesLeft = opts.Limits.Samples
	t.inflatedLeft = requestFactor * int64(opts.Limits.InflatedBytes)
	if t.byResource == nil {
		t.byResource = map[uint64][]*resourceEntry{}
	}
}

// release drops all references to the caller's data, and returns the approximate size of the memory that is kept.
func (t *decoding) release() (bytes int) {
	t.profiles, t.result = pprofile.Profiles{}, Result{}
	clear(t.resources)
	clear(t.byResource)
	t.resources = t.resources[:0]
	t.resource, t.scope = nil, nil
	t.record = record{}
	t.payload, t.native = nil, 0
	t.wire.Reset()
	t.tables.Release()
	t.dict.Reset(dictionary.Lengths{})
	for _, g := range t.groups {
		g.key, g.scope, g.hash = groupKey{}, nil, nil
	}
	t.groups = t.groups[:0]
	t.memory = requestMemory{}
	return t.bytes()
}

// bytes returns the memory that is kept, in bytes.
func (t *decoding) bytes() int {
	l, groups := &t.labels, 0
	for _, g := range t.groups[:cap(t.groups)] {
		if g != nil {
			groups += groupBytes + g.events.bytes()
		}
	}
	return groups + int(t.dict.Kept()+t.wire.Kept()+t.tables.Kept()) + cap(t.body) + cap(t.decoded) + cap(t.inflated) + t.events.bytes() +
		4*(cap(t.stack)+cap(t.attributes)) + cap(l.roles) + 24*(cap(l.links)+cap(l.lastLinks)+cap(t.lines)) +
		12*cap(t.stacks) + 8*cap(t.keys.stamps) + 64*cap(t.text.frames) + 8*cap(t.resources)
}

// keySet is a set of attribute keys, with access in constant time.
type keySet struct {
	stamps []uint64
	stamp  uint64
}

// next empties the set.
func (s *keySet) next() { s.stamp++ }

// add adds a key, an index of the dictionary's strings, and reports whether it is new.
func (s *keySet) add(key int32) bool {
	if n := int(key) + 1 - len(s.stamps); n > 0 {
		s.stamps = append(s.stamps, make([]uint64, n)...)
	}
	if s.stamps[key] == s.stamp {
		return false
	}
	s.stamps[key] = s.stamp
	return true
}
