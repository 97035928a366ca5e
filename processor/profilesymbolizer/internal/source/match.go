// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/elffile"
)

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
