// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package filestore

// isFull knows ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL and ERROR_DISK_QUOTA_EXCEEDED.
func isFull(err error) bool { return isAny(err, 39, 112, 1295) }
