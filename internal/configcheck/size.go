// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

// externalSizes has the options in packages of the Collector that are sizes in bytes. Their fields have no unit tag.
var externalSizes = map[string]bool{"max_request_body_size": true, "queue_size": true}

// units maps each unit to its number of bytes.
var units = map[string]int64{
	"": 1, "B": 1,
	"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// IsSize reports whether an option is a size in bytes.
func IsSize(field reflect.StructField) bool {
	key, _, _ := strings.Cut(field.Tag.Get(confmap.MapstructureTag), ",")
	return field.Tag.Get("unit") == "bytes" || externalSizes[key]
}

// parseSize parses a whole number with an optional unit.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGTi ")
	number, err := strconv.ParseInt(digits, 10, 64)
	unit, known := units[strings.TrimSpace(text[len(digits):])]
	switch {
	case err != nil || !known:
		return 0, fmt.Errorf("is %q: write a whole number of bytes, or one with KiB, MiB, GiB, KB, MB or GB, for example 64MiB", text)
	case number > math.MaxInt64/unit || number < math.MinInt64/unit:
		return 0, fmt.Errorf("is %s, the largest size is %d bytes", text, math.MaxInt64)
	}
	return number * unit, nil
}
