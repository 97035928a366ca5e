// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package label has the labels and tags that clients send with a profile, under limits.
package label

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxCount is the number of labels that one profile can have.
	MaxCount = 128
	// MaxNameBytes is the maximum length of a name.
	MaxNameBytes = 1 << 10
	// MaxValueBytes is the maximum length of a value.
	MaxValueBytes = 16 << 10
)

// ErrTooLarge reports that a limit is exceeded. The text names the limit, its value and the number that exceeds it.
var ErrTooLarge = errors.New("too large")

// Label is a name and its value.
type Label struct {
	Name  string
	Value string
}

// Append appends a label to list. Invalid UTF-8 becomes U+FFFD. The error is [ErrTooLarge].
func Append(list []Label, name, value string) ([]Label, error) {
	if len(list) == MaxCount {
		return list, fmt.Errorf("%w: more than %d labels", ErrTooLarge, MaxCount)
	}
	if err := Check(name, value); err != nil {
		return list, err
	}
	return append(list, Label{Name: ValidText(name), Value: ValidText(value)}), nil
}

// Check returns [ErrTooLarge] if a name or a value is too long.
func Check(name, value string) error {
	switch {
	case len(name) > MaxNameBytes:
		return fmt.Errorf("%w: bytes of the label name %.32q...: %d, the limit is %d", ErrTooLarge, name, len(name), MaxNameBytes)
	case len(value) > MaxValueBytes:
		return fmt.Errorf("%w: bytes of the value of label %.64q: %d, the limit is %d", ErrTooLarge, name, len(value), MaxValueBytes)
	default:
		return nil
	}
}

// ValidText returns text with invalid UTF-8 replaced by U+FFFD: OTLP requires UTF-8.
func ValidText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
