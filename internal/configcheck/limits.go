// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"go.opentelemetry.io/collector/confmap"

	"github.com/otelpprof/otelpprof/internal/dictionary/spanlink"
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

// Limits returns an error for each limit of a section, a struct, that is not above 0: it would refuse everything. Limits
// with the unit bytes must not be above maxBytes. Each error begins with prefix.
func Limits(section any, prefix string) error {
	var errs []error
	for field, limit := range reflect.ValueOf(section).Fields() {
		if !field.IsExported() {
			continue
		}
		name := prefix + field.Tag.Get(confmap.MapstructureTag)
		if field.Tag.Get("unit") == "bytes" {
			errs = append(errs, Bytes(name, limit.Int()))
		} else {
			errs = append(errs, Positive(name, limit.Int()))
		}
	}
	return errors.Join(errs...)
}

// Bytes returns an error if an option, a limit in bytes, is not above 0, or above maxBytes.
func Bytes(name string, limit int64) error {
	if limit > maxBytes {
		return fmt.Errorf("%s must not be above %d, is %d", name, int64(maxBytes), limit)
	}
	return Positive(name, limit)
}

// LinkLabels returns an error for each pair of the option link_labels without a label of the trace.
func LinkLabels(option []spanlink.Labels) error {
	var errs []error
	for i, pair := range option {
		if pair.Trace == "" {
			errs = append(errs, fmt.Errorf("link_labels[%d].trace must be set", i))
		}
	}
	return errors.Join(errs...)
}
