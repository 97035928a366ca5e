// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"reflect"
	"strings"

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
