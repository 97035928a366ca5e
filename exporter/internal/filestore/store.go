// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package filestore keeps gzipped pprofs as files of one directory.
//
// A file gets its name only when its content is on disk. The store writes a temporary file in the same directory, syncs it, gives
// it its name, and syncs the directory. The store never replaces a file. If a file with the same pprof has the name, the store
// writes nothing, so that a write can be repeated. If another file has the name, the name of the new file gets a suffix, which is
// a hash of its content. [Options] can leave the syncs out.
//
// All access uses [os.Root]: no name and no symbolic link leads outside of the directory.
//
// The store removes files by age, total size and number, the oldest first. It removes only files whose names match its template.
package filestore // import "github.com/otelpprof/otelpprof/exporter/internal/filestore"

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// temporaryPrefix is the start of the names of temporary files. Their names do not end in [pathname.Suffix].
const temporaryPrefix = ".tmp-"

// temporaryName matches the names that [Store.temporary] returns.
var temporaryName = regexp.MustCompile(`^\.tmp-[0-9a-f]{8}-[0-9a-z]+$`)

// Options configure a [Store].
type Options struct {
	// Directory is the directory of the files. The store creates it and its parents if they do not exist.
	Directory string
	// FileMode and DirectoryMode are the permissions of new files and directories, before the umask of the process.
	FileMode      fs.FileMode
	DirectoryMode fs.FileMode
	// Level is the level of gzip, from 1 to 9.
	Level int
	// Unsynced is for files that need not survive a failure of the system. Some of them may be empty or incomplete then.
	Unsynced bool

	// Owns returns whether a path is the path of one of the store's files. Depth is the number of segments of such a path.
	Owns  func(path string) bool
	Depth int
	// MaxAge, MaxTotalSize and MaxFiles limit the files that the store keeps. Zero means no limit. The total size is that on the
	// disk: files in whole blocks, and their directories.
	MaxAge       time.Duration
	MaxTotalSize int64
	MaxFiles     int64

	// OnRemove is called for each file that was removed because of a limit.
	OnRemove func(reason Reason, size int64)
	// OnError is called with the errors of work in the background.
	OnError func(error)
}

// Store keeps pprofs in files. Safe for concurrent use.
type Store struct {
	options Options
	// open is openRoot or openUnsynced. Tests replace it with one that returns a faulty directory.
	open func(name string) (directory, error)
	// token is in the names of this store's temporary files. A crash left those with another token.
	token   string
	counter atomic.Uint64

	mu      sync.RWMutex // guards current
	current directory

	usage    usage
	parents  parents
	buffers  scratch.Keeper[[]byte]
	foldCase bool

	stop func() // ends the removal and waits for it
}

// Open returns a store and starts its removal of old files. It fails if the directory cannot be created or written to. A full disk
// is no error.
func Open(options Options) (*Store, error) {
	if options.Unsynced {
		return open(options, openUnsynced)
	}
	return open(options, openRoot)
}

func open(options Options, openDirectory func(name string) (directory, error)) (*Store, error) {
	var token [4]byte
	_, _ = rand.Read(token[:]) // never fails
	s := &Store{options: options, open: openDirectory, token: hex.EncodeToString(token[:])}
	d, err := s.openDirectory()
	if err != nil {
		return nil, err
	}
	s.current = d
	if err := s.probe(); err != nil {
		d.Close()
		return nil, fmt.Errorf("cannot write to %q: %w", options.Directory, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		(&retention{store: s}).run(ctx)
	}()
	return s, nil
}

// Close stops the removal of old files, waits for running writes and closes the directory. Later writes fail.
func (s *Store) Close() error {
	s.stop()
	return s.directory().Close()
}

// FoldsCase returns whether A and a are the same name in the file system.
func (s *Store) FoldsCase() bool { return s.foldCase }

// Held returns the number of the store's files and the bytes that they and their directories use on the disk. They are not known before the first walk, and never without a
// limit.
func (s *Store) Held() (files, bytes int64, known bool) {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	return s.usage.files, s.usage.bytes, s.usage.known
}

func (s *Store) directory() directory {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

func (s *Store) openDirectory() (directory, error) {
	if err := os.MkdirAll(s.options.Directory, s.options.DirectoryMode); err != nil {
		return nil, fmt.Errorf("cannot create the directory: %w", err)
	}
	d, err := s.open(s.options.Directory)
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory: %w", err)
	}
	return d, nil
}

// reopen creates the directory again if someone removed it. opened is the directory that the caller used.
func (s *Store) reopen(opened directory) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != opened {
		return nil
	}
	before, err := opened.Stat(".")
	if err != nil {
		return err
	}
	if now, err := os.Stat(s.options.Directory); err == nil && os.SameFile(before, now) {
		return nil
	}
	d, err := s.openDirectory()
	if err != nil {
		return err
	}
	opened.Close()
	s.current = d
	s.usage.reset()
	s.parents.reset()
	return nil
}

// probe checks that a file can be created, and whether the file system folds case.
func (s *Store) probe() error {
	name := s.temporary()
	f, err := s.current.create(name, s.options.FileMode)
	if err != nil {
		if isFull(err) {
			return nil
		}
		return err
	}
	_, err = s.current.Lstat(strings.ToUpper(name))
	s.foldCase = err == nil
	err = s.current.Remove(name)
	if isAbsent(err) { // another store of this directory removed it as stale
		err = nil
	}
	return errors.Join(f.Close(), err)
}

// temporary returns a new name for a temporary file.
func (s *Store) temporary() string {
	return temporaryPrefix + s.token + "-" + strconv.FormatUint(s.counter.Add(1), 36)
}

// isStale returns whether name is the name of a temporary file of another store, which a crash left.
func (s *Store) isStale(name string) bool {
	return temporaryName.MatchString(name) && !strings.HasPrefix(name, temporaryPrefix+s.token+"-")
}
