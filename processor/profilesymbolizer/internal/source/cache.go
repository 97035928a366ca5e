// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// cacheVersion is part of the path of an index: another version of this program reads its own.
const cacheVersion = "v1"

const indexSuffix = ".index"

// cache is a directory of indices. Several processes can share it: a file appears whole, under a name that says its content.
type cache struct {
	directory string
	maxBytes  int64
}

// path returns the name of the index of a binary.
func (c *cache) path(b Binary) string {
	sum := sha256.Sum256([]byte(string(b.Kind) + "\x00" + b.ID))
	key := hex.EncodeToString(sum[:20])
	return filepath.Join(c.directory, cacheVersion, key[:2], key[2:]+indexSuffix)
}

// load opens the index of a binary, and marks it as used. An index that is damaged is removed.
func (c *cache) load(b Binary) (*Handle, error) {
	name := c.path(b)
	handle, err := open(name)
	if err != nil {
		if errors.Is(err, index.ErrInvalid) {
			_ = os.Remove(name)
		}
		return nil, err
	}
	_ = os.Chtimes(name, time.Time{}, time.Now()) // It may be read-only.
	return handle, nil
}

// create opens a new file for an index.
func (c *cache) create() (*os.File, error) {
	directory := filepath.Join(c.directory, cacheVersion)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(directory, "new-*")
}

// rename gives a file its name, in a directory that may not exist yet.
func rename(file *os.File, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// evict removes the indices that were used the longest ago. Those that are mapped stay readable.
func (c *cache) evict() (bytes int64) {
	return evict(filepath.Join(c.directory, cacheVersion), indexSuffix, c.maxBytes)
}

// evict removes the files with a suffix that were used the longest ago, until the rest is small enough. It returns the size of the rest.
func evict(directory, suffix string, maxBytes int64) (bytes int64) {
	type used struct {
		name string
		size int64
		last time.Time
	}
	var files []used
	var left []string // by processes that have ended
	_ = filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // Another process has removed it.
		}
		info, err := entry.Info()
		switch {
		case err != nil:
		case strings.HasSuffix(name, suffix):
			files = append(files, used{name, info.Size(), info.ModTime()})
			bytes += info.Size()
		case time.Since(info.ModTime()) > time.Hour:
			left = append(left, name)
		}
		return nil
	})
	for _, name := range left {
		_ = os.Remove(name)
	}
	slices.SortFunc(files, func(x, y used) int { return x.last.Compare(y.last) })
	for _, file := range files {
		if bytes <= maxBytes {
			break
		}
		if os.Remove(file.name) == nil {
			bytes -= file.size
		}
	}
	return bytes
}

// Handle is a mapped index. It stays mapped until each holder has released it.
type Handle struct {
	table   *index.Table
	unmap   func()
	holders atomic.Int64
	broken  atomic.Bool
}

// open maps an index and validates it.
func open(name string) (_ *Handle, err error) {
	file, err := os.Open(name) //nolint:gosec // The name is a hash, in the directory of the cache.
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, unmap, err := mapFile(file)
	if err != nil {
		return nil, err
	}
	h := &Handle{unmap: unmap}
	h.holders.Store(1)
	err = guarded(func() (err error) {
		h.table, err = index.Read(data)
		return err
	})
	if err != nil {
		unmap()
		return nil, err
	}
	return h, nil
}

// Use calls f with the table. An error says that the file was cut off, or cannot be read.
func (h *Handle) Use(f func(*index.Table)) error {
	err := guarded(func() error {
		f(h.table)
		return nil
	})
	if err != nil {
		h.broken.Store(true)
	}
	return err
}

// Release ends the use by one holder.
func (h *Handle) Release() {
	if h.holders.Add(-1) == 0 {
		h.unmap()
	}
}

// guarded calls f. A fault of mapped memory, which would end the process, is an error.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot read an index: %v", p)
		}
	}()
	return f()
}
