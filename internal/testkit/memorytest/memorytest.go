// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package memorytest checks from outside that memory is reserved as docs/memory.md promises: what is reserved is at least what is used,
// and at most three times that. With the race detector, which allocates as well, the work runs once and nothing is compared.
package memorytest // import "github.com/otelpprof/otelpprof/internal/testkit/memorytest"

import (
	"errors"
	"math/bits"
	"runtime"
	"runtime/debug"
	"testing"
)

// Most is how many times the used memory may be reserved, on a 64-bit system. On another one it is Words times that, since estimates are
// those of a 64-bit system.
const (
	Most  = 3
	Words = 64 / bits.UintSize
)

// slack is the memory that may be used or reserved beside that, in bytes: what the runtime and other packages allocate, decompressors
// that pools have dropped, and the first sizes of tables.
const slack = 256 << 10

// heldSlack is the same for what stays: only the rest of the process.
const heldSlack = 40 << 10

// Work is a piece of work that calls reserve with its total before it allocates memory, and ends with the error of reserve.
type Work func(reserve func(total int64) error) error

// Use is the memory of a piece of work, in bytes. Reserved is the largest total. Allocated is what the work used: all that it
// allocated, with garbage. A reservation is made before memory is allocated, and garbage takes memory until the collector runs.
type Use struct{ Reserved, Allocated int64 }

var errRefused = errors.New("refused by the test")

// Check runs a piece of work several times, with more and more memory, until it has all that it reserves. The work must not keep memory
// from run to run. Each time it must use at most the memory that it has. In the end it may have reserved [Most] times what it used.
func Check(tb testing.TB, work Work) {
	tb.Helper()
	all := CheckComplete(tb, Most, work)
	if race {
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const parts = 3
	for part := range int64(parts) {
		limit := all.Reserved * part / parts
		collect()
		use, err := run(tb, work, limit)
		if !errors.Is(err, errRefused) {
			tb.Errorf("with %d of %d bytes, the error is %v", limit, all.Reserved, err)
		}
		checkCovered(tb, limit, use.Allocated, slack)
	}
}

// CheckComplete runs a piece of work once, with all that it reserves. most is [Most], or more for an estimate that is not worth its
// improvement.
func CheckComplete(tb testing.TB, most int64, work Work) Use {
	tb.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	collect() // empties pools, so that the work cannot reuse memory
	all, err := run(tb, work, 1<<62)
	if err != nil {
		tb.Fatal(err)
	}
	checkBounds(tb, most, all.Reserved, all.Allocated, slack)
	return all
}

// CheckCovered runs a piece of work once, which may fail, and checks only that it reserves at least what it uses. It is for fuzz tests.
func CheckCovered(tb testing.TB, work Work) {
	tb.Helper()
	use, _ := run(tb, work, 1<<62)
	checkCovered(tb, use.Reserved, use.Allocated, slack)
}

func checkBounds(tb testing.TB, most, reserved, used, slack int64) {
	tb.Helper()
	tb.Logf("reserved %d bytes, used %d: %.2f times as much", reserved, used, float64(reserved)/float64(used))
	checkCovered(tb, reserved, used, slack)
	if reserved > most*Words*used+slack && !race {
		tb.Errorf("reserved %d bytes, at most %d times the %d bytes that are used was expected", reserved, most, used)
	}
}

func checkCovered(tb testing.TB, reserved, used, slack int64) {
	tb.Helper()
	if used > reserved+slack && !race {
		tb.Errorf("used %d bytes, reserved %d", used, reserved)
	}
}

// run runs a piece of work, and refuses totals above limit.
func run(tb testing.TB, work Work, limit int64) (use Use, err error) {
	tb.Helper()
	before := allocated()
	err = work(func(total int64) error {
		if total < use.Reserved { // An assertion would allocate memory.
			tb.Errorf("the total falls from %d to %d", use.Reserved, total)
		}
		use.Reserved = total
		if total > limit {
			return errRefused
		}
		return nil
	})
	use.Allocated = allocated() - before
	return use, err
}

// Allocated returns the bytes that f allocates, with garbage.
func Allocated(f func()) int64 {
	before := allocated()
	f()
	return allocated() - before
}

func allocated() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.TotalAlloc)
}

// CheckHeld checks a reservation for a thing that stays: a message, or what a component keeps. It makes n of them, so that small things
// count. What they use is their live heap.
func CheckHeld[T any](tb testing.TB, most int64, n int, thing func() (kept T, reserved int64)) {
	tb.Helper()
	things, all := make([]T, n), int64(0)
	before := LiveHeap()
	for i := range things {
		kept, reserved := thing()
		things[i] = kept
		all += reserved
	}
	used := max(LiveHeap()-before, 0)
	runtime.KeepAlive(things)
	runtime.KeepAlive(thing) // What it was made of does not become garbage in between.
	checkBounds(tb, most, all, used, heldSlack)
}

// LiveHeap returns the bytes of the heap that are still in use.
func LiveHeap() int64 {
	var stats runtime.MemStats
	collect()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// collect frees all garbage, and what is in pools.
func collect() {
	for range 3 {
		runtime.GC()
	}
}
