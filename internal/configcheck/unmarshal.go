// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

// separator separates the keys of a path, as in the Collector's own errors.
var separator = confmap.KeyDelimiter

// Unmarshal decodes conf into cfg, a pointer to a struct. It is for the Unmarshal method of a component's Config. It returns
// an error for unknown keys, also in sections of confighttp, which ignores unknown keys where it is squashed.
// A size may have a unit, such as 64MiB, in fields with the tag `unit:"bytes"` and in those of externalSizes.
func Unmarshal(conf *confmap.Conf, cfg any) error {
	var r reader
	sizes := r.section(conf.ToStringMap(), reflect.TypeOf(cfg).Elem(), "")
	if err := errors.Join(r.errs...); err != nil {
		return err
	}
	if err := conf.Merge(confmap.NewFromStringMap(sizes)); err != nil {
		return err
	}
	return conf.Unmarshal(cfg)
}

// reader compares a configuration with the fields of its struct.
type reader struct{ errs []error }

// section checks the keys of one section. It returns the sizes in it that have a unit, in bytes.
func (r *reader) section(values map[string]any, section reflect.Type, path string) map[string]any {
	fields := Fields(section)
	sizes := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		field, known := fields[key]
		if !known {
			r.errs = append(r.errs, unknownKey(path, key, fields))
			continue
		}
		if size := r.value(values[key], field, path+key); size != nil {
			sizes[key] = size
		}
	}
	return sizes
}

// value checks one value. It returns its replacement, or nil.
func (r *reader) value(value any, field reflect.StructField, path string) any {
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

// size reads a size and checks that the field can hold it.
func (r *reader) size(text string, field reflect.Type, path string) any {
	size, err := parseSize(text)
	switch {
	case err != nil:
		r.errs = append(r.errs, fmt.Errorf("%s %w", path, err))
	case reflect.Zero(field).OverflowInt(size):
		r.errs = append(r.errs, fmt.Errorf("%s is %s, which is more than this system can count", path, text))
	default:
		return size
	}
	return nil
}

// unknownKey returns the error for an unknown key, with a hint which key is meant.
func unknownKey(path, key string, fields map[string]reflect.StructField) error {
	known := slices.Sorted(maps.Keys(fields))
	hint := ""
	if meant := Nearest(key, known, max(1, len(key)/3)); meant != "" {
		hint = fmt.Sprintf(", did you mean %q?", meant)
	} else if owners := owners(key, fields); len(owners) > 0 {
		hint = fmt.Sprintf(", it belongs to %s: write %s", strings.Join(owners, " or "), owners[0]+separator+key)
	} else if len(known) <= 12 {
		hint = ", known are " + strings.Join(known, ", ")
	}
	return fmt.Errorf("%s%s is not an option%s", path, key, hint)
}

// owners returns the sections next to an unknown key that have an option of this name.
func owners(key string, fields map[string]reflect.StructField) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if section, _ := Section(fields[name].Type); section != nil {
			if _, has := Fields(section)[key]; has {
				found = append(found, name)
			}
		}
	}
	return found
}
