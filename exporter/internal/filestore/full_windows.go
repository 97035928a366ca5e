// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

// isFull returns whether err is ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL or ERROR_DISK_QUOTA_EXCEEDED.
func isFull(err error) bool { return isAny(err, 39, 112, 1295) }
