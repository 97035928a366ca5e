// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package source

import (
	"fmt"
	"math"
	"os"
	"syscall"

	"github.com/otelpprof/otelpprof/processor/profilesymbolizer/internal/index"
)

// dontWait opens a pipe at once, so that it can be refused.
const dontWait = syscall.O_NONBLOCK

// mapFile maps a file: its pages are those of the system's cache, and need no memory of the process.
func mapFile(file *os.File) (data []byte, unmap func(), err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 || info.Size() > math.MaxInt32 {
		return nil, nil, fmt.Errorf("%w: it has %d bytes", index.ErrInvalid, info.Size())
	}
	data, err = syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot map %s: %w", file.Name(), err)
	}
	return data, func() { _ = syscall.Munmap(data) }, nil
}
