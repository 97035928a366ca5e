// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package configcheck reads and checks the configurations of components, so that mistakes are found before anything starts.
//
// [Unmarshal] refuses unknown keys, says what replaces the options of earlier versions, and accepts sizes with a unit. [Durations] refuses durations without a unit. The other
// functions check single values.
package configcheck // import "github.com/otelpprof/otelpprof/internal/configcheck"

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/confmap"
)

// separator separates the keys of a path, as in the Collector's own errors.
var separator = confmap.KeyDelimiter

// Unmarshal decodes conf into cfg, a pointer to a struct. It is for the Unmarshal method of a component's Config. It returns
// an error for unknown keys, also in a squashed confighttp section, where the Collector ignores them.
// In fields with the tag `unit:"bytes"` and in those of externalSizes, a size may have a unit, such as 64MiB. A field with the tag
// `words:"a b"` must have one of these words.
func Unmarshal(conf *confmap.Conf, cfg any) error {
	var r reader
	sizes := r.section(conf.ToStringMap(), reflect.TypeOf(cfg).Elem(), "")
	if err := errors.Join(r.errs...); err != nil {
		return err
	}
	if err := conf.Merge(confmap.NewFromStringMap(sizes)); err != nil {
		return err
	}
	if err := conf.Unmarshal(cfg); err != nil {
		return errors.Join(append(r.hints, err)...)
	}
	return nil
}

// replacer is a section some of whose options of earlier versions do not exist any more.
type replacer interface {
	// Replaced returns what to do instead of each of these options.
	Replaced() map[string]string
}

// reader compares a configuration with the fields of its struct.
type reader struct {
	errs []error
	// hints are for a configuration that cannot be decoded.
	hints []error
}

// section checks the keys of one section. It returns the sizes that have a unit, converted to bytes.
func (r *reader) section(values map[string]any, section reflect.Type, path string) map[string]any {
	fields := Fields(section)
	sizes := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		field, known := fields[key]
		if !known {
			r.errs = append(r.errs, unknownKey(path, key, section, fields))
			continue
		}
		if size := r.value(values[key], field, path+key); size != nil {
			sizes[key] = size
		}
	}
	return sizes
}

// value checks one value. It returns the value that replaces it, or nil to keep it.
func (r *reader) value(value any, field reflect.StructField, path string) any {
	if words := Words(field); len(words) > 0 && value != nil {
		if err := word(path, value, words); err != nil {
			r.errs = append(r.errs, err)
		}
		return nil
	}
	r.hint(value, field.Type, path)
	switch value := value.(type) {
	case map[string]any:
		if section, optional := Section(field.Type); section != nil {
			if optional {
				value = maps.Clone(value)
				delete(value, "enabled")
			}
			if sizes := r.section(value, section, path+separator); len(sizes) > 0 {
				return sizes
			}
		}
	case []any:
		if field.Type.Kind() != reflect.Slice {
			return nil
		}
		for i, item := range value {
			r.hint(item, field.Type.Elem(), fmt.Sprintf("%s[%d]", path, i))
			item, isMap := item.(map[string]any)
			if section, _ := Section(field.Type.Elem()); isMap && section != nil {
				r.section(item, section, fmt.Sprintf("%s[%d]%s", path, i, separator))
			}
		}
	case string:
		if IsSize(field) {
			return r.size(value, field.Type, path)
		}
	}
	return nil
}

// size parses a size and checks that the field can hold it.
func (r *reader) size(text string, field reflect.Type, path string) any {
	size, err := parseSize(text)
	switch {
	case err != nil:
		r.errs = append(r.errs, fmt.Errorf("%s %w", path, err))
	case reflect.Zero(field).OverflowInt(size):
		r.errs = append(r.errs, fmt.Errorf("%s is %s, which is too large for this system", path, text))
	default:
		return size
	}
	return nil
}

// unknownKey returns the error for an unknown key. It suggests the key that was probably meant.
func unknownKey(path, key string, section reflect.Type, fields map[string]reflect.StructField) error {
	if replacer, ok := reflect.TypeAssert[replacer](reflect.New(section)); ok {
		if instead, replaced := replacer.Replaced()[key]; replaced {
			return fmt.Errorf("%s%s is not an option any more: %s", path, key, instead)
		}
	}
	known := slices.Sorted(maps.Keys(fields))
	hint := ""
	if suggestion := nearest(key, known, max(1, len(key)/3)); suggestion != "" {
		hint = fmt.Sprintf(", did you mean %q?", suggestion)
	} else if owners := owners(key, fields); len(owners) > 0 {
		hint = fmt.Sprintf(", it belongs to %s: write %s", strings.Join(owners, " or "), owners[0]+separator+key)
	} else if len(known) <= 12 {
		hint = ", the options are " + strings.Join(known, ", ")
	}
	return fmt.Errorf("%s%s is not an option%s", path, key, hint)
}

// owners returns the sections next to an unknown key that have an option of this name.
func owners(key string, fields map[string]reflect.StructField) []string {
	var sections []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if section, _ := Section(fields[name].Type); section != nil {
			if _, found := Fields(section)[key]; found {
				sections = append(sections, name)
			}
		}
	}
	return sections
}

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
