// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package filestore

import "syscall"

func isFull(err error) bool { return isAny(err, syscall.ENOSPC, syscall.EDQUOT) }
