// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// Why an upload is refused.
var (
	ErrBuildID    = errors.New("the build id is refused")
	ErrFile       = errors.New("the file is refused")
	ErrSize       = errors.New("the size is refused")
	ErrStored     = errors.New("the binary is there already")
	ErrInProgress = errors.New("the upload has to wait for others")
)

const (
	// maxUploads is how many files are received at a time.
	maxUploads = 16
	// copyBytes is the memory to receive one.
	copyBytes    = 256 << 10
	uploadSuffix = ".debug"
)

// Uploads are files that agents have sent, in a directory as that of [Directories]. Safe for concurrent use.
type Uploads struct {
	Directory string
	// MaxBytes limits all files, and all that are being received; MaxFileBytes limits one.
	MaxBytes, MaxFileBytes int64
	// Memory is that of [Settings].
	Memory func(ctx context.Context) (work *meter.Meter, release func())
	// Stored is told of the build id of each new file.
	Stored func(id string)

	mu sync.Mutex
	// receiving has the files that are being received, with their sizes, which are bytes in all.
	receiving map[string]int64
	bytes     int64
	closed    bool
	running   sync.WaitGroup
}

func (*Uploads) name() string { return "uploads" }

// find opens the file, and marks it as used.
func (u *Uploads) find(ctx context.Context, b Binary, use func(*os.File, ...elffile.Section) bool) error {
	if b.Kind == Go {
		return ErrNotFound
	}
	_ = os.Chtimes(u.path(b.ID), time.Time{}, time.Now())
	return Directories{u.Directory}.find(ctx, Binary{Kind: b.Kind, ID: b.ID}, use)
}

func (u *Uploads) path(id string) string {
	return filepath.Join(u.Directory, names(Binary{Kind: GNU, ID: id})[0])
}

// Has reports whether the file of a valid build id is there.
func (u *Uploads) Has(id string) bool {
	_, err := os.Stat(u.path(id))
	return err == nil
}

// Check returns a build id in the form of its file. It returns an error if a file of this size, which is negative if it is unknown, would
// be refused now. With replace, one that is there is replaced.
func (u *Uploads) Check(id string, size int64, replace bool) (string, error) {
	b, valid := Binary{Kind: HTLHash, ID: id}.Normalize()
	if !valid {
		return "", fmt.Errorf("%w: build_id %.140q has to be %d to %d hexadecimal digits", ErrBuildID, id, minDigits, maxDigits)
	}
	if size == 0 || size > u.MaxFileBytes {
		return "", fmt.Errorf("%w: the file has %d bytes, 1 to %d are allowed (max_file_size)", ErrSize, size, u.MaxFileBytes)
	}
	if !replace && u.Has(b.ID) {
		return "", ErrStored
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return b.ID, u.free(b.ID, u.most(size))
}

// most returns how large a file of this size, which is negative if it is unknown, can be.
func (u *Uploads) most(size int64) int64 {
	if size < 0 {
		return u.MaxFileBytes
	}
	return size
}

// free returns an error unless an upload of so many bytes can begin. The lock is held.
func (u *Uploads) free(id string, bytes int64) error {
	_, known := u.receiving[id]
	switch {
	case u.closed:
		return fmt.Errorf("%w: the processor stops", ErrInProgress)
	case known:
		return fmt.Errorf("%w: another client sends this binary", ErrInProgress)
	case len(u.receiving) >= maxUploads || bytes > u.MaxBytes-u.bytes:
		return fmt.Errorf("%w: %d files of %d bytes are being received, %d of %d are allowed", ErrInProgress, len(u.receiving), u.bytes, maxUploads, u.MaxBytes)
	}
	return nil
}

// Receive stores a file, which send writes, and returns its size. The other arguments are those of Check.
func (u *Uploads) Receive(ctx context.Context, id string, size int64, replace bool, send func(io.Writer) error) (int64, error) {
	id, err := u.Check(id, size, replace)
	if err != nil {
		return 0, err
	}
	if err := u.begin(id, u.most(size)); err != nil {
		return 0, err
	}
	defer u.end(id)
	memory, release := u.Memory(ctx)
	defer release()
	if err := memory.Use(copyBytes); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(u.Directory, 0o700); err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(u.Directory, "new-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) // It has another name if it was stored.
	defer file.Close()
	w := &limitedFile{file: file, announced: size, most: u.MaxFileBytes}
	if err := send(w); err != nil {
		return w.written, err
	}
	if w.written == 0 || size >= 0 && w.written != size {
		return w.written, fmt.Errorf("%w: %d bytes arrived, %d were announced", ErrSize, w.written, max(size, 1))
	}
	return w.written, u.store(id, file, w.written, memory)
}

func (u *Uploads) begin(id string, bytes int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.free(id, bytes); err != nil {
		return err
	}
	if u.receiving == nil {
		u.receiving = map[string]int64{}
	}
	u.receiving[id] = bytes
	u.bytes += bytes
	u.running.Add(1)
	return nil
}

func (u *Uploads) end(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes -= u.receiving[id]
	delete(u.receiving, id)
	u.running.Done()
}

// Close waits for the files that are being received, and refuses others.
func (u *Uploads) Close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	u.running.Wait()
}

// store gives a file its name, if it is the binary.
func (u *Uploads) store(id string, file *os.File, size int64, memory *meter.Meter) error {
	elf, err := elffile.Open(file, size, memory)
	if err == nil {
		err = check(Binary{Kind: HTLHash, ID: id}, elf, file, size)
	}
	switch {
	case memory.Err() != nil:
		return memory.Err()
	case errors.Is(err, errOther):
		return fmt.Errorf("%w: %w than build_id, %s", ErrBuildID, err, id)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	if err := rename(file, u.path(id)); err != nil {
		return err
	}
	evict(u.Directory, uploadSuffix, u.MaxBytes)
	u.Stored(id)
	return nil
}

// limitedFile refuses what exceeds the size of a file.
type limitedFile struct {
	file            *os.File
	announced, most int64
	written         int64
}

func (f *limitedFile) Write(b []byte) (int, error) {
	switch total := f.written + int64(len(b)); {
	case f.announced >= 0 && total > f.announced:
		return 0, fmt.Errorf("%w: more than the %d bytes that were announced arrive", ErrSize, f.announced)
	case total > f.most:
		return 0, fmt.Errorf("%w: more than %d bytes arrive (max_file_size)", ErrSize, f.most)
	}
	n, err := f.file.Write(b)
	f.written += int64(n)
	return n, err
}
