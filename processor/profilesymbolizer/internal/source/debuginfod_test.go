// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/elftest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// largeFile returns a file with a header, segments of code and of a build id, sections that exist in the header only, and nothing else.
func largeFile(id string, size int) []byte {
	note := elftest.Note(id).Data
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: 3, Machine: 62, Phoff: 64, Shoff: 1 << 40,
			Ehsize: 64, Phentsize: 56, Phnum: 2, Shentsize: 64, Shnum: 40, Shstrndx: 39,
		},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_X), Off: elftest.CodeAddress, Vaddr: elftest.CodeAddress, Filesz: elftest.CodeSize, Memsz: elftest.CodeSize},
		elf.Prog64{Type: uint32(elf.PT_NOTE), Off: 64 + 2*56, Filesz: uint64(len(note))},
		note,
	} {
		_ = binary.Write(&b, binary.LittleEndian, part)
	}
	return append(b.Bytes(), make([]byte, size)...)
}

// Of debug information that is too large, the table of symbols is downloaded.
func TestTooLargeForDebuginfod(t *testing.T) {
	sections := map[string]string{
		".symtab": string(elftest.Symbol(1, elftest.CodeAddress, elftest.CodeSize)), ".strtab": "\x00large\x00",
	}
	server := func(id string, length bool, sections map[string]string, executable []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
			case name == "debuginfo":
				if length {
					w.Header().Set("Content-Length", strconv.Itoa(len(largeFile(id, 2<<20))))
				}
				_, _ = w.Write(largeFile(id, 2<<20))
			case name == "executable" && executable != nil:
				_, _ = w.Write(executable)
			case sections[name] != "":
				_, _ = w.Write([]byte(sections[name]))
			default:
				http.NotFound(w, r)
			}
		}
	}
	huge := map[string]string{".symtab": strings.Repeat("a", 2<<20)}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
		result  Result
		text    string
	}{
		"symbols":              {server(idA, true, sections, nil), "large", Found, ""},
		"of no length":         {server(idA, false, sections, nil), "large", Found, ""},
		"without sections":     {server(idA, true, nil, nil), "", Failed, "bytes, at most 1048576 are allowed"},
		"too large as well":    {server(idA, true, huge, nil), "", Failed, "at most 1048576 are allowed"},
		"without names":        {server(idA, true, map[string]string{".symtab": sections[".symtab"]}, nil), "", Failed, "at most 1048576"},
		"executable":           {server(idA, true, nil, elftest.WithSymbols(idA, "executable")), "executable", Found, ""},
		"another build id":     {server(idB, true, sections, nil), "", Failed, "at most 1048576"},
		"symbols of any bytes": {server(idA, true, map[string]string{".symtab": "any", ".strtab": "any"}, nil), "", Failed, "at most 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			server := debuginfod(t, test.handler)
			set := settings(t.TempDir(), server)
			report := reportOf(&set)
			function, result := get(t, newStore(t, set), Binary{Kind: GNU, ID: idA})
			assert.Equal(t, test.result, result)
			assert.Equal(t, test.want, function)
			if test.text != "" {
				assert.ErrorContains(t, errors.Join(report.errs...), test.text)
			}
			left := must.Get(os.ReadDir(server.Directory))(t)
			assert.Empty(t, left)
		})
	}
}

// No more is downloaded of what is too large than its beginning, and of a section than there is room for.
func TestDebuginfodDownloadsLittle(t *testing.T) {
	const most, buffers = 32 << 20, 16 << 20
	for _, test := range []struct{ artifact, length string }{{"debuginfo", "100000000"}, {".symtab", ""}} {
		var sent atomic.Int64
		server := debuginfod(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] {
			case test.artifact:
				if test.length != "" {
					w.Header().Set("Content-Length", test.length)
				}
				for n := 0; n < 3*most; {
					part, err := w.Write(make([]byte, 1<<20))
					sent.Add(int64(part))
					if n += part; err != nil {
						return
					}
				}
			case "debuginfo":
				w.Header().Set("Content-Length", "100000000")
				_, _ = w.Write(largeFile(idA, 1<<20))
			default:
				http.NotFound(w, r)
			}
		})
		server.MaxBytes = most
		set := settings(t.TempDir(), server)
		_, result := get(t, newStore(t, set), Binary{Kind: GNU, ID: idA})
		assert.Equal(t, Failed, result)
		limit := int64(buffers)
		if test.length == "" {
			limit += most
		}
		assert.Less(t, sent.Load(), limit, test.artifact)
	}
}

