// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import "sync"

// holdings counts the store's files without reading the directory each time: a walk counts what is there, writes and
// removals keep the count. Writes may go on during a walk; the lock that a file gets its name under makes sure that
// each is counted once. Safe for concurrent use.
type holdings struct {
	mu           sync.Mutex
	known        bool
	files, bytes int64
	// epoch changes when the directory is not the one that was counted.
	epoch int
	// fresh has the names given since the present walk began. Nil if there is no walk.
	fresh                  map[string]struct{}
	freshFiles, freshBytes int64
}

func (h *holdings) get() (files, bytes int64, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.files, h.bytes, h.known
}

func (h *holdings) getEpoch() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

// publish calls give, which makes a file of that size visible under name. One call of give at a time.
func (h *holdings) publish(name string, size int64, give func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := give(); err != nil {
		return err
	}
	h.files++
	h.bytes += size
	if h.fresh != nil {
		h.fresh[name] = struct{}{}
		h.freshFiles++
		h.freshBytes += size
	}
	return nil
}

func (h *holdings) removed(size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files--
	h.bytes -= size
}

func (h *holdings) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known, h.files, h.bytes, h.fresh = false, 0, 0, nil
	h.epoch++
}

func (h *holdings) beginWalk() (epoch int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fresh, h.freshFiles, h.freshBytes = map[string]struct{}{}, 0, 0
	return h.epoch
}

// isFresh tells whether a file that the walk saw has been counted when it got its name.
func (h *holdings) isFresh(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, fresh := h.fresh[name]
	return fresh
}

// endWalk takes over what a walk counted, unless the directory is another one now or the walk did not reach its end.
func (h *holdings) endWalk(epoch int, complete bool, files, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if complete && epoch == h.epoch {
		h.known, h.files, h.bytes = true, files+h.freshFiles, bytes+h.freshBytes
	}
	h.fresh = nil
}
