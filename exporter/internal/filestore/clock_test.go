// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestFilesOfTheFuture: the clock was ahead when the files were written, or was set back later. These files count as the youngest.
// They are removed when they are older than max_age. They do not prevent the removal of other files.
func TestFilesOfTheFuture(t *testing.T) {
	options := newOptions(t, t.TempDir())
	var removed removals
	options.MaxAge, options.OnRemove = time.Hour, removed.add
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

// TestSizeWithFilesOfTheFuture: the limit of the size holds for any times. The file with the latest time is removed last.
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