func TestRemoveSections(t *testing.T) {
	for class, header := range map[byte]any{
		1: &elf.Header32{Type: 3, Entry: 1, Phoff: 2, Shoff: 3, Flags: 4, Ehsize: 5, Phentsize: 6, Phnum: 7, Shentsize: 8, Shnum: 9, Shstrndx: 10},
		2: &elf.Header64{Type: 3, Entry: 1, Phoff: 2, Shoff: 3, Flags: 4, Ehsize: 5, Phentsize: 6, Phnum: 7, Shentsize: 8, Shnum: 9, Shstrndx: 10},
	} {
		name := filepath.Join(t.TempDir(), "file")
		var b bytes.Buffer
		require.NoError(t, binary.Write(&b, binary.LittleEndian, header))
		data := append(b.Bytes(), bytes.Repeat([]byte{0xff}, 64)...)
		data[4] = class
		write(t, name, data)
		file := must.Get(os.OpenFile(name, os.O_RDWR, 0))(t)
		require.NoError(t, removeSections(file))
		require.NoError(t, file.Close())
		changed := must.Get(os.ReadFile(name))(t)
		require.NoError(t, binary.Read(bytes.NewReader(changed), binary.LittleEndian, header))
		assert.Equal(t, data[b.Len():], changed[b.Len():])
		switch h := header.(type) {
		case *elf.Header32:
			h.Ident = [16]byte{}
			assert.Equal(t, &elf.Header32{Type: 3, Entry: 1, Phoff: 2, Flags: 4, Ehsize: 5, Phentsize: 6, Phnum: 7, Shentsize: 8}, h)
		case *elf.Header64:
			h.Ident = [16]byte{}
			assert.Equal(t, &elf.Header64{Type: 3, Entry: 1, Phoff: 2, Flags: 4, Ehsize: 5, Phentsize: 6, Phnum: 7, Shentsize: 8}, h)
		}
	}
}

// What is logged of a server that fails has no password, and no line for each binary that it is not asked for.
func TestErrorsOfDebuginfod(t *testing.T) {
	failing := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }
	endless := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) }
	dropping := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, handler := range []http.HandlerFunc{failing, endless, dropping} {
		server := debuginfod(t, handler)
		server.URL = strings.Replace(server.URL, "//", "//name:secret@", 1)
		set := settings(t.TempDir(), server)
		report := reportOf(&set)
		s := newStore(t, set)
		for i := range 2 * failuresToOpen {
			get(t, s, Binary{Kind: GNU, ID: fmt.Sprintf("%02x", i) + idA[2:]})
		}
		err := errors.Join(report.errs...)
		require.ErrorContains(t, err, strings.TrimPrefix(server.URL, "http://name:secret@"))
		assert.NotContains(t, err.Error(), "secret")
		assert.NotErrorIs(t, err, errBreaker)
		assert.Equal(t, 2*failuresToOpen, report.counts()["debuginfod failed"])
	}
}

// After the pause of a server that failed, one request tries it, however long that takes.
func TestBreakerTriesOnce(t *testing.T) {
	var asked atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	server := debuginfod(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			close(begun)
			<-release
		}
		http.Error(w, "no", http.StatusBadGateway)
	})
	server.breaker.failures = failuresToOpen
	pauseEnds := func() {
		server.breaker.mu.Lock()
		defer server.breaker.mu.Unlock()
		server.breaker.until = time.Time{}
	}
	find := func() error { return server.find(t.Context(), Binary{Kind: GNU, ID: idA}, nil) }
	first := make(chan error)
	go func() { first <- find() }()
	<-begun
	pauseEnds()
	second := find()
	close(release)
	require.ErrorContains(t, <-first, "status 502")
	require.ErrorIs(t, second, errBreaker)
	require.ErrorIs(t, find(), errBreaker, "another pause")
	pauseEnds()
	require.ErrorContains(t, find(), "status 502")
}
