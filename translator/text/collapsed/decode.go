// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package collapsed translates collapsed stacks to OTLP profiles. It reads the text that stackcollapse scripts and many
// profilers write: one stack on each line, root first, with semicolons between the frames. It also reads the two binary
// forms that older Pyroscope clients send.
package collapsed // import "github.com/otelpprof/otelpprof/translator/text/collapsed"

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"

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

// Decode translates one payload: plain, in gzip or in zstd. The result has one profile. Its sample type is the first one
// in src.SampleTypes, that of the mode of Austin, or samples/count. The result shares no memory with payload. Equal stacks become one sample. The
// format has no times.
func Decode(payload []byte, src pprof.Source, options Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	return profilebuilder.Decode(payload, src, options.Options, "collapsed", func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{Builder: b, period: max(options.Period, 1), profile: b.AddProfile(profileOf(&src, options.Period)), hasType: len(src.SampleTypes) > 0}
		switch options.Form {
		case Groups, Lines:
			r.counted = options.Form == Groups
			r.EachLine(plain, r.readLine)
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
	// counted is true if each line has a count.
	counted bool
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

// readLine reads the stack of a line, unless the line is empty.
func (r *reader) readLine(line []byte) {
	if len(line) == 0 {
		return
	}
	stack, count := line, int64(1)
	if r.counted {
		if key, value, isHeader := cutHeader(line); isHeader {
			r.readHeader(key, value)
			return
		}
		end := bytes.LastIndexAny(line, " \t")
		if end < 0 {
			r.Failf("%q has no count, it must be a stack, a space and a count", line)
			return
		}
		var err error
		if count, err = parseCount(line[end+1:]); err != nil {
			r.Failf("column %d: the count %q is not a whole number from 0 to %d", end+2, line[end+1:], int64(math.MaxInt64))
			return
		}
		stack = bytes.TrimRight(line[:end], " \t")
	}
	if len(r.text) == 0 || !bytes.Equal(stack, r.text) { // Equal lines often follow each other.
		r.text = stack
		r.readStack(stack)
		r.index = r.Stack(r.stack, true)
	}
	r.addAt(r.index, count)
}

// readStack sets the current stack to the frames in text.
func (r *reader) readStack(text []byte) {
	r.stack = r.stack[:0]
	column := 1
	for more := true; more && r.Err() == nil; {
		var name []byte
		length := len(text)
		name, text, more = bytes.Cut(text, []byte(";"))
		if len(name) == 0 {
			r.Failf("column %d: a frame has no name", column)
			return
		}
		if i := controlAt(name); i >= 0 {
			r.Failf("column %d: a frame has the control character %q", column+i, name[i])
			return
		}
		column += length - len(text)
		r.stack = r.Push(r.stack, r.FrameLocation(name, nil, 0, 0))
	}
}

// controlAt returns the index of the first control character, or -1. Text has none.
func controlAt(text []byte) int {
	for i, c := range text {
		if c < ' ' && c != '\t' {
			return i
		}
	}
	return -1
}

// maxDigits limits the digits of a count, with zeros before it.
const maxDigits = 64

// parseCount parses decimal digits. A fraction must be 0: values are whole numbers.
func parseCount(digits []byte) (int64, error) {
	whole, fraction, found := bytes.Cut(digits, []byte("."))
	if found && len(fraction) > 0 && len(bytes.Trim(fraction, "0")) == 0 {
		digits = whole
	}
	if len(digits) > maxDigits {
		return 0, strconv.ErrRange
	}
	n, err := strconv.ParseUint(string(digits), 10, 63)
	return int64(n), err
}

// IsText reports whether a decompressed payload looks like [Groups]: the first line is text, and ends with a space and a
// count. No protobuf message looks like this.
func IsText(payload []byte) bool {
	const longest = 1 << 20
	line, _, _ := bytes.Cut(payload[:min(len(payload), longest)], []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	if controlAt(line) >= 0 {
		return false
	}
	end := bytes.LastIndexAny(line, " \t")
	if end <= 0 {
		return false
	}
	_, err := parseCount(line[end+1:])
	return err == nil
}

// austinTypes are the types of values of Austin, a profiler for Python, by its mode.
var austinTypes = map[string]pprof.ValueType{
	"wall": {Type: "wall", Unit: "nanoseconds"},
	"cpu":  {Type: "cpu", Unit: "nanoseconds"},
}

// cutHeader returns the key and value of a line such as "# mode: wall". Austin writes such lines before and after the stacks. No stack
// is lost: a stack whose first frame begins like this has other frames.
func cutHeader(line []byte) (key, value []byte, isHeader bool) {
	rest, found := bytes.CutPrefix(line, []byte("# "))
	key, value, isHeader = bytes.Cut(rest, []byte(": "))
	return key, value, found && isHeader && bytes.IndexByte(key, ' ') < 0 && bytes.IndexByte(line, ';') < 0
}

// readHeader reads a header. The mode of Austin decides the type of the values, unless the source has one.
func (r *reader) readHeader(key, value []byte) {
	switch string(key) {
	case "austin":
		r.isAustin = true
	case "mode":
		if !r.isAustin || r.hasType {
			return
		}
		valueType, known := austinTypes[string(value)]
		if !known || len(r.text) > 0 && r.profile.Type != valueType {
			r.Failf("the type of values is not known for the mode %q of Austin, or their mode comes after them: name a sample type", value)
			return
		}
		r.profile.Type, r.period = valueType, 1000 // It writes microseconds.
	}
}
