// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// firstProfile returns the only profile, or the first one, of what a receiver has passed on after one request.
func firstProfile(t *testing.T, target string, body []byte, headers ...string) pprofile.Profile {
	t.Helper()
	r := run(t, nil)
	got := r.post(t, target, body, headers...)
	require.Equal(t, http.StatusOK, got.status, got.text)
	return r.sink.one(t).ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
}

// TestTimesOfRequestsAreInIDs: equal payloads with different times in their requests are different captures, and have different
// ids. A retry repeats the times, and has the same ids.
func TestTimesOfRequestsAreInIDs(t *testing.T) {
	idle := []byte("main;idle 100")
	timeless := cpuProfile(1)
	timeless.TimeNanos, timeless.DurationNanos = 0, 0
	form := func(event string) []byte {
		return formOf("b", "cpu.pprof", string(plain(t, timeless)), "event", event)
	}
	otherEvent := strings.ReplaceAll(event, "2026-11-21T05:54", "2026-11-21T05:55")
	for name, c := range map[string]struct {
		target, otherTarget string
		body, otherBody     []byte
		headers             []string
	}{
		"folded": {
			target: "/ingest?name=app&format=folded&from=1795239900&until=1795239910", body: idle,
			otherTarget: "/ingest?name=app&format=folded&from=1795239910&until=1795239920", otherBody: idle,
		},
		"until alone differs": {
			target: "/ingest?name=app&format=folded&from=1795239900&until=1795239910", body: idle,
			otherTarget: "/ingest?name=app&format=folded&from=1795239900&until=1795239911", otherBody: idle,
		},
		"no until": {
			target: "/ingest?name=app&format=folded&from=1795239900", body: idle,
			otherTarget: "/ingest?name=app&format=folded&from=1795239910", otherBody: idle,
		},
		"pprof": {
			target: "/ingest?name=app&from=1795239900&until=1795239910", body: plain(t, timeless),
			otherTarget: "/ingest?name=app&from=1795239910&until=1795239920", otherBody: plain(t, timeless),
		},
		"Datadog": {
			target: "/profiling/v1/input", body: form(event), otherTarget: "/profiling/v1/input", otherBody: form(otherEvent), headers: asForm,
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := firstProfile(t, c.target, c.body, c.headers...)
			retry := firstProfile(t, c.target, c.body, c.headers...)
			other := firstProfile(t, c.otherTarget, c.otherBody, c.headers...)
			assert.NotZero(t, first.Time())
			assert.Equal(t, first.ProfileID(), retry.ProfileID(), "a retry")
			assert.Equal(t, first.Time(), retry.Time(), "a retry")
			assert.Equal(t, first.DurationNano(), retry.DurationNano(), "a retry")
			assert.NotEqual(t, first.ProfileID(), other.ProfileID(), "another capture")
		})
	}
}

// TestTimesOfPayloadsAreNotReplaced: the times of a request do not matter for a payload that has its own.
func TestTimesOfPayloadsAreNotReplaced(t *testing.T) {
	body := plain(t, cpuProfile(1))
	first := firstProfile(t, "/ingest?name=app&from=1795239900&until=1795239910", body)
	second := firstProfile(t, "/ingest?name=app&from=1795239910&until=1795239920", body)
	assert.Equal(t, first.ProfileID(), second.ProfileID())
}

// TestNoTimeAtAll: without a time that stays the same in a retry, a profile has that of its arrival. A retry has the same id, and
// profile_deduplicator passes on one of several equal captures per ttl.
func TestNoTimeAtAll(t *testing.T) {
	idle := []byte("main;idle 100")
	want := firstProfile(t, "/ingest?name=app&format=folded", idle).ProfileID()
	for _, query := range []string{"", "&from=&until=", "&from=now-10s&until=now", "&from=yesterday", "&until=1795239910"} {
		begin := time.Now()
		profile := firstProfile(t, "/ingest?name=app&format=folded"+query, idle)
		assert.False(t, profile.Time().AsTime().Before(begin), query)
		assert.False(t, profile.Time().AsTime().After(time.Now()), query)
		assert.Zero(t, profile.DurationNano(), query)
		assert.Equal(t, want, profile.ProfileID(), query)
	}
}

