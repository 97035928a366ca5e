// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"time"
)

// number is the type of an option with a number or a duration.
type number interface {
	int | int64 | time.Duration
}

// Positive returns an error unless the value of an option is above 0.
func Positive[T number](option string, value T) error {
	if value > 0 {
		return nil
	}
	return fmt.Errorf("%s must be above 0, is %v", option, value)
}

// NotNegative returns an error if the value of an option is below 0.
func NotNegative[T number](option string, value T) error {
	if value >= 0 {
		return nil
	}
	return fmt.Errorf("%s must not be negative, is %v", option, value)
}

// Between returns an error unless the value of an option is at least least and at most most.
func Between[T number](option string, value, least, most T) error {
	if least <= value && value <= most {
		return nil
	}
	return fmt.Errorf("%s must be %v to %v, is %v", option, least, most, value)
}
