// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package limits sets the defaults of the limits that a translator is configured with.
package limits // import "github.com/otelpprof/otelpprof/translator/internal/limits"

import (
	"math"
	"reflect"
)

// highest is the highest limit: small multiples of it do not overflow.
const highest = math.MaxInt / 16

// WithDefaults returns limits, with each limit of 0 or less replaced by its default, and each above highest by that. L must
// be a struct whose exported fields are of type int.
func WithDefaults[L any](limits, defaults L) L {
	fields, values := reflect.ValueOf(&limits).Elem(), reflect.ValueOf(defaults)
	for i := range fields.NumField() {
		field := fields.Field(i)
		switch {
		case !field.CanSet():
		case field.Int() <= 0:
			field.SetInt(values.Field(i).Int())
		case field.Int() > highest:
			field.SetInt(highest)
		}
	}
	return limits
}
