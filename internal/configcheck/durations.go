// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

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
