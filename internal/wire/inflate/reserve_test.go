// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
)

// TestReserving: in every format, nothing is allocated before it is reserved, and an error of reserve ends the call.
func TestReserving(t *testing.T) {
	const size = 12 << 20
	random := randomBytes(3 << 20)
	liar := gzipped(t, random)
	binary.LittleEndian.PutUint32(liar[len(liar)-4:], 1000)
	dense := gzipStream(t, zeros(size), gzip.BestSpeed)
	unknown := zstdStream(t, zeros(size))
	for name, src := range map[string][]byte{
		"plain":           random,
		"gzip":            gzipped(t, random),
		"small gzip":      gzipped(t, []byte("a profile")),
		"dense gzip":      dense,
		"two gzips":       join(gzipped(t, random), gzipped(t, random)),
		"zstd":            zstdAll(t, random),
		"small zstd":      zstdAll(t, []byte("a profile")),
		"zstd stream":     unknown,
		"gzip in gzip":    gzipped(t, gzipped(t, random)),
		"three layers":    zstdAll(t, gzipped(t, zstdAll(t, random))),
		"too large":       gzipStream(t, zeros(testReserveLimit+1), gzip.BestSpeed),
		"too large, zstd": zstdStream(t, zeros(testReserveLimit+1)),
		"lying gzip":      join(gzipped(t, random), liar),
	} {
		t.Run(name, func(t *testing.T) {
			steps := []int{0}
			before := allocated()
			got, err := appendReserving([]byte("before"), src, testReserveLimit, func(n int) error {
				assert.Greater(t, n, steps[len(steps)-1])
				steps = append(steps, n)
				return nil
			})
			used := int(allocated() - before)
			want, wantErr := Append([]byte("before"), src, testReserveLimit)
			assert.Equal(t, wantErr, err)
			assert.True(t, bytes.Equal(want, got))
			reserved := steps[len(steps)-1]
			assert.GreaterOrEqual(t, reserved+reserved/16+slack, used, "allocated more than reserved")

			none := errors.New("no more")
			for _, allowed := range steps {
				before := allocated()
				got, err := appendReserving([]byte("before"), src, testReserveLimit, func(n int) error {
					if n > allowed {
						return none
					}
					return nil
				})
				if allowed == reserved {
					assert.Equal(t, wantErr, err)
					continue
				}
				require.Equal(t, none, err, "unchanged")
				assert.Equal(t, "before", string(got))
				assert.LessOrEqual(t, int(allocated()-before), allowed+allowed/16+slack)
			}
		})
	}
}

// TestReservingNested: the array of an outer layer counts until the end, also when an inner layer no longer fits in it.
func TestReservingNested(t *testing.T) {
	// It compresses by so little that each layer needs almost as much as the result.
	large := join(make([]byte, 1<<20), randomBytes(7<<20))
	for name, src := range map[string][]byte{
		"gzip in gzip": gzipped(t, gzipped(t, large)),
		"zstd in gzip": gzipped(t, zstdAll(t, large)),
		"gzip in zstd": zstdAll(t, gzipped(t, large)),
		"four layers":  zstdAll(t, gzipped(t, zstdAll(t, gzipped(t, large)))),
	} {
		t.Run(name, func(t *testing.T) {
			// Twice empties the pools.
			runtime.GC()
			runtime.GC()
			reserved := 0
			before := allocated()
			_, err := appendReserving(nil, src, testReserveLimit, func(n int) error {
				reserved = n
				return nil
			})
			used := int(allocated() - before)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, reserved+slack, used, "allocated more than reserved")
			assert.LessOrEqual(t, reserved, used+used/4+slack, "reserved much more than allocated")
		})
	}
}

const (
	testReserveLimit = 16 << 20
	// slack is for a reader that the pools may have dropped, and for allocations of the test itself.
	slack = 256 << 10
)

// appendReserving is [AppendMetered] with a function that gets the total.
func appendReserving(dst, src []byte, limit int, reserve func(int) error) ([]byte, error) {
	got, _, err := AppendMetered(dst, src, limit, meter.New(0, func(total int64) error { return reserve(int(total)) }))
	return got, err
}
