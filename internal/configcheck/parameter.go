// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"strings"
)

// maxParameterName limits how much of an unknown name is compared.
const maxParameterName = 64

// Parameter returns an error for a query parameter that is not known, with the most similar one. A known name that ends with a dot
// stands for all names with that prefix.
func Parameter(name string, known []string) error {
	for _, one := range known {
		if key, found := strings.CutPrefix(name, one); found && (key == "") != strings.HasSuffix(one, ".") {
			return nil
		}
	}
	compared := name[:min(len(name), maxParameterName)]
	if meant := nearest(compared, known, max(1, len(compared)/3)); meant != "" {
		return fmt.Errorf("%.40q is not a parameter here, did you mean %q?", name, meant)
	}
	return fmt.Errorf("%.40q is not a parameter here, the known ones are %s", name, strings.Join(known, ", "))
}
