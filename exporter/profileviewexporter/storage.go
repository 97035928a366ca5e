// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter // import "github.com/otelpprof/otelpprof/exporter/profileviewexporter"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/exporter/internal/summary"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/persist"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/recent"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/inflate"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/pprofmerge"
)

const (
	// storageName is the name of this storage. The queue of the exporter uses another name.
	storageName = "held"
	// storageWait is how long a shutdown waits for the storage.
	storageWait = 3 * time.Second
	// storageLogInterval is the minimum time between two log records about storage failures.
	storageLogInterval = time.Minute
)

// openStorage restores the profiles of an earlier run, and starts to write new ones to the storage.
func (v *viewExporter) openStorage(ctx context.Context, host component.Host) error {
	if v.cfg.Storage == nil {
		return nil
	}
	extension, found := host.GetExtensions()[*v.cfg.Storage]
	if !found {
		return fmt.Errorf("cannot find the storage extension %q", v.cfg.Storage)
	}
	opener, isStorage := extension.(storage.Extension)
	if !isStorage {
		return fmt.Errorf("the extension %q is not a storage extension", v.cfg.Storage)
	}
	client, err := opener.GetClient(ctx, component.KindExporter, v.id, storageName)
	if err != nil {
		return fmt.Errorf("cannot open the storage %q: %w", v.cfg.Storage, err)
	}
	logged := time.Time{}
	v.persister = persist.New(persist.Settings{
		Client: client, Budget: v.budget,
		Disk: cmp.Or(v.cfg.MaxDisk, v.cfg.MaxMemory), Memory: v.cfg.MaxMemory, Age: v.cfg.MaxAge,
		Dropped: v.telemetry.storageDropped,
		Failed: func(operation persist.Operation, err error) { //nolint:contextcheck // called in the background
			v.telemetry.storageFailed(operation)
			if time.Since(logged) >= storageLogInterval {
				logged = time.Now()
				v.settings.Logger.Warn("The storage failed. Further failures are counted, and logged once per minute.",
					zap.String("operation", string(operation)), zap.Error(err))
			}
		},
	})
	v.store.Watch(v.persister)
	v.restore(ctx)
	v.persister.Start() //nolint:contextcheck // runs until closeStorage
	return v.telemetry.observeStorage(v.persister)
}

// restore restores the profiles of an earlier run.
func (v *viewExporter) restore(ctx context.Context) {
	begin := time.Now()
	profiles, err := v.persister.Load(ctx, v.restoreEntry)
	v.telemetry.restored(profiles) //nolint:contextcheck // the metric has no request
	took := zap.Duration("took", time.Since(begin))
	if err != nil {
		v.settings.Logger.Warn("Some profiles in the storage were left out; storage_dropped counts those that are deleted, by reason. This is the first error.",
			zap.Int("restored", profiles), took, zap.Error(err))
		return
	}
	v.settings.Logger.Info("Read the profiles in the storage", zap.Int("restored", profiles), took)
}

// restoreCost is the memory to check the profile of an entry, as a multiple of its size.
const restoreCost = 2

// restoreEntry adds an entry of an earlier run to the store. It is checked like a new profile, since the storage can contain
// anything.
func (v *viewExporter) restoreEntry(e *recent.Entry, arrived time.Time, reserve func(bytes int64) error) error {
	if int64(e.Inflated) > v.cfg.MaxRequestSize {
		return fmt.Errorf("%w: it has %d bytes, max_request_size is %d", persist.ErrTooLarge, e.Inflated, v.cfg.MaxRequestSize)
	}
	size := restoreCost * int64(e.Inflated)
	if err := reserve(size); err != nil {
		return err
	}
	var exhausted error
	raw, _, err := inflate.AppendMetered(make([]byte, 0, e.Inflated), e.Compressed, e.Inflated, meter.New(size, func(total int64) error {
		exhausted = reserve(total)
		return exhausted
	}))
	if err == nil && len(raw) != e.Inflated {
		err = fmt.Errorf("the profile has %d bytes, want %d", len(raw), e.Inflated)
	}
	if err == nil {
		err = pprofmerge.Check(raw, func(bytes int64) error {
			exhausted = reserve(size + bytes)
			return exhausted
		})
	}
	if err == nil {
		err = describe(e, raw)
	}
	switch {
	case exhausted != nil:
		return exhausted
	case err != nil:
		return fmt.Errorf("%w: %w", persist.ErrInvalid, err)
	case !v.store.Restore(e, arrived):
		return fmt.Errorf("%w: it is older than max_age, already in memory, or larger than max_memory", persist.ErrTooLarge)
	}
	return nil
}

// describe sets the fields of an entry that come from its profile, and checks what the pages rely on.
func describe(e *recent.Entry, pprof []byte) error {
	head, err := summary.Of(pprof)
	if err != nil {
		return err
	}
	e.CPU, e.PGO, e.Gauges = head.CPU(), head.PGO(), gaugesOf(head)
	e.Service, e.Type = segment(e.Service, attributevalue.UnknownService), segment(e.Type, unknownType)
	slices.SortFunc(e.Attributes, func(a, b recent.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// closeStorage writes the profiles that are not in the storage yet, and closes it. The channel receives the error.
func (v *viewExporter) closeStorage(ctx context.Context) <-chan error {
	closed := make(chan error, 1)
	if v.persister == nil {
		closed <- nil
		return closed
	}
	go func() {
		waiting, cancel := context.WithTimeoutCause(ctx, storageWait, errors.New("the shutdown does not wait longer"))
		defer cancel()
		closed <- v.persister.Close(waiting)
	}()
	return closed
}
