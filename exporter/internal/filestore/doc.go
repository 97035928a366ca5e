// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package filestore keeps gzipped pprofs as files of one directory.
//
// A file gets its name only when its content is on disk. The store writes a temporary file in the same directory, syncs it, gives
// it its name, and syncs the directory. The store never replaces a file. If a file with the same pprof has the name, the store
// writes nothing, so that a write can be repeated. If another file has the name, the name of the new file gets a suffix, which is
// a hash of its content.
//
// All access uses [os.Root]: no name and no symbolic link leads outside of the directory.
//
// The store removes files by age, total size and number, the oldest first. It removes only files whose names match its template.
package filestore // import "github.com/otelpprof/otelpprof/exporter/internal/filestore"
