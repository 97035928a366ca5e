// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/confmap"
)

// Fields returns the options of a section by key. Squashed structs are part of the section.
func Fields(section reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for field := range section.Fields() {
		key, options, _ := strings.Cut(field.Tag.Get(confmap.MapstructureTag), ",")
		switch {
		case key == "-" || !field.IsExported():
		case options == "squash":
			for squashedKey, squashed := range Fields(field.Type) {
				// Where two structs share a key, an outer field hides it.
				if _, outer := fields[squashedKey]; !outer {
					squashed.Index = append(append([]int{}, field.Index...), squashed.Index...)
					fields[squashedKey] = squashed
				}
			}
		case key != "":
			fields[key] = field
		}
	}
	return fields
}

// Words returns the words of which an option must have one, or none if it may have any value.
func Words(field reflect.StructField) []string { return strings.Fields(field.Tag.Get("words")) }

// Section returns the struct type of a field that is a section: a struct, a pointer to one, or a configoptional.Optional of
// one. It returns nil if the field is not a section or has no options.
func Section(field reflect.Type) (section reflect.Type, optional bool) {
	if get, found := reflect.PointerTo(field).MethodByName("Get"); found && isOptional(field) {
		section, _ = Section(get.Type.Out(0).Elem())
		return section, true
	}
	if field.Kind() == reflect.Pointer {
		return Section(field.Elem())
	}
	if field.Kind() != reflect.Struct || len(Fields(field)) == 0 {
		return nil, false
	}
	return field, false
}

func isOptional(field reflect.Type) bool {
	return field.PkgPath() == "go.opentelemetry.io/collector/config/configoptional" && strings.HasPrefix(field.Name(), "Optional[")
}

// leastDuration is shorter than any useful duration. A duration below it was probably written without a unit, which means
// nanoseconds.
const leastDuration = time.Millisecond

// Durations returns an error for each duration in cfg that is above 0 and below leastDuration. cfg is a pointer to a struct.
// Optional sections without a value are skipped.
func Durations(cfg any) error {
	return errors.Join(durations(reflect.ValueOf(cfg).Elem(), "")...)
}

func durations(section reflect.Value, path string) []error {
	var errs []error
	fields := Fields(section.Type())
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		errs = append(errs, durationsOf(section.FieldByIndex(fields[key].Index), path+key)...)
	}
	return errs
}

func durationsOf(value reflect.Value, path string) []error {
	if duration, ok := reflect.TypeAssert[time.Duration](value); ok {
		if duration > 0 && duration < leastDuration {
			return []error{fmt.Errorf("%s is %s, which is less than %s: write a unit, for example 30s", path, duration, leastDuration)}
		}
		return nil
	}
	if isOptional(value.Type()) {
		// Without a value it is a nil pointer.
		value = value.Addr().MethodByName("Get").Call(nil)[0]
	}
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() == reflect.Struct {
		return durations(value, path+separator)
	}
	return nil
}

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
		return 0, fmt.Errorf("is %s, the largest size is %d bytes", text, int64(math.MaxInt64))
	}
	return number * unit, nil
}
