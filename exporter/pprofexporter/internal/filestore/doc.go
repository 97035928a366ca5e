// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package filestore keeps gzipped pprofs as files of one directory.
//
// A file appears under its name only when all of it is on disk: it is written under a temporary name in the same
// directory, synced, given its name, and the directory is synced. A file that stands at the name already is never
// replaced: where it holds the same pprof nothing is written, so that a repeated write does no harm; where it holds
// something else, the new file's name gets a suffix made of its content.
//
// All access goes through [os.Root]: no name and no symbolic link leads out of the directory.
//
// Files are removed by age and by total size, the oldest first, and only those that the store's pattern says are its own.
package filestore // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/filestore"
