// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persisttest"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run is a store and its persister between two restarts.
type run struct {
	*Persister
	store    *recent.Store
	dropped  map[Reason]int
	failed   map[Operation]int
	restored int
	err      error
}

// begin opens a storage and reads it.
func begin(tb testing.TB, s *persisttest.Storage, change func(*Settings, *recent.Limits)) *run {
	tb.Helper()
	client, err := s.GetClient(tb.Context(), component.KindExporter, component.MustNewID("test"), "held")
	require.NoError(tb, err)
	r := &run{dropped: map[Reason]int{}, failed: map[Operation]int{}}
	settings := Settings{
		Client: client, Budget: memory.New(1<<30, 0), Disk: 64 << 20, Memory: 64 << 20, Age: time.Hour,
		Dropped: func(reason Reason) { r.dropped[reason]++ },
		Failed:  func(operation Operation, _ error) { r.failed[operation]++ },
	}
	limits := recent.Limits{Memory: 64 << 20, Age: time.Hour, PerSeries: 10_000}
	if change != nil {
		change(&settings, &limits)
	}
	r.Persister = New(settings)
	r.store = recent.New(limits, func(recent.Reason) {})
	r.store.Watch(r.Persister)
	r.restored, r.err = r.Load(tb.Context(), func(e *recent.Entry, arrived time.Time, reserve func(int64) error) error {
		if err := reserve(int64(e.Inflated)); err != nil {
			return err
		}
		if !r.store.Restore(e, arrived) {
			return ErrTooLarge
		}
		return nil
	})
	return r
}

// settle writes all pending entries.
func (r *run) settle(tb testing.TB) {
	tb.Helper()
	for {
		more, err := r.round()
		require.NoError(tb, err)
		if !more {
			return
		}
	}
}

// entry returns an entry of a service with a profile of a size and with unique bytes.
func entry(service string, size int) *recent.Entry {
	compressed := make([]byte, size)
	for i := range compressed {
		compressed[i] = byte(i*7 + len(service) + int(service[len(service)-1]))
	}
	at := time.Unix(1_800_000_000, 5)
	e := &recent.Entry{
		Tenant: "tenant", Service: service, Type: "cpu", Begin: at, End: at.Add(10 * time.Second), ID: [16]byte{1},
		Compressed: compressed, Inflated: 2 * size,
		Attributes: []recent.Attribute{{Name: "pod", Value: "p-" + service}, {Name: "service.name", Value: service}},
	}
	return e
}

// selected returns the entries of a service in the store.
func (r *run) selected(service string) []*recent.Entry {
	entries, _, _ := r.store.Search(context.Background(), recent.Query{Tenant: "tenant", Service: service, Type: "cpu"})
	return entries
}

// assertHeld checks that the store has exactly one entry of a service, as entry made it.
func (r *run) assertHeld(tb testing.TB, service string, size int) {
	tb.Helper()
	got, want := r.selected(service), entry(service, size)
	if !assert.Len(tb, got, 1, service) {
		return
	}
	for _, e := range []*recent.Entry{want, got[0]} {
		assert.Equal(tb, want.Compressed, e.Compressed)
		assert.Equal(tb, want.Attributes, e.Attributes)
		assert.Equal(tb, want.ID, e.ID)
		assert.Equal(tb, want.Inflated, e.Inflated)
		assert.True(tb, want.Begin.Equal(e.Begin) && want.End.Equal(e.End))
	}
}

func service(i int) string { return "service-" + strconv.Itoa(i) }

var errDisk = errors.New("disk trouble")
