// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"path"
	"strings"
	"sync"
)

// blockSize is the assumed size of a block of the file system. A file uses whole blocks, and a directory at least one.
const blockSize = 4096

// onDisk returns the bytes that a file of this size uses on the disk, together with this many directories.
func onDisk(size, directories int64) int64 {
	return (size + blockSize - 1 + directories*blockSize) / blockSize * blockSize
}

// directoriesBetween returns how many directories a depth-first walk enters between two files, from their parents. A directory
// counts for the first file in it.
func directoriesBetween(last, parent string) (entered int64) {
	for ; parent != "." && parent != last && !strings.HasPrefix(last, parent+"/"); parent = path.Dir(parent) {
		entered++
	}
	return entered
}

// usage counts the store's files and the bytes that they and their directories use on the disk. A walk counts the files in the directory. After that, writes and removals change
// the count, so that the directory need not be read again. Writes can go on during a walk: a file gets its name under the lock,
// so that it is counted once. Safe for concurrent use.
type usage struct {
	mu           sync.Mutex
	known        bool
	files, bytes int64
	// fresh has the files that were written since the current walk began, with their bytes. It is nil if there is no walk, or if another
	// directory has taken the place of the one that it counts.
	fresh map[string]int64
}

// publish gives a file in d its name. The file uses the given bytes on the disk. Calls of giveName do not overlap.
func (u *usage) publish(d directory, temporary, name string, bytes int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := giveName(d, temporary, path.Base(name)); err != nil {
		return err
	}
	u.files++
	u.bytes += bytes
	if u.fresh != nil {
		u.fresh[name] = bytes
	}
	return nil
}

func (u *usage) removed(bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files--
	u.bytes -= bytes
}

// reset forgets the count after the directory was replaced.
func (u *usage) reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known, u.files, u.bytes, u.fresh = false, 0, 0, nil
}

func (u *usage) beginWalk() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fresh = map[string]int64{}
}

// isFresh returns whether a file that the walk found was counted when it got its name.
func (u *usage) isFresh(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, fresh := u.fresh[name]
	return fresh
}

// endWalk sets the count to the result of a walk. It ignores the result if the walk is not complete, or if the directory is another
// one now.
func (u *usage) endWalk(complete bool, files, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if complete && u.fresh != nil {
		u.known, u.files, u.bytes = true, files, bytes
		for _, fresh := range u.fresh {
			u.files++
			u.bytes += fresh
		}
	}
	u.fresh = nil
}
