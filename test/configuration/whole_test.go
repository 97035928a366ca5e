// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/configcheck"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// object is a part of a JSON schema.
type object = map[string]any

// wholeSchema is the schema of a whole configuration, for editors.
const wholeSchema = "config/schema.json"

// placeholder is what stands for any value: it is replaced before the Collector reads the configuration.
const placeholder = `\$\{.+\}`

// foreign are the sections of the Collector's to which the schemas of our components refer.
var foreign = []reflect.Type{
	reflect.TypeFor[confighttp.ClientConfig](), reflect.TypeFor[confighttp.ServerConfig](), reflect.TypeFor[configretry.BackOffConfig](),
	reflect.TypeFor[exporterhelper.TimeoutConfig](), reflect.TypeFor[exporterhelper.QueueBatchConfig](), reflect.TypeFor[otlpreceiver.Protocols](),
}

// TestWholeSchema compares the schema of a whole configuration with those of the components. Components of others may have any options.
func TestWholeSchema(t *testing.T) {
	definitions := object{}
	properties := object{"service": service()}
	for _, class := range []string{"receiver", "processor", "exporter", "connector", "extension"} {
		own := object{}
		files := must.Get(filepath.Glob(filepath.Join(root, class, "*", "config.schema.yaml")))(t)
		for _, file := range files {
			name := class + "." + filepath.Base(filepath.Dir(file))
			definitions[name] = converted(t, load[schema](t, file))
			own["^"+load[struct{ Type string }](t, filepath.Join(filepath.Dir(file), "metadata.yaml")).Type+"(/.+)?$"] = object{"$ref": "#/$defs/" + name}
		}
		// Not a pattern for the others: of several, language servers apply the first that matches.
		properties[class+"s"] = object{
			"type": []string{"object", "null"}, "patternProperties": own, "additionalProperties": object{"type": []string{"object", "null"}},
			"propertyNames": object{"pattern": "^[a-zA-Z][0-9a-zA-Z_]*(/.+)?$"},
		}
	}
	text := must.Get(json.MarshalIndent(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Configuration of otelcol-pprof",
		"type": "object", "properties": properties, "additionalProperties": false, "$defs": definitions,
	}, "", " "))(t)
	golden(t, filepath.Join(root, wholeSchema), string(text)+"\n")
}

// load reads a YAML file.
func load[T any](t *testing.T, file string) *T {
	t.Helper()
	content := must.Get(os.ReadFile(file))(t)
	value := new(T)
	require.NoError(t, yaml.Unmarshal(content, value), file)
	return value
}

// service is the section that joins components.
func service() object {
	ids := object{"type": "array", "items": object{"type": "string"}}
	return object{
		"type": "object", "required": []string{"pipelines"}, "additionalProperties": false,
		"properties": object{
			"extensions": ids,
			"telemetry":  object{"type": []string{"object", "null"}},
			"pipelines": object{
				"type": "object", "additionalProperties": false,
				"patternProperties": object{"^(profiles|logs|metrics|traces)(/.+)?$": object{
					"type": "object", "additionalProperties": false, "required": []string{"receivers", "exporters"},
					"properties": object{"receivers": ids, "processors": ids, "exporters": ids},
				}},
			},
		},
	}
}

// converted is the JSON schema of an option or a section of ours.
func converted(t *testing.T, s *schema) object {
	t.Helper()
	o := object{}
	switch {
	case s.Ref != "":
		o = referred(t, s.Ref)
	case s.Format == "duration":
		o = duration()
	case s.Items != nil:
		o["type"], o["items"] = []string{"array", "null"}, converted(t, s.Items)
	case len(s.Properties) > 0 || len(s.AllOf) > 0:
		properties := object{}
		for _, part := range s.AllOf { // Sections of the Collector's whose options stand beside ours.
			maps.Copy(properties, referred(t, part.Ref)["properties"].(object))
		}
		for name, option := range s.Properties {
			properties[name] = converted(t, option)
		}
		o = sectionOf(properties)
		if types, more := s.Type.([]any); more { // A section that may be a word.
			o["type"] = append(types, "null")
		}
	case s.Values != nil:
		o["type"], o["additionalProperties"] = []string{"object", "null"}, converted(t, s.Values)
	case len(s.Enum) > 0:
		o["anyOf"] = []object{{"enum": s.Enum}, {"type": "string", "pattern": placeholder}}
	case s.Pattern != "":
		o["type"], o["pattern"] = s.Type, s.Pattern+"|"+placeholder
	default:
		o = scalar(s.Type)
	}
	if s.Optional {
		o["properties"].(object)["enabled"] = scalar("boolean")
	}
	if s.Description != "" {
		o["description"] = s.Description
	}
	if s.Default != nil {
		o["default"] = s.Default
	}
	return o
}

