// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// strict returns a message that Parca takes.
func strict() pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().Append("", "cpu")
	d.LinkTable().AppendEmpty()
	p := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SetProfileID([16]byte{1})
	p.PeriodType().SetTypeStrindex(1)
	p.Samples().AppendEmpty().Values().Append(1)
	return pd
}

// TestParcaRefuses: the server that stands for Parca is as strict as Parca.
func TestParcaRefuses(t *testing.T) {
	require.NoError(t, parcaRefuses(strict()))
	profileOf := func(pd pprofile.Profiles) pprofile.Profile {
		return pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	}
	for name, change := range map[string]func(pprofile.Profiles){
		"a link without a span": func(pd pprofile.Profiles) { pd.Dictionary().LinkTable().AppendEmpty().SetTraceID([16]byte{1}) },
		"a link at 0":           func(pd pprofile.Profiles) { pd.Dictionary().LinkTable().At(0).SetSpanID([8]byte{1}) },
		"no sample": func(pd pprofile.Profiles) {
			profileOf(pd).Samples().RemoveIf(func(pprofile.Sample) bool { return true })
		},
		"no id":                func(pd pprofile.Profiles) { profileOf(pd).SetProfileID([16]byte{}) },
		"no period type":       func(pd pprofile.Profiles) { profileOf(pd).PeriodType().SetTypeStrindex(0) },
		"two values, no time":  func(pd pprofile.Profiles) { profileOf(pd).Samples().At(0).Values().Append(1) },
		"a time after the end": func(pd pprofile.Profiles) { profileOf(pd).Samples().At(0).TimestampsUnixNano().Append(1) },
	} {
		pd := strict()
		change(pd)
		assert.Error(t, parcaRefuses(pd), name)
	}
	assert.Error(t, sequential(&profile.Profile{Function: []*profile.Function{{ID: 2}}}))
}

// TestPyroscopeRefuses: the server that stands for Pyroscope is as strict as Pyroscope.
func TestPyroscopeRefuses(t *testing.T) {
	payload := func(sampleType string, samples int) []byte {
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: sampleType, Unit: "count"}}}
		for range samples {
			p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}})
		}
		var buffer bytes.Buffer
		require.NoError(t, p.Write(&buffer))
		return buffer.Bytes()
	}
	labels := map[string]string{"service_name": "checkout"}
	_, err := (&series{name: "process_cpu", labels: labels}).take(payload("cpu", 1))
	require.NoError(t, err)
	for name, refused := range map[string]func() error{
		"a name of a metric": func() error { _, err := (&series{name: "a-b", labels: labels}).take(payload("cpu", 1)); return err },
		"no service":         func() error { _, err := (&series{}).take(payload("cpu", 1)); return err },
		"a sample type":      func() error { _, err := (&series{labels: labels}).take(payload("wall-time", 1)); return err },
		"samples":            func() error { _, err := (&series{labels: labels}).take(payload("cpu", maxSamples+1)); return err },
		"no gzip":            func() error { _, err := (&series{labels: labels}).take([]byte("text")); return err },
		"a label twice":      func() error { return (&series{labels: labels}).add("service_name", "x") },
		"a label's name":     func() error { return (&series{labels: labels}).add("a-b", "x") },
		"no value":           func() error { return (&series{labels: labels}).add("a", "") },
	} {
		assert.Error(t, refused(), name)
	}
}

// TestIngestName: the first type that says more decides, and wall before all others.
func TestIngestName(t *testing.T) {
	for want, types := range map[string][]string{
		"wall":        {"samples", "cpu", "wall"},
		"process_cpu": {"cpu", "exception", "alloc_samples", "inuse_objects"},
		"memory":      {"alloc_objects", "cpu"},
		"goroutines":  {"goroutine"},
	} {
		name := ""
		for _, sampleType := range types {
			name = ingestName(name, sampleType, "")
		}
		assert.Equal(t, want, name)
	}
}
