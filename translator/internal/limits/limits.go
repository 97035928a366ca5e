// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package limits sets the defaults of the limits that a translator is configured with.
package limits // import "github.com/otelpprof/otelpprof/translator/internal/limits"

import "reflect"

// WithDefaults returns limits, with each limit of 0 or less replaced by its default. L must be a struct whose exported
// fields are of type int.
func WithDefaults[L any](limits, defaults L) L {
	fields, values := reflect.ValueOf(&limits).Elem(), reflect.ValueOf(defaults)
	for i := range fields.NumField() {
		if field := fields.Field(i); field.CanSet() && field.Int() <= 0 {
			field.SetInt(values.Field(i).Int())
		}
	}
	return limits
}