// referred is the JSON schema of a section of the Collector's by its reference.
func referred(t *testing.T, ref string) object {
	t.Helper()
	i := slices.IndexFunc(foreign, func(section reflect.Type) bool { return reference(section) == ref })
	require.GreaterOrEqual(t, i, 0, ref)
	return foreignSection(t, foreign[i])
}

// foreignSection is the JSON schema of a section of the Collector's.
func foreignSection(t *testing.T, section reflect.Type) object {
	t.Helper()
	properties := object{}
	for key, field := range configcheck.Fields(section) {
		below, optional := configcheck.Section(field.Type)
		if below == nil {
			properties[key] = foreignOption(t, field.Type)
			continue
		}
		part := foreignSection(t, below)
		if optional {
			part["properties"].(object)["enabled"] = scalar("boolean")
		}
		properties[key] = part
	}
	return sectionOf(properties)
}

func foreignOption(t *testing.T, kind reflect.Type) object {
	t.Helper()
	switch {
	case kind == reflect.TypeFor[time.Duration]():
		return duration()
	case kind.Kind() == reflect.Struct || kind.Kind() == reflect.Slice || kind.Kind() == reflect.Map || kind.Kind() == reflect.Interface || kind.Kind() == reflect.Pointer:
		return object{} // Some have forms of their own.
	}
	return scalar(typeSchema(t, kind).Type)
}

func sectionOf(properties object) object {
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// duration is a time with a unit, or nothing.
func duration() object {
	return object{
		"type": []string{"string", "integer"}, "minimum": 0, "maximum": 0,
		"pattern": "^-?([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$|" + placeholder,
	}
}

// scalar is a value, or a placeholder for it.
func scalar(kind any) object {
	switch kind {
	case nil:
		return object{}
	case "string":
		return object{"type": "string"}
	}
	return object{"anyOf": []object{{"type": kind}, {"type": "string", "pattern": placeholder}}}
}

// compiled is the whole schema.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	found := must.Get(jsonschema.NewCompiler().Compile(filepath.Join(root, wholeSchema)))(t)
	return found
}

// plain is YAML as JSON has it.
func plain(t *testing.T, content []byte) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal(content, &value))
	text, err := json.Marshal(value)
	require.NoError(t, err)
	value, err = jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	return value
}

// TestWholeSchemaAccepts checks the configurations that we ship.
func TestWholeSchemaAccepts(t *testing.T) {
	files := must.Get(filepath.Glob(filepath.Join(root, "config", "*.yaml")))(t)
	more := must.Get(filepath.Glob(filepath.Join(root, "deploy", "docker", "*.yaml")))(t)
	require.NotEmpty(t, more)
	for _, file := range append(files, more...) {
		content := must.Get(os.ReadFile(file))(t)
		assert.NoError(t, compiled(t).Validate(plain(t, content)), file)
	}
}

// TestWholeSchemaRefuses gives the schema what the Collector refuses: an editor marks an unknown option, a wrong type or word. Rules
// between options are for `otelcol-pprof validate`.
func TestWholeSchemaRefuses(t *testing.T) {
	s := compiled(t)
	var told strings.Builder
	for _, c := range *load[[]wrong](t, filepath.Join("testdata", "wrong.yaml")) {
		class, _, _ := strings.Cut(c.Component, "/")
		name := load[struct{ Type string }](t, filepath.Join(root, c.Component, "metadata.yaml")).Type
		text := must.Get(yaml.Marshal(object{class + "s": object{name: c.Config}}))(t)
		mark := "       "
		if s.Validate(plain(t, text)) != nil {
			mark = "editor "
		}
		told.WriteString(mark + c.Name + "\n")
	}
	golden(t, filepath.Join("testdata", "wrong.editor.golden"), told.String())

	for _, text := range []string{
		"receiver: {pprof: }",
		"service: {pipelines: {profile: {receivers: [pprof], exporters: [pprof]}}}",
		"service: {pipelines: {profiles: {receiver: [pprof], exporters: [pprof]}}}",
		"service: {pipelines: {profiles: {receivers: pprof, exporters: [pprof]}}}",
		"receivers: {pprof/two: {serve: }}",
		"receivers: [pprof]",
	} {
		assert.Error(t, s.Validate(plain(t, []byte(text))), text)
	}
}
