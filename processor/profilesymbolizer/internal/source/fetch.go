// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/symbols"
)

// cacheName is the name of the cache among the sources.
const cacheName = "cache"

// get returns the index of an entry: that in the cache, or a new one. With an error, it is one that is not to be kept.
func (s *Store) get(ctx context.Context, e *entry) (*Handle, error) {
	handle, err := s.cache.load(e.binary)
	switch {
	case err == nil:
		s.set.Fetched(cacheName, Found, nil)
		return handle, nil
	case os.IsNotExist(err):
		s.set.Fetched(cacheName, Missing, nil)
	default:
		s.set.Fetched(cacheName, Failed, err)
	}
	best, err := s.search(ctx, e.binary)
	if best.file == nil {
		return nil, err
	}
	defer best.discard()
	if err != nil { // A source can have a better file. This one is for the time until it is asked again.
		handle, openErr := open(best.file.Name())
		return handle, cmp.Or(openErr, err)
	}
	if err := s.keep(e, best.file); err != nil {
		return nil, err
	}
	handle, err = s.cache.load(e.binary)
	s.set.Cached(s.cache.evict())
	return handle, err
}

// candidate is an index that was made. The zero value is none.
type candidate struct {
	file    *os.File
	quality index.Quality
}

func (c *candidate) discard() {
	if c.file != nil {
		_ = c.file.Close()
		_ = os.Remove(c.file.Name()) // It has another name if it was stored.
	}
	*c = candidate{}
}

// keepBetter replaces the candidate by another one, if that is better, and discards the worse one.
func (c *candidate) keepBetter(other candidate) {
	if other.quality > c.quality {
		*c, other = other, *c
	}
	other.discard()
}

// search makes the index of a binary. It asks one source after the other until one has lines, and returns the best. The error is that of
// a source that can have a better file later, or says why there is none.
func (s *Store) search(ctx context.Context, b Binary) (best candidate, failure error) {
	failure = ErrNotFound
	for _, source := range s.set.Sources {
		found, err := s.ask(ctx, source, b)
		s.fetched(source, found, err)
		failure = graver(failure, err)
		if best.keepBetter(found); best.quality == index.QualityLines {
			return best, nil
		}
	}
	if best.file != nil && weight(failure) <= weight(errNoSymbols) {
		failure = nil
	}
	return best, failure
}

// fetched reports what a source has.
func (s *Store) fetched(source Source, found candidate, err error) {
	switch result := resultOf(err); {
	case found.file != nil:
		s.set.Fetched(source.name(), Found, err)
	case result == Failed && !errors.Is(err, errBreaker): // The failures before have their lines, each binary needs none.
		s.set.Fetched(source.name(), Failed, err)
	default:
		s.set.Fetched(source.name(), result, nil)
	}
}

// ask returns the best index of the files of one source. With an error, a file can be better later.
func (s *Store) ask(ctx context.Context, source Source, b Binary) (best candidate, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.set.FetchTimeout)
	defer cancel()
	var failure error
	err = source.find(ctx, b, func(file *os.File, added ...elffile.Section) bool {
		made, err := s.index(ctx, b, file, added)
		failure = graver(failure, err)
		best.keepBetter(made)
		return best.quality < index.QualityLines
	})
	err = graver(err, failure)
	switch {
	case best.quality == index.QualityLines, best.file != nil && lasts(err):
		return best, nil
	case errors.Is(err, errOther):
		return best, ErrNotFound
	}
	return best, err
}

// index makes the index of a file, if it is the binary. Without enough memory for all, the names of functions are better than nothing.
func (s *Store) index(ctx context.Context, b Binary, file *os.File, added []elffile.Section) (candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, s.set.IndexTimeout)
	defer cancel()
	info, err := file.Stat()
	if err != nil {
		return candidate{}, err
	}
	if info.Size() > s.set.MaxFileBytes {
		return candidate{}, fmt.Errorf("%w: %w: %d bytes, at most %d are allowed", errUnusable, ErrTooLarge, info.Size(), s.set.MaxFileBytes)
	}
	made, err := s.build(ctx, b, io.NewSectionReader(file, 0, info.Size()), added, false)
	if !errors.Is(err, ErrTooLarge) {
		return made, err
	}
	if made, symbolsErr := s.build(ctx, b, io.NewSectionReader(file, 0, info.Size()), added, true); symbolsErr == nil {
		return made, nil
	}
	return candidate{}, err
}

// build makes the index, without debug information if only the names of functions are wanted.
func (s *Store) build(ctx context.Context, b Binary, file *io.SectionReader, added []elffile.Section, onlyNames bool) (made candidate, err error) {
	memory, release := s.set.Memory(ctx)
	defer release()
	elf, err := elffile.Open(file, file.Size(), memory)
	if err != nil {
		return made, unusable(err)
	}
	if err := check(b, elf, file, file.Size()); err != nil {
		return made, unusable(err)
	}
	elf.Sections = append(elf.Sections, added...)
	for i := range elf.Sections {
		// Tables of symbols are found by their types, and this one by its name.
		if section := &elf.Sections[i]; onlyNames && section.Name != ".gnu_debugdata" {
			section.Name = ""
		}
	}
	if made.file, err = s.cache.create(); err != nil {
		return made, err
	}
	begin := time.Now()
	result, err := symbols.Build(elf, made.file, memory)
	s.set.Indexed(time.Since(begin), result.Debug)
	switch made.quality = result.Quality; {
	case err != nil:
		made.discard()
		return made, unusable(err)
	case made.quality == index.QualityNone:
		made.discard()
		return made, errNoSymbols
	}
	return made, nil
}

// ErrTooLarge says that a binary exceeds a limit.
var ErrTooLarge = errors.New("the binary is too large")

// ErrBusy says that others use the memory that the index of a binary needs.
var ErrBusy = errors.New("there is no memory for the index now")

// errUnusable says that a file will be as unusable the next time.
var errUnusable = errors.New("cannot make an index of the file")

var errForgotten = errors.New("the binary was forgotten meanwhile")

var errNoSymbols = errors.New("the binary has no symbols")

// unusable marks the error of a file as one of its content, unless the system cannot read it, or cannot write its index.
func unusable(err error) error {
	if _, ofSystem := errors.AsType[*fs.PathError](err); ofSystem {
		return err
	}
	return fmt.Errorf("%w: %w", errUnusable, err)
}

// weight orders the results of files and sources: of several, the heaviest one says what a later search can find.
func weight(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNotFound), errors.Is(err, errOther):
		return 1
	case errors.Is(err, errNoSymbols):
		return 2
	case errors.Is(err, errUnusable) && !errors.Is(err, ErrBusy):
		return 3
	}
	return 4
}

// graver returns the heavier one of two errors, or the first one.
func graver(first, second error) error {
	if weight(second) > weight(first) {
		return second
	}
	return first
}

// lasts reports whether the next search will have the same result, unless there are other files.
func lasts(err error) bool { return weight(err) <= weight(errUnusable) }

// resultOf returns the result of a search that ended with an error, or nil.
func resultOf(err error) Result {
	switch weight(err) {
	case weight(nil):
		return Found
	case weight(ErrNotFound):
		return Missing
	case weight(errNoSymbols):
		return NoSymbols
	}
	return Failed
}
