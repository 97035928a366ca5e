// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// hint says of a value of the wrong type what the option needs. It is for a configuration that the Collector refuses: the value of
// an environment variable may look wrong here, and be right.
func (r *reader) hint(value any, field reflect.Type, path string) {
	section, _ := Section(field)
	text, readsText := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(field))
	var err error
	switch value := value.(type) {
	case string:
		if _, parseErr := time.ParseDuration(value); field == reflect.TypeFor[time.Duration]() && parseErr != nil {
			err = fmt.Errorf("%s must be a number with one of the units ms, s, m and h, for example 90s or 168h, is %q", path, value)
		} else if section != nil && !readsText {
			options := slices.Sorted(maps.Keys(Fields(section)))
			err = fmt.Errorf("%s must be a section with options, of which there are %s, is %q", path, strings.Join(options, ", "), value)
		}
	case bool, int, float64:
		if readsText {
			err = text.UnmarshalText(fmt.Append(nil, value))
		} else if field.Kind() == reflect.String {
			err = fmt.Errorf("%s must be text: write it in quotes", path)
		}
	}
	if err != nil {
		r.hints = append(r.hints, err)
	}
}
