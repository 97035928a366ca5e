// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestFilesOfTheFuture: the clock was ahead when they were written, or was set back since. They count as the youngest:
// they go by age once the clock has passed their time by max_age, and keep no other file from going.
func TestFilesOfTheFuture(t *testing.T) {
	options := newOptions(t, t.TempDir())
	var removed removals
	options.MaxAge, options.Removed = time.Hour, removed.add
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			write(t, s, "a/cpu/future.pb.gz", -2*time.Hour)
			write(t, s, "a/cpu/old.pb.gz", 2*time.Hour)
			write(t, s, "a/cpu/young.pb.gz", 0)
		})
		newStore(t, options)
		synctest.Wait()
		assert.Equal(t, []string{"a/cpu/future.pb.gz", "a/cpu/young.pb.gz"}, names(t, options))
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"a/cpu/future.pb.gz"}, names(t, options))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		assert.Empty(t, names(t, options), "no file is kept for ever")
		assert.Equal(t, map[Reason]int{ReasonAge: 3}, removed.files)
	})
}

// TestSizeWithFilesOfTheFuture: the size is kept to, whatever the times are. What seems to be the youngest goes last.
func TestSizeWithFilesOfTheFuture(t *testing.T) {
	options := newOptions(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		before(t, options, func(s *Store) {
			write(t, s, "a/cpu/future.pb.gz", -24*time.Hour)
			options.MaxTotalSize = write(t, s, "a/cpu/now.pb.gz", 0)
		})
		newStore(t, options)
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"a/cpu/future.pb.gz"}, names(t, options))
	})
}
