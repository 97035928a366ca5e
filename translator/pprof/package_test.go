// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asInPprof has the rules of OTLP, without those that valid pprofs can violate.
var asInPprof = profiletest.CheckOptions{AllowNegativeLines: true, AllowNamelessFunctions: true}

// payload builds a pprof for a test, including ones that google/pprof would not write.
type payload struct {
	table []string
	body  []byte
}

// newPayload returns a payload with sample types such as "cpu/nanoseconds".
func newPayload(types ...string) *payload {
	p := &payload{table: []string{""}}
	for _, t := range types {
		p.body = pprofwire.AppendSampleType(p.body, p.valueType(t))
	}
	return p
}

// text returns the index of a string. Equal strings have the same index.
func (p *payload) text(s string) uint32 {
	for i := range p.table {
		if p.table[i] == s {
			return uint32(i)
		}
	}
	return p.add(s)
}

// add adds a string to the table, even if it is in the table.
func (p *payload) add(s string) uint32 {
	p.table = append(p.table, s)
	return uint32(len(p.table) - 1)
}

func (p *payload) valueType(t string) pprofwire.ValueType {
	name, unit, _ := strings.Cut(t, "/")
	return pprofwire.ValueType{Type: p.text(name), Unit: p.text(unit)}
}

// label has either str or num. isStr tells which, since both can be empty.
type label struct {
	key, str string
	isStr    bool
	num      int64
	unit     string
}

func str(key, value string) label { return label{key: key, str: value, isStr: true} }

func num(key string, value int64, unit string) label { return label{key: key, num: value, unit: unit} }

// sample adds a sample with one value for each sample type.
func (p *payload) sample(locations []uint32, values []int64, labels ...label) *payload {
	var ids, written []byte
	for _, id := range locations {
		ids = pprofwire.AppendID(ids, id)
	}
	for _, l := range labels {
		wire := pprofwire.Label{Key: p.text(l.key), Num: l.num, NumUnit: p.text(l.unit)}
		switch {
		case l.isStr && l.str == "":
			wire.Str = p.add("") // index 0 means no string
		case l.isStr:
			wire.Str = p.text(l.str)
		}
		written = pprofwire.AppendLabel(written, wire)
	}
	p.body = pprofwire.AppendSample(p.body, ids, values, written)
	return p
}

// code adds functions leaf, middle and root, each with its own location, 1 to 3.
func (p *payload) code() *payload {
	for i, name := range []string{"leaf", "middle", "root"} {
		id := uint64(i + 1)
		p.function(pprofwire.Function{ID: id, Name: p.text(name)})
		p.location(pprofwire.Location{ID: id}, pprofwire.Line{FunctionID: id})
	}
	return p
}

func (p *payload) function(f pprofwire.Function) *payload {
	p.body = pprofwire.AppendFunction(p.body, f)
	return p
}

func (p *payload) location(l pprofwire.Location, lines ...pprofwire.Line) *payload {
	p.body = pprofwire.AppendLocation(p.body, l, lines)
	return p
}

func (p *payload) mapping(m pprofwire.Mapping) *payload {
	p.body = pprofwire.AppendMapping(p.body, m)
	return p
}

func (p *payload) period(t string) *payload {
	p.body = pprofwire.AppendPeriodType(p.body, p.valueType(t))
	return p
}

func (p *payload) header(h pprofwire.Header) *payload {
	p.body = pprofwire.AppendHeader(p.body, h)
	return p
}

// bytes returns the pprof.
func (p *payload) bytes() []byte {
	raw := append([]byte(nil), p.body...)
	for _, s := range p.table {
		raw = pprofwire.AppendString(raw, s)
	}
	return raw
}

func gunzip(t *testing.T, compressed []byte) []byte {
	t.Helper()
	reader := must.Get(gzip.NewReader(bytes.NewReader(compressed)))(t)
	plain := must.Get(io.ReadAll(reader))(t)
	return plain
}

// TestAppendGzip: every level, with an empty destination and with one that has content. The standard library reads the
// result.
func TestAppendGzip(t *testing.T) {
	sizes := map[int]int{}
	plain := bytes.Repeat(codeMessagePprof(t), 50)
	for _, content := range [][]byte{nil, []byte("x"), plain} {
		for level := range 10 {
			compressed := must.Get(pprof.AppendGzip(nil, content, level))(t)
			assert.Equal(t, string(content), string(gunzip(t, compressed)))
			sizes[level] = len(compressed)

			behind := must.Get(pprof.AppendGzip([]byte("before"), content, level))(t)
			assert.Equal(t, append([]byte("before"), compressed...), behind)
		}
	}
	assert.Equal(t, sizes[6], sizes[0], "0 is the default, 6")
	assert.GreaterOrEqual(t, sizes[1], sizes[9])
}

func codeMessagePprof(t *testing.T) []byte {
	t.Helper()
	return encode(t, codeMessage().done(), pprof.EncodeOptions{})[0].Pprof
}

func TestAppendGzipRefusesLevels(t *testing.T) {
	for _, level := range []int{-3, -2, -1, 10, 100} {
		got, err := pprof.AppendGzip([]byte("before"), []byte("x"), level)
		require.ErrorContains(t, err, "is not between 1 and 9")
		assert.Equal(t, "before", string(got))
	}
}

// TestAppendGzipAtTheSameTime: concurrent calls share writers, but not output.
func TestAppendGzipAtTheSameTime(t *testing.T) {
	var group sync.WaitGroup
	for worker := range byte(8) {
		group.Go(func() {
			content := bytes.Repeat([]byte{worker}, 1000*int(worker+1))
			for range 20 {
				compressed, err := pprof.AppendGzip(nil, content, 1)
				assert.NoError(t, err)
				assert.Equal(t, content, gunzip(t, compressed))
			}
		})
	}
	group.Wait()
}
