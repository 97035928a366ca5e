// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"maps"
	"reflect"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

// refuseUnknown reports keys that are none of a section's own fields and none of the settings of the Collector that
// share the section. Without it they would be ignored, also within the section's fields: settings that read themselves
// let everything pass.
//
// shared has the fields of those settings and no methods.
func refuseUnknown(conf *confmap.Conf, section reflect.Type, shared any) error {
	own, rest := map[string]any{}, maps.Clone(conf.ToStringMap())
	fields := ownFields(section)
	for _, field := range fields {
		key, _, _ := strings.Cut(field.Tag.Get(confmap.MapstructureTag), ",")
		if value, found := rest[key]; found {
			own[key] = value
			delete(rest, key)
		}
	}
	strict := reflect.New(reflect.StructOf(fields))
	if err := confmap.NewFromStringMap(own).Unmarshal(strict.Interface()); err != nil {
		return err
	}
	return confmap.NewFromStringMap(rest).Unmarshal(shared)
}

// ownFields lists the fields of a section but for those of settings from elsewhere.
func ownFields(section reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for field := range section.Fields() {
		key, options, _ := strings.Cut(field.Tag.Get(confmap.MapstructureTag), ",")
		switch {
		case key != "":
			fields = append(fields, field)
		case options == "squash" && field.Type.PkgPath() == section.PkgPath():
			fields = append(fields, ownFields(field.Type)...)
		}
	}
	return fields
}
