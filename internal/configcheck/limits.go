// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"math"

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

// Bytes returns an error if an option, a limit in bytes, is not above 0, or above maxBytes.
func Bytes[T int | int64](name string, limit T) error {
	if int64(limit) > maxBytes {
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
