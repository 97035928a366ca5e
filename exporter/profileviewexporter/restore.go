// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/exporter/internal/filestore"
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
)

const (
	// restoreWait is how long pages wait for the profiles of an earlier run, from the start on.
	restoreWait = time.Second
	// maxRestored limits a pprof in bytes.
	maxRestored = 256 << 20
	// memoryTries is how often a file is read while there is no memory for it, and memoryPause the time between two of these.
	memoryTries = 10
	memoryPause = time.Second
)

// restore adds the profiles of files to the store. After restoreWait it goes on while pages are answered.
func (v *viewExporter) restore(ctx context.Context, files []filestore.File) {
	waiting, done := context.WithTimeout(ctx, restoreWait)
	v.restored = waiting.Done()
	v.running.Go(func() {
		defer done()
		v.restoreAll(ctx, files)
	})
}

// restoreAll restores files, which must be in order of their time, the newest first. It ends if the store is full, and at files older than
// max_age.
func (v *viewExporter) restoreAll(ctx context.Context, files []filestore.File) {
	for _, f := range files {
		if v.cfg.MaxAge > 0 && time.Since(f.Time) > v.cfg.MaxAge {
			return
		}
		added, err := v.restoreFile(ctx, f)
		for try := 1; try < memoryTries && errors.Is(err, memory.ErrExhausted) && pause(ctx); try++ {
			added, err = v.restoreFile(ctx, f)
		}
		switch {
		case ctx.Err() != nil, errors.Is(err, store.ErrFull):
			return
		case errors.Is(err, fs.ErrNotExist): // It exceeded a limit of the directory meanwhile.
		case err != nil:
			v.telemetry.storageFailed(ctx, operationRead)
			v.settings.Logger.Warn("Cannot restore a profile", zap.String("file", f.Name), zap.Error(err))
		case added:
			v.telemetry.builder.ExporterProfileViewProfilesRestored.Add(ctx, 1, v.telemetry.Plain)
		}
	}
}

// pause waits for memoryPause, and returns whether ctx has not ended.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(memoryPause):
		return true
	}
}

var errNoDescription = errors.New("the file has no description: another program wrote it")

// restoreFile adds the profile of a file to the store, unless the store has it.
func (v *viewExporter) restoreFile(ctx context.Context, f filestore.File) (added bool, err error) {
	held := v.budget.Begin()
	defer held.Release()
	work := held.Meter(ctx, 0)
	if err := work.Use(f.Size); err != nil {
		return false, err
	}
	compressed, err := v.files.Read(f)
	if err != nil {
		return false, err
	}
	raw, _, err := inflate.Open(new([]byte), compressed, maxRestored, work)
	if err != nil {
		return false, err
	}
	last, _ := lastString(raw)
	text, found := strings.CutPrefix(string(last), store.CommentPrefix)
	if !found {
		return false, errNoDescription
	}
	u, err := describedUpload(text, work)
	if err != nil {
		return false, err
	}
	u.Pprof, u.Arrived = raw, f.Time
	p, err := v.store.Add(u, work)
	return p != nil, err
}
