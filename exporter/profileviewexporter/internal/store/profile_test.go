// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestHead checks which profiles are of CPU time, and which of them go build accepts.
func TestHead(t *testing.T) {
	cpu, samples, wall := pprof.SampleType{Name: "cpu", Unit: "nanoseconds"}, pprof.SampleType{Name: "samples", Unit: "count"},
		pprof.SampleType{Name: "wall", Unit: "nanoseconds"}
	for name, test := range map[string]struct {
		types     []pprof.SampleType
		period    pprof.SampleType
		startLine int64
		cpu, pgo  bool
	}{
		"cpu":                     {types: []pprof.SampleType{samples, cpu}, cpu: true},
		"cpu with start lines":    {types: []pprof.SampleType{cpu}, startLine: 7, cpu: true, pgo: true},
		"samples per CPU time":    {types: []pprof.SampleType{samples}, period: cpu, startLine: 7, cpu: true, pgo: true},
		"samples per wall time":   {types: []pprof.SampleType{samples}, period: wall, startLine: 7},
		"wall":                    {types: []pprof.SampleType{samples, wall}, period: wall, startLine: 7},
		"wall with period of CPU": {types: []pprof.SampleType{wall}, period: cpu, startLine: 7},
		"no types":                {startLine: 7},
	} {
		var b []byte
		texts := []string{""}
		valueType := func(t pprof.SampleType) pprofwire.ValueType {
			texts = append(texts, t.Name, t.Unit)
			return pprofwire.ValueType{Type: uint32(len(texts) - 2), Unit: uint32(len(texts) - 1)}
		}
		for _, sampleType := range test.types {
			b = pprofwire.AppendSampleType(b, valueType(sampleType))
		}
		if test.period != (pprof.SampleType{}) {
			b = pprofwire.AppendPeriodType(b, valueType(test.period))
		}
		b = pprofwire.AppendFunction(b, pprofwire.Function{ID: 1})
		b = pprofwire.AppendFunction(b, pprofwire.Function{ID: 2, StartLine: test.startLine})
		for _, text := range texts {
			b = pprofwire.AppendString(b, text)
		}
		var p pprofwire.Profile
		assert.NoError(t, p.Read(b, pprofwire.NoLimits()), name)
		head := headOf(&p, "a")
		assert.Equal(t, test.cpu, head.CPU, name)
		assert.Equal(t, test.pgo, head.PGO, name)
	}
}
