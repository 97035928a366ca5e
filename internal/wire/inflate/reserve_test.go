// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// TestReserving: in every format, nothing is allocated before it is reserved, and an error of reserve ends the call. The result is that
// of [Append].
func TestReserving(t *testing.T) {
	const size, limit = 12 << 20, 16 << 20
	random := randomBytes(3 << 20)
	liar := gzipped(t, random)
	binary.LittleEndian.PutUint32(liar[len(liar)-4:], 1000)
	// It compresses by so little that each layer needs almost as much as the result.
	large := join(make([]byte, 1<<20), randomBytes(7<<20))
	for name, src := range map[string][]byte{
		"plain":              random,
		"gzip":               gzipped(t, random),
		"small gzip":         gzipped(t, []byte("a profile")),
		"dense gzip":         gzipStream(t, zeros(size), gzip.BestSpeed),
		"two gzips":          join(gzipped(t, random), gzipped(t, random)),
		"zstd":               zstdAll(t, random),
		"small zstd":         zstdAll(t, []byte("a profile")),
		"zstd stream":        zstdStream(t, zeros(size)),
		"gzip in gzip":       gzipped(t, gzipped(t, random)),
		"three layers":       zstdAll(t, gzipped(t, zstdAll(t, random))),
		"too large":          gzipStream(t, zeros(limit+1), gzip.BestSpeed),
		"too large, zstd":    zstdStream(t, zeros(limit+1)),
		"lying gzip":         join(gzipped(t, random), liar),
		"large gzip in gzip": gzipped(t, gzipped(t, large)),
		"large zstd in gzip": gzipped(t, zstdAll(t, large)),
		"large gzip in zstd": zstdAll(t, gzipped(t, large)),
		"four layers":        zstdAll(t, gzipped(t, zstdAll(t, gzipped(t, large)))),
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := Append([]byte("before"), src, limit)
			memorytest.Check(t, func(reserve func(total int64) error) error {
				got, _, err := AppendMetered([]byte("before"), src, limit, meter.New(0, reserve))
				if err != nil && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrCorrupt) {
					assert.Equal(t, "before", string(got))
					return err
				}
				assert.Equal(t, wantErr, err)
				assert.True(t, bytes.Equal(want, got))
				return nil
			})
		})
	}
}
