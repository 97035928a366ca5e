// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// FuzzAppend checks what the documentation of Append promises: the limit, the two classes of errors, that dst keeps its bytes,
// and that the result for gzip is that of the library's reader.
func FuzzAppend(f *testing.F) {
	plain := []byte("a profile, a profile, a profile")
	gz, zs := gzipped(f, plain), zstdAll(f, plain)
	for _, seed := range [][]byte{
		nil, plain, gz, zs, gz[:len(gz)-3], zs[:len(zs)-3],
		join(gz, gz), join(zs, zs), join(gz, zs), join(zs, gz), join(gz, plain), join(zs, plain),
		gzipped(f, zs), zstdAll(f, gz), zstdStream(f, bytes.NewReader(plain)), gzipped(f, make([]byte, 5000)),
		zstdStream(f, zeros(300_000)), zstdAll(f, make([]byte, 5000)),
		join(zs, []byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc")),
	} {
		f.Add(seed, uint16(1000))
	}
	f.Fuzz(func(t *testing.T, src []byte, limit16 uint16) {
		limit := int(limit16)
		got, err := Append([]byte("before"), src, limit)
		if !bytes.HasPrefix(got, []byte("before")) {
			t.Fatalf("dst has lost its bytes: %q", got)
		}
		got = got[len("before"):]
		if err != nil {
			if len(got) != 0 {
				t.Fatalf("%d bytes and an error: %v", len(got), err)
			}
			if errors.Is(err, ErrTooLarge) == errors.Is(err, ErrCorrupt) {
				t.Fatalf("not exactly one class: %v", err)
			}
			return
		}
		if len(got) > limit {
			t.Fatalf("%d bytes, limit %d", len(got), limit)
		}
		if !Plain(got) {
			t.Fatalf("still compressed: %x", got)
		}
		if want, ok := gunzip(src); ok && Plain(want) && !bytes.Equal(want, got) {
			t.Fatalf("got %x, want %x", got, want)
		}
	})
}

// gunzip decompresses with the library's reader, without a limit.
func gunzip(src []byte) ([]byte, bool) {
	reader, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, false
	}
	plain, err := io.ReadAll(reader)
	return plain, err == nil
}
