// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package payloadconfig

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
)

// ReplacedLimits returns the limits on the entries of a pprof that earlier versions had, and what bounds them now.
func ReplacedLimits() map[string]string {
	replaced := map[string]string{"lines_per_location": fmt.Sprintf("remove it: a location may have %d lines", pprofwire.MaxLinesPerLocation)}
	for _, entries := range []string{"labels", "mappings", "locations", "lines", "functions", "strings", "comments"} {
		replaced[entries] = "remove it: inflated_bytes and the memory budget limit the " + entries
	}
	return replaced
}

// maxBytes is the largest limit in bytes. Readers that count one byte more, to see that a limit is exceeded, cannot overflow.
const maxBytes = min(1<<40, math.MaxInt/2)

// CopyLimits sets each limit in to, a pointer to a struct, that from, a struct, has under the same name. One of the two is
// a section limits, the other the limits of a translator.
func CopyLimits(to, from any) {
	target := reflect.ValueOf(to).Elem()
	for field, limit := range exportedFields(reflect.ValueOf(from)) {
		if found := target.FieldByName(field.Name); found.IsValid() {
			found.Set(limit)
		}
	}
}

// CheckLimits returns an error for each limit of a section, a struct, that is not above 0: it would refuse everything. Limits
// with the unit bytes must not be above maxBytes. Each error begins with prefix.
func CheckLimits(section any, prefix string) error {
	var errs []error
	for field, limit := range exportedFields(reflect.ValueOf(section)) {
		name := prefix + field.Tag.Get(confmap.MapstructureTag)
		if field.Tag.Get("unit") == "bytes" {
			errs = append(errs, CheckBytes(name, limit.Int()))
		} else {
			errs = append(errs, configcheck.Positive(name, limit.Int()))
		}
	}
	return errors.Join(errs...)
}

// CheckBytes returns an error if an option, a limit in bytes, is not above 0, or above maxBytes.
func CheckBytes(name string, limit int64) error {
	if limit > maxBytes {
		return fmt.Errorf("%s must not be above %d, is %d", name, int64(maxBytes), limit)
	}
	return configcheck.Positive(name, limit)
}

// exportedFields yields the exported fields of a struct, in their order.
func exportedFields(limits reflect.Value) func(yield func(reflect.StructField, reflect.Value) bool) {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for i := range limits.NumField() {
			field := limits.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			if !yield(field, limits.Field(i)) {
				return
			}
		}
	}
}
