// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package pprof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestDecodeAllocates: decoding allocates less than unmarshalling the resulting message. Most of it is pdata.
func TestDecodeAllocates(t *testing.T) {
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, file := range profiletest.OwnPprofs(t) {
		payload := file.Bytes(t)
		pd, _, err := decoder.Decode(payload, pprof.Source{})
		require.NoError(t, err)
		content := profiletest.Marshal(t, pd)
		unmarshaler := &pprofile.ProtoUnmarshaler{}
		most := testing.AllocsPerRun(1, func() {
			if _, err := unmarshaler.UnmarshalProfiles(content); err != nil {
				t.Error(err)
			}
		})
		got := testing.AllocsPerRun(3, func() {
			if _, _, err := decoder.Decode(payload, pprof.Source{}); err != nil {
				t.Error(err)
			}
		})
		assert.Less(t, got, most, file.Name)
	}
}

// TestEncodeAllocates: encoding allocates a few times for each profile, whatever the number of samples. It reuses its
// memory.
func TestEncodeAllocates(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	for _, file := range profiletest.OwnPprofs(t) {
		pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(file.Bytes(t), pprof.Source{})
		require.NoError(t, err)
		run := func() {
			for _, err := range encoder.All(pd) {
				if err != nil {
					t.Error(err)
				}
			}
		}
		run()
		profiles, _ := countProfiles(pd)
		assert.LessOrEqual(t, testing.AllocsPerRun(5, run), float64(30+8*profiles), file.Name)
	}
}

// TestAppendGzipAllocates: nothing is allocated if the destination is large enough.
func TestAppendGzipAllocates(t *testing.T) {
	content, dst := make([]byte, 10_000), make([]byte, 0, 20_000)
	allocations := testing.AllocsPerRun(20, func() {
		if _, err := pprof.AppendGzip(dst, content, 6); err != nil {
			t.Error(err)
		}
	})
	assert.Less(t, allocations, 1.0)
}
