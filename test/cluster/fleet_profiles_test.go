// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// versions is how many rounds the counters of a program grow.
	versions = 40
	// branches is the depth of the tree of calls that allocates: each one doubles the stacks of the allocs profile.
	branches = 8
)

// makeProfiles makes what the programs serve: the allocations of this process, which grow.
func makeProfiles(t *testing.T) (profiles [][]byte) {
	t.Helper()
	for range versions {
		allocate()
		runtime.GC() // allocations are in the profile after it
		var content bytes.Buffer
		require.NoError(t, pprof.Lookup(fetched).WriteTo(&content, 0))
		profiles = append(profiles, content.Bytes())
	}
	stacks, _ := runtime.MemProfile(nil, true)
	t.Logf("a profile of a pod has %d stacks and %d bytes", stacks, len(profiles[0]))
	return profiles
}

// allocate makes an allocation at the end of each branch, all of which are in the profile.
func allocate() {
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	defer func() { runtime.MemProfileRate = rate }()
	left(branches)
}

var sink []byte

//go:noinline
func left(depth int) {
	if depth == 0 {
		sink = make([]byte, 64)
		return
	}
	left(depth - 1)
	right(depth - 1)
}

//go:noinline
func right(depth int) {
	if depth == 0 {
		sink = make([]byte, 128)
		return
	}
	left(depth - 1)
	right(depth - 1)
}
