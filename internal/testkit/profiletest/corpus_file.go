// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// Form is what google/pprof makes of a file.
type Form int

const (
	// Refused means that google/pprof does not accept the file.
	Refused Form = iota
	// Proto is profile.proto, plain or gzipped, that satisfies CheckValid.
	Proto
	// Legacy is one of the older text and binary formats.
	Legacy
)

// PprofFile is a file with a profile.
type PprofFile struct {
	// Name is the folder and the name of the file.
	Name string

	path string
}

// Bytes returns the file as it stands.
func (f PprofFile) Bytes(tb testing.TB) []byte {
	tb.Helper()
	content, err := os.ReadFile(f.path)
	require.NoError(tb, err)
	return content
}

// Parse returns what google/pprof reads from the file, nil where it refuses it.
func (f PprofFile) Parse(tb testing.TB) (*profile.Profile, Form) {
	tb.Helper()
	return ParsePprof(f.Bytes(tb))
}

// ParsePprof reads a payload with google/pprof and tells its form, nil where it is refused.
func ParsePprof(payload []byte) (*profile.Profile, Form) {
	if plain, err := gunzip(payload); err == nil {
		p, err := profile.ParseUncompressed(plain)
		if err == nil && p.CheckValid() == nil {
			return p, Proto
		}
	}
	p, err := profile.ParseData(payload)
	if err != nil {
		return nil, Refused
	}
	return p, Legacy
}

func gunzip(payload []byte) ([]byte, error) {
	if !bytes.HasPrefix(payload, []byte{0x1f, 0x8b}) {
		return payload, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
