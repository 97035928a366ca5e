// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

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
