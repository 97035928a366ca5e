// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// upload is what a profiler sends: a gzipped pprof.
func upload() []byte {
	work := &profile.Function{ID: 1, Name: "main.work", Filename: "main.go"}
	at := &profile.Location{ID: 1, Line: []profile.Line{{Function: work, Line: 42}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   []*profile.Function{work},
		Location:   []*profile.Location{at},
		Sample:     []*profile.Sample{{Location: []*profile.Location{at}, Value: []int64{3, 30_000_000}}},
		TimeNanos:  1_767_225_600_000_000_000,
	}
	var buffer bytes.Buffer
	if err := p.Write(&buffer); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func ExampleDecoder() {
	decoder := pprof.NewDecoder(pprof.DecodeOptions{Limits: pprof.Limits{InflatedBytes: 16 << 20}})
	resource := pcommon.NewMap()
	resource.PutStr("service.name", "checkout")

	pd, stats, err := decoder.Decode(upload(), pprof.Source{Resource: resource})
	switch {
	case errors.Is(err, pprof.ErrTooLarge):
		fmt.Println("send less:", err)
		return
	case err != nil:
		fmt.Println("cannot use it:", err)
		return
	}
	fmt.Println(stats.Samples, "sample of pprof,", stats.OTLPSamples, "samples of OTLP")
	names := pd.Dictionary().StringTable()
	for _, p := range pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
		v := p.SampleType()
		fmt.Println(names.At(int(v.TypeStrindex())), p.Samples().At(0).Values().At(0), names.At(int(v.UnitStrindex())))
	}
	// Output:
	// 1 sample of pprof, 2 samples of OTLP
	// cpu 30000000 nanoseconds
	// samples 3 count
}

func ExampleEncoder() {
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(upload(), pprof.Source{})
	if err != nil {
		panic(err)
	}
	// A second profile refers to a stack that does not exist. Only this profile is lost.
	broken := pd.ResourceProfiles().At(0).ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	broken.Samples().AppendEmpty().SetStackIndex(7)

	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	for payload, err := range encoder.All(pd) {
		if fault, ok := errors.AsType[*pprof.ProfileError](err); ok {
			fmt.Println(fault)
			continue
		}
		// payload.Pprof is valid in this body only.
		p, err := profile.ParseData(payload.Pprof)
		if err != nil {
			panic(err)
		}
		fmt.Println(payload.ProfileType, "profile of", payload.Samples, "sample:", p.Sample[0].Location[0].Line[0].Function.Name)
	}
	// Output:
	// cpu profile of 1 sample: main.work
	// cannot write profile 0 of scope 1 of resource 0 as pprof: sample 0: index 7 of the stack table does not exist, it has 2 entries
}

func ExampleAppendGzip() {
	pd := pprofile.NewProfiles()
	pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty().SetTime(1)

	var buffer []byte // reused for each pprof
	for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
		if err != nil {
			panic(err)
		}
		buffer, err = pprof.AppendGzip(buffer[:0], payload.Pprof, 9)
		if err != nil {
			panic(err)
		}
		reader, err := gzip.NewReader(bytes.NewReader(buffer))
		if err != nil {
			panic(err)
		}
		plain, err := io.ReadAll(reader)
		fmt.Println(bytes.Equal(plain, payload.Pprof), err)
	}
	// Output: true <nil>
}
