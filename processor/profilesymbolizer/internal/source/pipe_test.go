// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package source

import "syscall"

func makePipe(name string) error { return syscall.Mkfifo(name, 0o600) }
