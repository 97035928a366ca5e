// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// Debuginfod asks one server of elfutils' debuginfod.
type Debuginfod struct {
	URL    string
	Client *http.Client
	// MaxBytes limits a file.
	MaxBytes int64
	// Directory is for the file while it is read.
	Directory string

	breaker breaker
}

func (*Debuginfod) name() string { return "debuginfod" }

// find downloads the debug information, or else the executable: a stripped program of Go has all in there. Of debug information that is too
// large, it downloads the table of symbols.
func (d *Debuginfod) find(ctx context.Context, b Binary, use func(*os.File, ...elffile.Section) bool) error {
	if b.Kind != GNU {
		return ErrNotFound
	}
	end, err := d.breaker.allow()
	if err != nil {
		return err
	}
	defer end()
	missing := 0
	var refused error
	for _, artifact := range []string{"debuginfo", "executable"} {
		file, err := d.download(ctx, b, artifact)
		var symbols []elffile.Section
		switch {
		case errors.Is(err, ErrNotFound):
			missing++
			continue
		case errors.Is(err, ErrTooLarge):
			refused = err
			if symbols, err = d.symbols(ctx, b, file); err != nil {
				_ = file.Close()
				continue
			}
		case err != nil:
			d.breaker.failed()
			return err
		}
		d.breaker.succeeded()
		more := use(file, symbols...)
		_ = file.Close()
		if !more || refused != nil {
			return refused
		}
	}
	d.breaker.succeeded() // It has answered.
	if missing == 2 {
		return ErrNotFound
	}
	return refused
}

// download downloads a file. It has no name: nothing is left if the process ends. If the error is ErrTooLarge, there is the beginning.
func (d *Debuginfod) download(ctx context.Context, b Binary, artifact string) (*os.File, error) {
	file, err := os.CreateTemp(d.Directory, "download-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name())
	if _, err = d.fetch(ctx, b, artifact, file, d.MaxBytes); err != nil && !errors.Is(err, ErrTooLarge) {
		_ = file.Close()
		return nil, err
	}
	return file, err
}

// headBytes of a file have its header and those of its segments, and its build id.
const headBytes = 8 << 10

// fetch writes what the server has, and returns its size. If that is above most, it writes the beginning at least.
func (d *Debuginfod) fetch(ctx context.Context, b Binary, artifact string, w io.Writer, most int64) (size int64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(d.URL, "/")+"/buildid/"+b.ID+"/"+artifact, http.NoBody)
	if err != nil {
		return 0, httpclient.WithoutURL(err)
	}
	where := request.URL.Host + request.URL.Path // Errors reach the log. A URL can have a password.
	response, err := d.Client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", where, httpclient.WithoutURL(err))
	}
	defer response.Body.Close()
	limit := most + 1
	switch {
	case response.StatusCode == http.StatusNotFound:
		return 0, ErrNotFound
	case response.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("%s: status %d", where, response.StatusCode)
	case response.ContentLength > most:
		limit = headBytes
	}
	size, err = io.Copy(w, io.LimitReader(response.Body, limit))
	switch {
	case err != nil:
		return size, fmt.Errorf("%s: %w", where, err)
	case response.ContentLength > most:
		return size, fmt.Errorf("%s: %w: %w: %d bytes, at most %d are allowed", where, errUnusable, ErrTooLarge, response.ContentLength, most)
	case size > most:
		return size, fmt.Errorf("%s: %w: %w: more than %d bytes", where, errUnusable, ErrTooLarge, most)
	}
	return size, nil
}

// symbols makes a file, of which there is the beginning, one without sections, and appends those with the table of symbols.
func (d *Debuginfod) symbols(ctx context.Context, b Binary, file *os.File) ([]elffile.Section, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	end := min(info.Size(), headBytes)
	if err := file.Truncate(end); err != nil {
		return nil, err
	}
	sections := []elffile.Section{{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: 1}, {Name: ".strtab"}}
	for i := range sections {
		size, err := d.fetch(ctx, b, "section/"+sections[i].Name, io.NewOffsetWriter(file, end), d.MaxBytes-end)
		if err != nil {
			return nil, err
		}
		sections[i].Offset, sections[i].Size = uint64(end), uint64(size)
		end += size
	}
	return sections, removeSections(file)
}

// removeSections removes what the header of an ELF file says of sections: where they are, how many, and which one has the names.
func removeSections(file *os.File) error {
	var head [64]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return err
	}
	if is64 := head[4] == 2; is64 {
		clear(head[40:48])
		clear(head[60:64])
	} else {
		clear(head[32:36])
		clear(head[48:52])
	}
	_, err := file.WriteAt(head[:], 0)
	return err
}

var errBreaker = errors.New("the server is not asked after several failures")

const (
	failuresToOpen = 5
	breakerPause   = time.Minute
)

// breaker stops requests to a server that fails. After a pause, one search at a time tries it.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
	trying   bool
}

// allow returns what is to be called when the search ends.
func (b *breaker) allow() (end func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < failuresToOpen {
		return func() {}, nil
	}
	if b.trying || time.Now().Before(b.until) {
		return nil, errBreaker
	}
	b.trying = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.trying = false
	}, nil
}

func (b *breaker) failed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	b.until = time.Now().Add(breakerPause)
}

func (b *breaker) succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}
