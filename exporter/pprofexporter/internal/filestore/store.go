// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelpprof/otelpprof/internal/scratch"
)

// temporaryPrefix begins the names of files that are being written. They end unlike the files that are kept.
const temporaryPrefix = ".tmp-"

// temporaryName are the names that [Store.temporary] makes.
var temporaryName = regexp.MustCompile(`^\.tmp-[0-9a-f]{8}-[0-9a-z]+$`)

// Options configure a [Store].
type Options struct {
	// Directory is made, with those above it, if it is not there.
	Directory string
	// FileMode and DirectoryMode are those of what the store makes, less the process's umask.
	FileMode      fs.FileMode
	DirectoryMode fs.FileMode
	// Level is that of the compression, 1 to 9.
	Level int

	// Owns tells the store's files from those of others by their paths; Depth is the number of their segments.
	Owns  func(path string) bool
	Depth int
	// MaxAge and MaxTotalSize bound what is kept. Zero means no bound.
	MaxAge       time.Duration
	MaxTotalSize int64

	// Removed is called for each file that was removed to keep to a bound.
	Removed func(reason Reason, size int64)
	// Trouble is called with what went wrong where no caller waits for an error.
	Trouble func(error)
}

// Store keeps pprofs in files. Safe for concurrent use.
type Store struct {
	options Options
	// open is openRoot; tests put a faulty directory in its place.
	open func(name string) (directory, error)
	// token tells the temporary files of this store from those that a crash left.
	token   string
	counter atomic.Uint64

	mu      sync.RWMutex // guards current
	current directory

	holdings holdings
	buffers  scratch.Keeper[[]byte]
	foldCase bool

	stop func() // ends the removal and waits for it
}

// Open makes a store and starts its removal of old files. It fails if the directory cannot be made or written to, but
// not because the disk is full.
func Open(options Options) (*Store, error) {
	return open(options, openRoot)
}

func open(options Options, openDirectory func(name string) (directory, error)) (*Store, error) {
	s := &Store{options: options, open: openDirectory, token: newToken()}
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
		newRetention(s).run(ctx)
	}()
	return s, nil
}

// Close ends the removal of old files. Writes that run end first; later ones fail.
func (s *Store) Close() error {
	s.stop()
	return s.directory().Close()
}

// FoldsCase tells whether the file system takes A and a for the same name.
func (s *Store) FoldsCase() bool { return s.foldCase }

// Held returns how many files the store has and how many bytes they have. It is not known before the directory was
// read once, and never where there is no bound to keep to.
func (s *Store) Held() (files, bytes int64, known bool) { return s.holdings.get() }

func (s *Store) directory() directory {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

func (s *Store) openDirectory() (directory, error) {
	if err := os.MkdirAll(s.options.Directory, s.options.DirectoryMode); err != nil {
		return nil, fmt.Errorf("cannot make the directory: %w", err)
	}
	d, err := s.open(s.options.Directory)
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory: %w", err)
	}
	return d, nil
}

// reopen makes the directory again if someone removed it; what is opened is then of no use any more.
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
	s.holdings.forget()
	return nil
}

// probe writes an empty file and looks for it in upper case.
func (s *Store) probe() error {
	name := s.temporary(".")
	f, err := s.current.Create(name, s.options.FileMode)
	if err != nil {
		if isFull(err) {
			return nil
		}
		return err
	}
	_, err = s.current.Lstat(strings.ToUpper(name))
	s.foldCase = err == nil
	err = s.current.Remove(name)
	if isAbsent(err) { // another store of this directory took it for stale
		err = nil
	}
	return errors.Join(f.Close(), err)
}

// temporary returns a new name for a file that is being written.
func (s *Store) temporary(parent string) string {
	return path.Join(parent, temporaryPrefix+s.token+"-"+strconv.FormatUint(s.counter.Add(1), 36))
}

// isStale tells whether a file was being written by a store that is no more.
func (s *Store) isStale(name string) bool {
	return temporaryName.MatchString(name) && !strings.HasPrefix(name, temporaryPrefix+s.token+"-")
}

func newToken() string {
	var token [4]byte
	_, _ = rand.Read(token[:]) // never fails
	return hex.EncodeToString(token[:])
}