// TestTimesOfArrivalDiffer: a batch joins profiles with equal times to one pprof, so two payloads must not have the same, however
// coarse the clock is.
func TestTimesOfArrivalDiffer(t *testing.T) {
	var clock arrivalClock
	now := time.Now()
	first := clock.next(now)
	assert.Equal(t, now.UnixNano(), int64(first))
	assert.Greater(t, clock.next(now), first)
	assert.Greater(t, clock.next(now.Add(-time.Hour)), first+1)
}

// TestCombine combines all captured profiles into one message. Each is unchanged, with labels, links and the order of
// mappings, and entries that they share occur once.
func TestCombine(t *testing.T) {
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	var messages []pprofile.Profiles
	var originals []*profile.Profile
	strings := 0
	for _, payload := range profiletest.ClientPayloads(t) {
		if payload.Legacy {
			continue
		}
		message, _, err := decoder.Decode(payload.Data, pprof.Source{Resource: pcommon.NewMap()})
		require.NoError(t, err)
		strings += message.Dictionary().StringTable().Len()
		messages = append(messages, message)
		inflated := profiletest.Inflate(t, payload.Data)
		original := must.Get(profile.ParseData(inflated))(t)
		originals = append(originals, original)
	}
	whole := must.Get(combine(messages))(t)
	require.NoError(t, profiletest.Check(whole))
	assert.Less(t, whole.Dictionary().StringTable().Len(), strings/2)
	require.Equal(t, 1, whole.ResourceProfiles().Len(), "one resource")
	require.Equal(t, len(originals), whole.ResourceProfiles().At(0).ScopeProfiles().Len())

	i := 0
	for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).All(whole) {
		require.NoError(t, err)
		got := must.Get(profile.ParseData(payload.Pprof))(t)
		assert.Empty(t, profiletest.DiffPprof(originals[i], got), "profile %d", i)
		i++
	}
	assert.Equal(t, len(originals), i)
}

// TestCombineMappings keeps the order of mappings, and unused ones if configured.
func TestCombineMappings(t *testing.T) {
	message := func(options pprof.DecodeOptions) pprofile.Profiles {
		p := cpuProfile(1)
		for i, file := range []string{"main", "unused", "lib"} {
			p.Mapping = append(p.Mapping, &profile.Mapping{ID: uint64(i + 1), Start: uint64(i) * 0x1000, Limit: uint64(i+1) * 0x1000, File: file})
		}
		first := p.Location[0]
		first.Mapping = p.Mapping[2] // The stack's first mapping is the last one of the table.
		second := &profile.Location{ID: 2, Mapping: p.Mapping[0], Address: 1}
		p.Location = append(p.Location, second)
		p.Sample[0].Location = append(p.Sample[0].Location, second)
		out, _, err := pprof.NewDecoder(options).Decode(plain(t, p), pprof.Source{Resource: pcommon.NewMap()})
		require.NoError(t, err)
		return out
	}
	for all, want := range map[bool][]string{false: {"", "main", "lib"}, true: {"", "main", "unused", "lib"}} {
		options := pprof.DecodeOptions{KeepUnreferencedMappings: all}
		var kept []dictionary.Table
		if all {
			kept = []dictionary.Table{dictionary.Mappings}
		}
		whole := must.Get(combine([]pprofile.Profiles{message(options), message(options)}, kept...))(t)
		var files []string
		for _, mapping := range whole.Dictionary().MappingTable().All() {
			files = append(files, whole.Dictionary().StringTable().At(int(mapping.FilenameStrindex())))
		}
		assert.True(t, slices.Equal(want, files), files)
	}
}
