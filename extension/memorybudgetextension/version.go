// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"errors"
	"fmt"
)

const (
	// versionHeader is the HTTP header, or gRPC metadata, with the development version of OTLP profiles. Clients of v0.163 and
	// newer send it.
	versionHeader = "otlp-profiles-development-version"
	// version is the version that pdata reads. A request without the header has this version.
	version = "1"
)

var errVersion = errors.New("unsupported version")

// checkVersion returns an error for a version that pdata would misread.
func checkVersion(values []string) error {
	switch {
	case len(values) == 0, len(values) == 1 && values[0] == version:
		return nil
	case len(values) > 1:
		return fmt.Errorf("%w: %s must appear once, appears %d times", errVersion, versionHeader, len(values))
	default:
		return fmt.Errorf("%w: %s is %q, supported is %s", errVersion, versionHeader, values[0], version)
	}
}
