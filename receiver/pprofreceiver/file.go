// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
)

const (
	attributeFilePath = "file.path"

	// saveEvery is how many files are read before the state is stored in the middle of a round.
	saveEvery = 100
	// maxMoveNames bounds the search for a name that is free.
	maxMoveNames = 10_000
)

// files reads files, each once unless it changes.
type files struct {
	*collector
	cfg    *FileConfig
	id     component.ID
	rounds *rounds
	turns  *turns
	health *health
	state  *fileState
	// settling are files that were too young to be read, as they were then, and since when.
	settling map[string]settlingFile
	// unsaved counts what was read since the state was stored.
	unsaved int
}

type settlingFile struct {
	mark  fileMark
	since time.Time
}

func newFiles(set receiver.Settings, cfg *FileConfig, in *intake) (*files, error) {
	c, err := newCollector(set, in, wayFile, "file")
	if err != nil {
		return nil, err
	}
	c.legacy = legacyFormats{allowed: cfg.LegacyFormats, hint: ", which file.legacy_formats: true allows"}
	return &files{collector: c, cfg: cfg, id: set.ID, rounds: newRounds(), turns: newTurns(), settling: map[string]settlingFile{}}, nil
}

// Start restores what is known of files and begins the rounds.
func (f *files) Start(ctx context.Context, host component.Host) error {
	if f.cfg.MoveTo != "" {
		if err := os.MkdirAll(f.cfg.MoveTo, 0o750); err != nil {
			return err
		}
	}
	state, err := openFileState(ctx, host, f.id, f.cfg.Storage)
	if err != nil {
		return err
	}
	f.state, f.health = state, newHealth(host, f.log)
	f.rounds.start(f.cfg.Schedule, func(ctx context.Context) {
		if f.cfg.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, f.cfg.Timeout)
			defer cancel()
		}
		f.round(ctx)
	})
	return nil
}

// Shutdown ends the rounds, waits for one that is under way, and stores what is known of files.
func (f *files) Shutdown(ctx context.Context) error {
	if err := f.rounds.stop(ctx); err != nil || f.state == nil {
		return err
	}
	return errors.Join(f.state.save(ctx), f.state.close(ctx))
}

// isMoved reports whether a file stands where files are moved to.
func (f *files) isMoved(path string) bool {
	return f.cfg.MoveTo != "" && filepath.Clean(filepath.Dir(path)) == filepath.Clean(f.cfg.MoveTo)
}

// look reads a file if it is new and whole.
func (f *files) look(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		// It went meanwhile, is none, or has just been made: whoever profiles into it may write at the end only.
		return nil
	}
	mark := markOf(info)
	if f.state.was(path, mark) || !f.settled(path, mark, info.ModTime()) {
		return nil
	}
	err = f.turns.leave(ctx, func(ctx context.Context) error { return f.take(ctx, path, mark) })
	if errors.Is(err, errChanging) {
		return nil
	}
	f.way.fetched(ctx, outcomeOf(err))
	if err != nil {
		f.log.Warn("Cannot take a file", zap.String("path", path), zap.Error(err))
		if !isAboutContent(err) {
			return err
		}
		// It will not get better, unless it changes.
		f.state.remember(path, mark)
		return nil
	}
	f.state.remember(path, mark)
	if err := f.dispose(path); err != nil {
		return err
	}
	if f.unsaved++; f.unsaved >= saveEvery {
		f.unsaved = 0
		return f.state.save(ctx)
	}
	return nil
}

// isAboutContent reports whether an error lies in what a file holds, not in how it was read or handed on.
func isAboutContent(err error) bool {
	switch classify(err) {
	case classMalformed, classNotPprof, classTooLarge, classConsumerRejected:
		return true
	default:
		return false
	}
}

// settled reports whether a file has not changed for long enough, by its own time or, where that cannot be trusted, by
// what was seen of it.
func (f *files) settled(path string, mark fileMark, changed time.Time) bool {
	now := time.Now()
	seen, known := f.settling[path]
	if !known || seen.mark != mark {
		seen = settlingFile{mark: mark, since: now}
	}
	if now.Sub(changed) >= f.cfg.Settle || now.Sub(seen.since) >= f.cfg.Settle {
		delete(f.settling, path)
		return true
	}
	f.settling[path] = seen
	return false
}

// errChanging says that a file changed while it was read.
var errChanging = errors.New("the file is changing")

func (f *files) take(ctx context.Context, path string, mark fileMark) error {
	limit := int64(f.in.limits.InflatedBytes)
	if mark.Size > limit {
		return refuse(classTooLarge, "the file has %d bytes, limits.inflated_bytes is %d", mark.Size, limit)
	}
	file, err := os.Open(path) //nolint:gosec // the configuration names it
	if err != nil {
		return err
	}
	defer file.Close()
	taken := f.in.newMemory(ctx)
	defer taken.release()
	if err := taken.keep(ctx, mark.Size); err != nil {
		return err
	}
	content := make([]byte, mark.Size)
	_, err = io.ReadFull(file, content)
	if info, statErr := file.Stat(); statErr != nil || markOf(info) != mark || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errChanging
	}
	if err != nil {
		return err
	}
	source := f.in.newSource()
	if f.cfg.IncludeFilePath {
		source.Resource.PutStr(attributeFilePath, label.ValidText(path))
	}
	return f.deliver(ctx, content, source, taken)
}

// dispose does with a file that was handed on what is configured.
func (f *files) dispose(path string) error {
	switch {
	case f.cfg.DeleteAfterRead:
		return os.Remove(path)
	case f.cfg.MoveTo != "":
		return moveTo(f.cfg.MoveTo, path)
	default:
		return nil
	}
}

// moveTo moves a file into a directory of the same file system, where it never replaces another.
func moveTo(directory, path string) error {
	base := filepath.Join(directory, filepath.Base(path))
	name := base
	for i := 1; i < maxMoveNames; i++ {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return os.Rename(path, name)
		}
		name = base + "." + strconv.Itoa(i)
	}
	return errors.New("cannot find a free name for " + base)
}
