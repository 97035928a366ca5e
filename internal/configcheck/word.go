// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"slices"
	"strings"
)

// Word sets *to to text if it is one of the known words. Otherwise the error names option. Types of options with a fixed set
// of words call it in UnmarshalText. Each such option repeats the type, its constants and this method, because the configuration
// is read with the method of the type.
func Word[T ~string](to *T, text []byte, option string, known ...T) error {
	if !slices.Contains(known, T(text)) {
		words := make([]string, len(known))
		for i, word := range known {
			words[i] = string(word)
		}
		last := len(words) - 1
		return fmt.Errorf("%s must be %s or %s, is %q", option, strings.Join(words[:last], ", "), words[last], text)
	}
	*to = T(text)
	return nil
}
