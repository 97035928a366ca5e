// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package resourcemetadata

import (
	"errors"
	"fmt"
	"strings"
)

// Validate refuses keys that are empty or stand twice.
func Validate(keys []string) error {
	var errs []error
	seen := map[string]bool{}
	for i, key := range keys {
		switch {
		case key == "":
			errs = append(errs, fmt.Errorf("metadata_from_resource[%d] must not be empty", i))
		case seen[lower(key)]:
			errs = append(errs, fmt.Errorf("metadata_from_resource[%d]: %q stands twice, upper and lower case count the same", i, key))
		}
		seen[lower(key)] = true
	}
	return errors.Join(errs...)
}

// lower is how metadata keeps its keys.
func lower(key string) string { return strings.ToLower(key) }
