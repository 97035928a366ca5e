// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"strings"
)

// MetadataKeys returns an error for empty and repeated keys of client metadata. Their case does not matter. option is the name
// of the list.
func MetadataKeys(option string, keys []string) error {
	var errs []error
	seen := map[string]bool{}
	for i, key := range keys {
		lower := strings.ToLower(key)
		switch {
		case key == "":
			errs = append(errs, fmt.Errorf("%s[%d] must not be empty", option, i))
		case seen[lower]:
			errs = append(errs, fmt.Errorf("%s[%d]: %q is listed twice (case does not matter)", option, i, key))
		}
		seen[lower] = true
	}
	return errors.Join(errs...)
}
