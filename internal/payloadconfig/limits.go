// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package payloadconfig

import (
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/collector/confmap"
)

// EntryLimitsConfig limits the entries of one pprof. It is squashed into the section limits of a component, which adds the
// limits of its own.
type EntryLimitsConfig struct {
	// Labels is the number of labels of all samples, of one pprof.
	Labels int `mapstructure:"labels"`
	// Mappings is the number of mappings, of one pprof.
	Mappings int `mapstructure:"mappings"`
	// Locations is the number of locations, of one pprof.
	Locations int `mapstructure:"locations"`
	// Lines is the number of lines of all locations, of one pprof.
	Lines int `mapstructure:"lines"`
	// LinesPerLocation is the number of lines of one location: the functions that are inlined there, of one pprof.
	LinesPerLocation int `mapstructure:"lines_per_location"`
	// Functions is the number of functions, of one pprof.
	Functions int `mapstructure:"functions"`
	// Strings is the number of strings, of one pprof.
	Strings int `mapstructure:"strings"`
	// Comments is the number of comments, of one pprof.
	Comments int `mapstructure:"comments"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// CopyLimits sets each limit in to, a pointer to a struct, that from, a struct, has under the same name. One of the two is
// a section limits, the other the limits of a translator.
func CopyLimits(to, from any) {
	target := reflect.ValueOf(to).Elem()
	for field, limit := range leaves(reflect.ValueOf(from)) {
		if found := target.FieldByName(field.Name); found.IsValid() {
			found.Set(limit)
		}
	}
}

// CheckLimits returns an error for each limit of a section, a struct, that is not above 0: it would refuse everything. Each
// error begins with prefix.
func CheckLimits(section any, prefix string) error {
	var errs []error
	for field, limit := range leaves(reflect.ValueOf(section)) {
		if limit.Int() <= 0 {
			errs = append(errs, fmt.Errorf("%s%s must be above 0, is %d", prefix, field.Tag.Get(confmap.MapstructureTag), limit.Int()))
		}
	}
	return errors.Join(errs...)
}

// leaves yields the exported fields of a struct, in their order, those of squashed structs included.
func leaves(limits reflect.Value) func(yield func(reflect.StructField, reflect.Value) bool) {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for _, field := range reflect.VisibleFields(limits.Type()) {
			if !field.IsExported() || field.Anonymous {
				continue
			}
			if !yield(field, limits.FieldByIndex(field.Index)) {
				return
			}
		}
	}
}
