// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package source finds the binaries that profiles name by a build id, makes an index of each, and keeps the indices.
package source // import "github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/source"

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

// Kind is the kind of a build id.
type Kind string

const (
	// GNU is the note of GNU's linker, in hexadecimal digits.
	GNU Kind = "gnu"
	// Go is the note of Go's linker.
	Go Kind = "go"
	// HTLHash is the hash that OpenTelemetry's profiler makes of a file.
	HTLHash Kind = "htlhash"
)

// Binary is a file that a profile names.
type Binary struct {
	Kind Kind
	ID   string
	// Path is where the process had it. It finds the file, and does not identify it.
	Path string
}

const (
	minDigits = 8
	maxDigits = 128
	maxGoID   = 256
	// maxPath is PATH_MAX of Linux. No file has a longer path.
	maxPath = 4096
)

// Normalize returns the binary with its id in one form and without a path that no file has, and reports whether the id is valid.
func (b Binary) Normalize() (Binary, bool) {
	if len(b.Path) > maxPath {
		b.Path = ""
	}
	switch b.Kind {
	case GNU, HTLHash:
		if len(b.ID)%2 != 0 || len(b.ID) < minDigits || len(b.ID) > maxDigits {
			return b, false
		}
		b.ID = strings.ToLower(b.ID)
		return b, strings.Trim(b.ID, "0123456789abcdef") == ""
	case Go:
		return b, b.ID != "" && len(b.ID) <= maxGoID
	}
	return b, false
}

// identity returns the binary without its path.
func (b Binary) identity() Binary { return Binary{Kind: b.Kind, ID: b.ID} }

// ErrNotFound says that a source does not have a binary.
var ErrNotFound = errors.New("no source has the binary")

// Source finds files.
type Source interface {
	// name is the name of the source in metrics.
	name() string
	// find calls use with each file that can be the binary, and sections to add to those of its header, until it returns false. find closes
	// the files. Without any, the error is ErrNotFound.
	find(ctx context.Context, b Binary, use func(*os.File, ...elffile.Section) bool) error
}

var errOther = errors.New("the file has another build id")

// check returns an error unless a file is the binary.
func check(b Binary, file *elffile.File, reader io.ReaderAt, size int64) error {
	gnu, golang, err := file.BuildIDs()
	if err != nil {
		return err
	}
	switch {
	case b.Kind == Go && golang == b.ID, b.Kind != Go && gnu == b.ID:
		// A GNU build id of 16 bytes looks as an HTLHash where nothing says which it is, as in pprof.
		return nil
	case b.Kind == HTLHash:
		if hash, err := htlHash(reader, size); err != nil || hash == b.ID {
			return err
		}
	}
	return errOther
}

const hashedBytes = 4096

// htlHash returns the hash of a file that OpenTelemetry's profiler makes: of its first and last 4 KiB and its length.
func htlHash(reader io.ReaderAt, size int64) (string, error) {
	hash := sha256.New()
	for _, at := range []int64{0, max(0, size-hashedBytes)} {
		if _, err := io.Copy(hash, io.NewSectionReader(reader, at, hashedBytes)); err != nil {
			return "", err
		}
	}
	hash.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}
