// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/metadata"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persisttest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
)

var storageID = component.MustNewID("file_storage")

// host has extensions.
type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

// newStored returns an exporter with a storage. stop shuts it down.
func newStored(t *testing.T, keeper component.Component, change func(*Config)) (s *serving, stop func()) {
	t.Helper()
	s = newHosted(t, host{storageID: keeper}, func(cfg *Config) {
		cfg.Storage = &storageID
		if change != nil {
			change(cfg)
		}
	})
	return s, func() {
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, s.Shutdown(context.WithoutCancel(t.Context())))
	}
}

func TestStorageOverRestart(t *testing.T) {
	keeper := persisttest.New()
	tenants := func(cfg *Config) { cfg.Tenant.MetadataKey = "x-tenant" }
	s, stop := newStored(t, keeper, tenants)
	of := func(tenant string) context.Context {
		return client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{"x-tenant": {tenant}})})
	}
	now := time.Now()
	for i := range 3 {
		attributes := map[string]any{"service.name": "checkout", "k8s.pod.name": fmt.Sprint("p", i)}
		pd := deliverytest.Decode(t, made(t, now, []string{"alloc_space", "inuse_space"}, 10, int64(i+1)), attributes)
		require.NoError(t, s.ConsumeProfiles(of("one"), pd))
		require.NoError(t, s.ConsumeProfiles(of("one"), pd), "the same again")
	}
	require.NoError(t, s.ConsumeProfiles(of("two"), deliverytest.CPU(t, "secret")))
	require.NoError(t, s.ConsumeProfiles(of("one"), deliverytest.Decode(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), map[string]any{"service.name": "checkout"})))
	pages := []string{"/profiles/checkout/inuse_space", "/collapsed/checkout/cpu", "/pgo/checkout", "/profiles", "/profiles/checkout/inuse_space?resource.k8s.pod.name=p1"}
	answers := func(s *serving) (all []string) {
		for _, page := range pages {
			response, body := s.get(t, page, "X-Scope-OrgID", "one")
			require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", page, body)
			all = append(all, string(body))
		}
		return all
	}
	want := answers(s)
	assert.NotContains(t, want[3], "secret")
	stop()
	assert.Zero(t, keeper.Open())

	again, stop := newStored(t, keeper, tenants)
	assert.Equal(t, want, answers(again))
	assert.EqualValues(t, 5, gauge(t, again.telemetry, "stored_profiles"))
	assert.Positive(t, gauge(t, again.telemetry, "stored_bytes"))
	assert.Zero(t, gauge(t, again.telemetry, "storage_pending"))
	assert.EqualValues(t, 5, counted(t, again.telemetry, "profiles_restored", "", ""))
	response, _ := again.get(t, "/profiles/secret/cpu", "X-Scope-OrgID", "one")
	assert.Equal(t, http.StatusNotFound, response.StatusCode, "of another tenant")
	response, _ = again.get(t, "/profiles/secret/cpu", "X-Scope-OrgID", "two")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	// Equal uploads count once. A scraper, which adds up its answers, does not receive the profiles of an earlier run again.
	for i := range 3 {
		attributes := map[string]any{"service.name": "checkout", "k8s.pod.name": fmt.Sprint("p", i)}
		require.NoError(t, again.ConsumeProfiles(of("one"), deliverytest.Decode(t, made(t, now, []string{"alloc_space", "inuse_space"}, 10, int64(i+1)), attributes)))
	}
	_, body := again.get(t, pages[0], "X-Scope-OrgID", "one")
	assert.Equal(t, []int64{30, 6}, totals(t, body))
	response, _ = again.get(t, pages[0]+"?scraper=a", "X-Scope-OrgID", "one")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	require.NoError(t, again.ConsumeProfiles(of("one"), deliverytest.Decode(t, made(t, now, []string{"alloc_space", "inuse_space"}, 50, 5), map[string]any{"service.name": "checkout"})))
	_, body = again.get(t, pages[0]+"?scraper=a", "X-Scope-OrgID", "one")
	assert.Equal(t, []int64{50, 5}, totals(t, body))
	stop()
}

// After a restart, old profiles and those above a smaller limit are missing.
func TestStorageAgeAndLimits(t *testing.T) {
	keeper := persisttest.New()
	s, stop := newStored(t, keeper, nil)
	s.post(t, made(t, day, []string{"samples"}, 1), map[string]any{"service.name": "s"})
	stop()
	time.Sleep(2 * time.Millisecond)
	s, stop = newStored(t, keeper, func(cfg *Config) { cfg.MaxAge = time.Millisecond })
	response, _ := s.get(t, "/profiles/s/samples")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.EqualValues(t, 1, counted(t, s.telemetry, "storage_dropped", "reason", "age"))
	s.post(t, made(t, day, []string{"samples"}, 1), map[string]any{"service.name": "s"})
	stop()

	s, stop = newStored(t, keeper, func(cfg *Config) { cfg.MaxRequestSize = 10 })
	assert.EqualValues(t, 1, counted(t, s.telemetry, "storage_dropped", "reason", "too_large"))
	stop()
	s, stop = newStored(t, keeper, func(cfg *Config) { cfg.MaxDisk = 100 })
	s.post(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), map[string]any{"service.name": "s"})
	require.Eventually(t, func() bool { return gauge(t, s.telemetry, "storage_pending") == 0 }, deliverytest.Patience, time.Millisecond)
	assert.EqualValues(t, 1, counted(t, s.telemetry, "storage_dropped", "reason", "disk"))
	response, _ = s.get(t, "/profiles/s/cpu")
	assert.Equal(t, http.StatusOK, response.StatusCode, "it is in memory")
	stop()
}

