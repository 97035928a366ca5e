// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// TestRequestsFromDisk: a request from a queue on disk has a reservation, also while it waits for its retry, until exporterhelper is done with
// it.
func TestRequestsFromDisk(t *testing.T) {
	const bytes = 1 << 20
	once := configretry.NewDefaultBackOffConfig()
	once.Enabled = false
	for name, test := range map[string]struct {
		retry configretry.BackOffConfig
		// results are those of the attempts.
		results []error
	}{
		"exported":       {configretry.NewDefaultBackOffConfig(), []error{nil}},
		"exported later": {quickRetries(), []error{errors.New("not now"), nil}},
		"refused":        {quickRetries(), []error{errors.New("not now"), consumererror.NewPermanent(errors.New("no"))}},
		"given up":       {once, []error{errors.New("not now")}},
	} {
		t.Run(name, func(t *testing.T) {
			budget := memory.New(64<<20, time.Second)
			attempts, begun, end := 0, make(chan struct{}), make(chan error)
			e := newDiskExporter(t, budget, test.retry, func(context.Context, pprofile.Profiles) error {
				attempts++
				begun <- struct{}{}
				return <-end
			})
			require.NoError(t, e.ConsumeProfiles(t.Context(), message(bytes)))
			for _, result := range test.results {
				<-begun
				assert.GreaterOrEqual(t, used(budget), int64(2*bytes), "the message, and a copy")
				end <- result
				if attempts < len(test.results) {
					assert.Eventually(t, func() bool { return used(budget) < 2*bytes }, deliverytest.Patience, time.Millisecond)
					assert.GreaterOrEqual(t, used(budget), int64(bytes), "the message that waits for its retry")
				}
			}
			assert.Eventually(t, func() bool {
				if name == "given up" {
					runtime.GC()
				}
				return used(budget) == 0
			}, deliverytest.Patience, time.Millisecond)
			shutdown(t, e, budget)
		})
	}
}

// quickRetries are retries that leave time to look at what is reserved between them.
func quickRetries() configretry.BackOffConfig {
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval = 100 * time.Millisecond
	return retry
}

func newDiskExporter(
	t *testing.T, budget *memory.Budget, retry configretry.BackOffConfig, consume func(context.Context, pprofile.Profiles) error,
) *delivery.Exporter {
	t.Helper()
	id, queue := component.MustNewID("disk"), options.NewDefaultQueue()
	queue.Get().StorageID = &id
	e := must.Get(delivery.NewExporter(t.Context(), exportertest.NewNopSettings(component.MustNewType("test")), delivery.Settings{
		Queue: queue, Retry: retry, DrainTime: time.Second, Consume: consume,
	}))(t)
	host := budgettest.NewHost(budget)
	host[id] = &disk{content: map[string][]byte{}}
	require.NoError(t, e.Start(t.Context(), host))
	return e
}

// disk is a storage in memory.
type disk struct {
	component.StartFunc
	component.ShutdownFunc

	mu      sync.Mutex
	content map[string][]byte
}

func (d *disk) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return d, nil
}

func (d *disk) Get(ctx context.Context, key string) ([]byte, error) {
	get := storage.GetOperation(key)
	err := d.Batch(ctx, get)
	return get.Value, err
}

func (d *disk) Set(ctx context.Context, key string, value []byte) error {
	return d.Batch(ctx, storage.SetOperation(key, value))
}

func (d *disk) Delete(ctx context.Context, key string) error {
	return d.Batch(ctx, storage.DeleteOperation(key))
}

func (*disk) Close(context.Context) error { return nil }

func (d *disk) Batch(_ context.Context, operations ...*storage.Operation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range operations {
		switch o.Type {
		case storage.Get:
			o.Value = d.content[o.Key]
		case storage.Set:
			d.content[o.Key] = o.Value
		case storage.Delete:
			delete(d.content, o.Key)
		}
	}
	return nil
}
