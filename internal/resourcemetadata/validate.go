// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package resourcemetadata

import (
	"errors"
	"fmt"
	"strings"
)

// Validate returns an error for empty and repeated keys.
func Validate(keys []string) error {
	var errs []error
	seen := map[string]bool{}
	for i, key := range keys {
		switch {
		case key == "":
			errs = append(errs, fmt.Errorf("metadata_from_resource[%d] must not be empty", i))
		case seen[lower(key)]:
			errs = append(errs, fmt.Errorf("metadata_from_resource[%d]: %q is listed twice (case does not matter)", i, key))
		}
		seen[lower(key)] = true
	}
	return errors.Join(errs...)
}

// lower returns a key in lower case, as client metadata stores it.
func lower(key string) string { return strings.ToLower(key) }
