// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"syscall"
)

func mount(directory string) error {
	return syscall.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d", diskBytes))
}

func unmount(directory string) error { return syscall.Unmount(directory, 0) }
