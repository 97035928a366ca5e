// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package label is the labels and tags that clients send with a profile, under limits.
package label

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxCount is how many labels may describe one profile.
	MaxCount = 128
	// MaxNameBytes limits the name of a label.
	MaxNameBytes = 1 << 10
	// MaxValueBytes limits the value of a label.
	MaxValueBytes = 16 << 10
)

// ErrTooLarge says that a limit was exceeded. The text names the limit, its value and what was found.
var ErrTooLarge = errors.New("too large")

// Label is a name and its value.
type Label struct {
	Name  string
	Value string
}

// Append appends a label to list, unless a limit is exceeded. Bytes that are not UTF-8 become U+FFFD.
func Append(list []Label, name, value string) ([]Label, error) {
	if len(list) == MaxCount {
		return list, fmt.Errorf("%w: more than %d labels", ErrTooLarge, MaxCount)
	}
	if err := Check(name, value); err != nil {
		return list, err
	}
	return append(list, Label{Name: ValidText(name), Value: ValidText(value)}), nil
}

// Check reports whether a name or a value is too long.
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

// Transport reports whether a label is for the server and does not describe the profile.
func Transport(name string) bool { return strings.HasPrefix(name, "__") }

// Find returns the value of the last label of this name.
func Find(list []Label, name string) string {
	value := ""
	for _, l := range list {
		if l.Name == name {
			value = l.Value
		}
	}
	return value
}

// ValidText returns text as valid UTF-8, which OTLP requires.
func ValidText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
