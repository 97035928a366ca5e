// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.opentelemetry.io/collector/component"
)

const (
	// DefaultPercentage is the default budget in percent of the memory of the process. The rest is for the program, what does not count,
	// and garbage.
	DefaultPercentage = 40
	// DefaultWait is how long a reservation waits for its bytes by default.
	DefaultWait = 2 * time.Second
	// fallbackMemory is the assumed memory in bytes if that of the process is unknown.
	fallbackMemory = 1 << 30
)

// Of returns the budget of the extension that has a method MemoryBudget. Without such an extension it returns the default budget, which
// all components of the process share. Two such extensions are an error.
func Of(host component.Host) (*Budget, error) {
	var found *Budget
	for id, extension := range host.GetExtensions() {
		provider, ok := extension.(interface{ MemoryBudget() *Budget })
		if !ok {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("more than one extension provides a memory budget, one of them is %s", id)
		}
		found = provider.MemoryBudget()
	}
	if found == nil {
		found = processBudget()
	}
	return found, nil
}

var processBudget = sync.OnceValue(func() *Budget {
	return New(PartOfProcess(DefaultPercentage), DefaultWait)
})

// PartOfProcess returns a percentage of the memory that the process may use, in bytes.
func PartOfProcess(percentage int) int64 { return processMemory() / 100 * int64(percentage) }

// processMemory returns how much memory the process may use, in bytes: GOMEMLIMIT if it is set, or else the memory limit of the
// cgroup, or else the memory of the system.
func processMemory() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil || limit == 0 || limit > math.MaxInt64 {
		return fallbackMemory
	}
	return int64(limit)
}
