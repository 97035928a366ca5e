// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package source

import (
	"io"
	"os"
)

const dontWait = 0

// mapFile reads a file, where files cannot be mapped.
func mapFile(file *os.File) (data []byte, unmap func(), err error) {
	data, err = io.ReadAll(file)
	return data, func() {}, err
}
