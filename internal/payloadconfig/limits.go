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

// MaxBytes is the largest limit in bytes. Readers that count one byte more, to see that a limit is exceeded, cannot overflow.
const MaxBytes = min(1<<40, math.MaxInt/2)

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

// CheckLimits returns an error for each limit of a section, a struct, that is not above 0: it would refuse everything. Limits
// with the unit bytes must not be above [MaxBytes]. Each error begins with prefix.
func CheckLimits(section any, prefix string) error {
	var errs []error
	for field, limit := range leaves(reflect.ValueOf(section)) {
		name := prefix + field.Tag.Get(confmap.MapstructureTag)
		if field.Tag.Get("unit") == "bytes" {
			errs = append(errs, CheckBytes(name, limit.Int()))
		} else {
			errs = append(errs, configcheck.Positive(name, limit.Int()))
		}
	}
	return errors.Join(errs...)
}

// CheckBytes returns an error if an option, a limit in bytes, is not above 0, or above [MaxBytes].
func CheckBytes(name string, limit int64) error {
	if limit > MaxBytes {
		return fmt.Errorf("%s must not be above %d, is %d", name, int64(MaxBytes), limit)
	}
	return configcheck.Positive(name, limit)
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