// The exporter starts and serves with any content of the storage. It does not restore invalid profiles.
func TestStorageHostile(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	origin := persisttest.New()
	s, stop := newStored(t, origin, nil)
	for _, service := range []string{"a", "b"} {
		s.post(t, deliverytest.OwnProfile(t, "cpu.pb.gz"), map[string]any{"service.name": service})
	}
	stop()
	for _, key := range origin.Keys() {
		keeper := persisttest.New()
		for k, v := range origin.Values() {
			keeper.Put(k, v)
		}
		value := slices.Clone(origin.Values()[key])
		for range 1 + random.IntN(4) {
			value[random.IntN(len(value))] = byte(random.IntN(256))
		}
		keeper.Put(key, append(value, byte(random.IntN(256))))
		s, stop := newStored(t, keeper, nil)
		response, _ := s.get(t, "/")
		assert.Equal(t, http.StatusOK, response.StatusCode)
		assert.EqualValues(t, 1, counted(t, s.telemetry, "storage_dropped", "reason", "damaged"), key)
		stop()
	}
}

// An entry with correct checksums and an arbitrary profile.
func TestReviveChecks(t *testing.T) {
	v := newViewExporter(exportertest.NewNopSettings(metadata.Type), createDefaultConfig().(*Config), nil)
	raw := deliverytest.Parsed(t, made(t, day, []string{"inuse_space", "alloc_space"}, 1, 2))
	var valid bytes.Buffer
	require.NoError(t, raw.WriteUncompressed(&valid))
	free := func(int64) error { return nil }
	entry := func(pprof []byte, inflated int) *recent.Entry {
		return &recent.Entry{Type: "..", Compressed: recent.Compress(pprof), Inflated: inflated, Attributes: []recent.Attribute{{Name: "b"}, {Name: "a"}}}
	}
	e := entry(valid.Bytes(), valid.Len())
	require.NoError(t, v.restoreEntry(e, time.Now(), free))
	assert.Equal(t, []string{"unknown_service", ".._"}, []string{e.Service, e.Type})
	assert.Equal(t, "a", e.Attributes[0].Name)
	assert.Equal(t, []recent.Gauge{{Position: 0, Type: "inuse_space", Unit: "count"}}, e.Gauges)
	for name, e := range map[string]*recent.Entry{
		"larger than it says":  entry(valid.Bytes(), valid.Len()-1),
		"smaller than it says": entry(valid.Bytes(), valid.Len()+1),
		"bomb":                 entry(make([]byte, 1<<20), 1000),
		"no pprof":             entry([]byte("nonsense"), 8),
		"cut":                  entry(valid.Bytes()[:valid.Len()-1], valid.Len()-1),
		"not compressed":       {Compressed: []byte{0x28, 0xb5, 0x2f, 0xfd, 1}, Inflated: 100},
	} {
		reserved := int64(0)
		err := v.restoreEntry(e, time.Now(), func(bytes int64) error { reserved = max(reserved, bytes); return nil })
		assert.ErrorContains(t, err, "is not valid", name)
		assert.Less(t, reserved, int64(4<<20), name)
	}
}

// ConsumeProfiles does not wait for the storage. A shutdown waits for at most storageWait.
func TestStorageThatDoesNotAnswer(t *testing.T) {
	keeper := persisttest.New()
	answer := make(chan struct{})
	s, _ := newStored(t, keeper, nil)
	keeper.Before = func(*storage.Operation) error { <-answer; return nil }
	for i := range 20 {
		s.post(t, made(t, day, []string{"samples"}, int64(i)), map[string]any{"service.name": "s"})
	}
	_, body := s.get(t, "/profiles/s/samples")
	assert.Equal(t, []int64{190}, totals(t, body))
	http.DefaultClient.CloseIdleConnections()
	begin := time.Now()
	require.ErrorContains(t, s.Shutdown(context.WithoutCancel(t.Context())), "the shutdown does not wait longer")
	assert.Less(t, time.Since(begin), 10*storageWait, "the storage never answers")
	s.ended = true
	close(answer)
	require.Eventually(t, func() bool { return keeper.Open() == 0 }, deliverytest.Patience, time.Millisecond)
}

func TestStorageConfiguration(t *testing.T) {
	for name, extensions := range map[string]host{
		"cannot find the storage extension": {},
		"is not a storage extension":        {storageID: &notStorage{}},
	} {
		e := create(t, func(cfg *Config) { cfg.Storage = &storageID })
		err := e.Start(t.Context(), extensions)
		assert.ErrorContains(t, err, name)
		require.NoError(t, e.Shutdown(t.Context()))
	}
}

type notStorage struct {
	component.StartFunc
	component.ShutdownFunc
}
