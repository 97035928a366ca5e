// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/internal/profilebuilder"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// The classes of errors that [Decode] returns; test with errors.Is.
var (
	// ErrMalformed says that the payload breaks its form. The text names the line and column, or the byte.
	ErrMalformed = profilebuilder.ErrMalformed
	// ErrTooLarge says that a limit was exceeded. The text names it.
	ErrTooLarge = profilebuilder.ErrTooLarge
)

// Form is a form of collapsed stacks.
type Form int

const (
	// Groups has a stack, a space and a count in each line. It is also known as folded.
	Groups Form = iota
	// Lines has a stack in each line, which counts 1.
	Lines
	// Trie is a tree in bytes whose nodes hold parts of the text of stacks.
	Trie
	// Tree is a tree in bytes whose nodes are frames.
	Tree
)

// Options say how a payload is read. The zero value is for [Groups] that count samples.
type Options struct {
	Form Form
	// Period is what one count is worth, in the unit of the sample type. 0 means that the values are as they stand, and
	// that the profile has no period.
	Period int64
	Limits pprof.Limits
	// IncludeOriginalPayload copies the payload as it was given to Decode into the profile.
	IncludeOriginalPayload bool
}

// payloadFormat is the original_payload_format of all forms.
const payloadFormat = "collapsed"

// Decode translates one payload, plain, in gzip or in zstd. The result has one profile, of the first of the source's sample types,
// or samples/count, and shares no memory with payload. Equal stacks are one sample. The payload has no times.
//
// The error is ErrMalformed or ErrTooLarge, or one of inflating or of src.Reserve.
func Decode(payload []byte, src pprof.Source, options Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	common := profilebuilder.Options{Limits: options.Limits}
	if options.IncludeOriginalPayload {
		common.PayloadFormat = payloadFormat
	}
	b, plain, err := profilebuilder.New(payload, src, common)
	if err != nil {
		return pprofile.Profiles{}, b.Stats(), err
	}
	r := &reader{Builder: b, period: max(options.Period, 1), profile: b.AddProfile(profileOf(&src, options.Period))}
	switch options.Form {
	case Groups, Lines:
		r.readText(plain, options.Form == Groups)
	case Trie:
		r.readTrie(plain)
	case Tree:
		r.readTree(plain)
	}
	return b.Finish()
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
	// stack has the locations of a stack, the root first.
	stack []int32
}

// add adds a count to the sample of the stack. It fails if the value does not fit.
func (r *reader) add(count int64) {
	if r.Err() != nil {
		return
	}
	high, value := bits.Mul64(uint64(count), uint64(r.period))
	if high != 0 || int64(value) < 0 {
		r.Fail(profilebuilder.Malformed("the count %d is too large for a period of %d", count, r.period))
		return
	}
	r.profile.Add(r.Stack(r.stack, true), nil, int64(value))
}

// push adds a frame to the stack.
func (r *reader) push(location int32) {
	if r.CheckDepth(len(r.stack) + 1) {
		r.stack = profilebuilder.Append(r.Builder, r.stack, location)
	}
}
