// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// groupsOf returns a message with n groups of one profile each.
func groupsOf(n int) pprofile.Profiles {
	m := newMessage()
	for i := range n {
		p := m.profile("cpu/ns")
		p.SetTime(pcommon.Timestamp(i + 1))
		m.sample(p, m.stack("f", "g"), []int64{int64(i)}, m.attribute("group", i, "units"), m.attribute("text", []any{"a", "b"}, ""))
	}
	return m.done()
}

// pprofsOf copies the pprofs of a message.
func pprofsOf(t *testing.T, encoder *pprof.Encoder, pd pprofile.Profiles) (all [][]byte) {
	t.Helper()
	for payload, err := range encoder.All(pd) {
		if err == nil {
			all = append(all, bytes.Clone(payload.Pprof))
		}
	}
	return all
}

// TestEncodeLeavesNothingBehind: memory that is reused does not leak content into the next message.
func TestEncodeLeavesNothingBehind(t *testing.T) {
	broken := groupsOf(3)
	broken.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(1).Samples().At(0).SetStackIndex(99)
	messages := []pprofile.Profiles{groupsOf(5), codeMessage().done(), broken, groupsOf(1), pprofile.NewProfiles(), groupsOf(2)}
	for _, options := range []pprof.EncodeOptions{{}, {TimestampLabels: true, ResourceComments: true}} {
		shared := pprof.NewEncoder(options)
		for range 3 {
			for _, pd := range messages {
				require.Equal(t, pprofsOf(t, pprof.NewEncoder(options), pd), pprofsOf(t, shared, pd))
			}
		}
	}
}

// TestEndingTheIteration: the caller can stop after any pprof or error.
func TestEndingTheIteration(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	pd := groupsOf(4)
	pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(2).Samples().At(0).SetLinkIndex(99)
	pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(3).SampleType().SetTypeStrindex(99)
	whole := pprofsOf(t, encoder, pd)
	require.Len(t, whole, 2)
	for most := range 5 {
		seen := 0
		for range encoder.All(pd) {
			if seen == most {
				break
			}
			seen++
		}
		assert.Equal(t, min(most, 4), seen)
		require.Equal(t, whole, pprofsOf(t, encoder, pd), "what ended early does not show in the next")
	}
}

// TestIterationsInside: nested iterations have separate memory.
func TestIterationsInside(t *testing.T) {
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	outer, inner := groupsOf(3), codeMessage().done()
	want, wantInner := pprofsOf(t, encoder, outer), pprofsOf(t, encoder, inner)
	i := 0
	for payload, err := range encoder.All(outer) {
		require.NoError(t, err)
		require.Equal(t, wantInner, pprofsOf(t, encoder, inner))
		require.Equal(t, want[i], payload.Pprof)
		i++
	}
	all := encoder.All(outer)
	for range 2 { // a sequence can be iterated again
		n := 0
		for range all {
			n++
		}
		assert.Equal(t, 3, n)
	}
}

// TestConcurrentUse: goroutines share a decoder and an encoder. The race detector checks this.
func TestConcurrentUse(t *testing.T) {
	decoder, encoder := pprof.NewDecoder(pprof.DecodeOptions{}), pprof.NewEncoder(pprof.EncodeOptions{})
	type job struct {
		payload []byte
		pd      pprofile.Profiles
		message []byte
		pprofs  [][]byte
	}
	var jobs []job
	for _, file := range profiletest.OwnPprofs(t) {
		payload := file.Bytes(t)
		if len(payload) > 20_000 {
			continue
		}
		pd, _, err := decoder.Decode(payload, pprof.Source{})
		require.NoError(t, err)
		pd.MarkReadOnly()
		jobs = append(jobs, job{payload, pd, profiletest.Marshal(t, pd), pprofsOf(t, encoder, pd)})
	}
	require.Greater(t, len(jobs), 3)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 6 {
				job := jobs[(worker+i)%len(jobs)]
				pd, _, err := decoder.Decode(job.payload, pprof.Source{})
				if !assert.NoError(t, err) {
					return
				}
				assert.True(t, bytes.Equal(job.message, profiletest.Marshal(t, pd)))
				pprofs := pprofsOf(t, encoder, job.pd)
				assert.True(t, slices.EqualFunc(job.pprofs, pprofs, bytes.Equal))
			}
		})
	}
	group.Wait()
}
