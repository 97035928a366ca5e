// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package collapsed translates collapsed stacks to OTLP profiles. It reads the text that stackcollapse scripts and many
// profilers write: one stack on each line, root first, with semicolons between the frames. It also reads the two binary
// forms that older Pyroscope clients send.
package collapsed // import "github.com/otelpprof/otelpprof/translator/text/collapsed"

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// Form is one of the forms of collapsed stacks.
type Form int

const (
	// Groups has one stack, a space and a count on each line. This form is also called folded.
	Groups Form = iota
	// Lines has one stack on each line. Each line counts 1.
	Lines
	// Trie is a binary tree format whose nodes are parts of the text of stacks.
	Trie
	// Tree is a binary tree format whose nodes are frames.
	Tree
)

// Options configure [Decode]. The zero value reads [Groups] and counts samples.
type Options struct {
	Form Form
	// Period is the value of one count, in the unit of the sample type. With 0, counts are used as they are, and the
	// profile has no period.
	Period int64
	text.Options
}

// payloadFormat is the original_payload_format of all forms.
const payloadFormat = "collapsed"

// Decode translates one payload: plain, in gzip or in zstd. The result has one profile. Its sample type is the first one
// in src.SampleTypes, that of the mode of Austin, or samples/count. The result shares no memory with payload. Equal stacks become one sample. The
// format has no times.
func Decode(payload []byte, src pprof.Source, options Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	return profilebuilder.Decode(payload, src, options.Options, payloadFormat, func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{Builder: b, period: max(options.Period, 1), profile: b.AddProfile(profileOf(&src, options.Period)), hasType: len(src.SampleTypes) > 0}
		switch options.Form {
		case Groups, Lines:
			r.EachLine(plain, func(line []byte) { r.readLine(line, options.Form == Groups) })
		case Trie:
			r.readTrie(plain)
		case Tree:
			r.readTree(plain)
		default:
			r.Failf("form %d is not known", options.Form)
		}
	})
}

func profileOf(src *pprof.Source, period int64) profilebuilder.Profile {
	p := profilebuilder.Profile{Type: pprof.ValueType{Type: "samples", Unit: "count"}}
	if len(src.SampleTypes) > 0 {
		p.Type = src.SampleTypes[0]
	}
	if period > 0 {
		p.PeriodType, p.Period = p.Type, period
	}
	return p
}

// reader reads one payload.
type reader struct {
	*profilebuilder.Builder
	profile *profilebuilder.Profile
	period  int64
	// hasType is true if the source names the type of the values, isAustin if a header names Austin.
	hasType, isAustin bool
	// stack is the current stack, root first.
	stack []int32
	// text is the stack of the last line, and index its index.
	text  []byte
	index int32
}

// addNode adds the value of a node to the sample of the current stack. Writers give each node a stack of its own. Repeated ones count, too: 14
// million fit into 6 kB of zstd.
func (r *reader) addNode(value int64) {
	r.CheckSamples()
	r.addAt(r.Stack(r.stack, true), value)
}

// addAt adds count to the sample of a stack. It fails if the product of count and period overflows int64.
func (r *reader) addAt(stack int32, count int64) {
	if r.Err() != nil {
		return
	}
	high, value := bits.Mul64(uint64(count), uint64(r.period))
	if high != 0 || int64(value) < 0 {
		r.Failf("the count %d is too large for a period of %d", count, r.period)
		return
	}
	r.profile.Add(stack, nil, int64(value), 0)
}
