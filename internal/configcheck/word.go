// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"slices"
	"strings"
)

// Word sets *to to the word in text if it is one of the known words. option is the option's name for the error. It implements
// UnmarshalText for the types of such options.
func Word[T ~string](to *T, text []byte, option string, known ...T) error {
	if !slices.Contains(known, T(text)) {
		words := make([]string, len(known))
		for i, word := range known {
			words[i] = string(word)
		}
		last := len(words) - 1
		return fmt.Errorf("unknown %s %q, known are %s and %s", option, text, strings.Join(words[:last], ", "), words[last])
	}
	*to = T(text)
	return nil
}
