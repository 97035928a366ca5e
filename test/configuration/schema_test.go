// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"bytes"
	"encoding"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.yaml.in/yaml/v3"

	"github.com/otelpprof/otelpprof/internal/configcheck"
)

// schema describes an option or a section as the Collector's config.schema.yaml do.
type schema struct {
	Description string             `yaml:"description,omitempty"`
	Type        any                `yaml:"type,omitempty"`
	CustomType  string             `yaml:"x-customType,omitempty"`
	Format      string             `yaml:"format,omitempty"`
	Pattern     string             `yaml:"pattern,omitempty"`
	Optional    bool               `yaml:"x-optional,omitempty"`
	Enum        []any              `yaml:"enum,omitempty"`
	Default     any                `yaml:"default,omitempty"`
	Ref         string             `yaml:"$ref,omitempty"`
	Items       *schema            `yaml:"items,omitempty"`
	Values      *schema            `yaml:"additionalProperties,omitempty"`
	Properties  map[string]*schema `yaml:"properties,omitempty"`
	AllOf       []*schema          `yaml:"allOf,omitempty"`
}

// TestSchemas compares the config.schema.yaml of each component with its code: options, types, words and defaults.
func TestSchemas(t *testing.T) {
	for directory, factory := range factories {
		t.Run(directory, func(t *testing.T) {
			cfg := reflect.ValueOf(factory.CreateDefaultConfig()).Elem()
			var text bytes.Buffer
			encoder := yaml.NewEncoder(&text)
			encoder.SetIndent(2)
			require.NoError(t, encoder.Encode(sectionSchema(t, cfg)))
			golden(t, filepath.Join(root, directory, "config.schema.yaml"), text.String())
		})
	}
}

// sectionSchema describes a struct of ours, with its values as the defaults.
func sectionSchema(t *testing.T, section reflect.Value) *schema {
	t.Helper()
	from := sourceOf(t, section.Type())
	s := &schema{Description: from.comments[section.Type().Name()], Type: "object", Properties: map[string]*schema{}}
	for field, value := range section.Fields() {
		key, options, _ := strings.Cut(field.Tag.Get(confmap.MapstructureTag), ",")
		switch {
		case !field.IsExported():
		case options == "squash":
			s.squash(t, value)
		default:
			option := optionSchema(t, field, value)
			option.Description = from.comments[section.Type().Name()+"."+field.Name]
			s.Properties[key] = option
		}
	}
	return s
}

// collectors are the defaults of the Collector's structs that our sections squash.
var collectors = map[reflect.Type]reflect.Value{
	reflect.TypeFor[confighttp.ClientConfig]():      reflect.ValueOf(confighttp.NewDefaultClientConfig()),
	reflect.TypeFor[confighttp.ServerConfig]():      reflect.ValueOf(confighttp.NewDefaultServerConfig()),
	reflect.TypeFor[exporterhelper.TimeoutConfig](): reflect.ValueOf(exporterhelper.NewDefaultTimeoutConfig()),
}

// squash adds the options of a struct to those of the section. Of a struct of the Collector's it gives the defaults that are ours.
func (s *schema) squash(t *testing.T, section reflect.Value) {
	t.Helper()
	if isOurs(section.Type()) {
		maps.Copy(s.Properties, sectionSchema(t, section).Properties)
		return
	}
	s.AllOf = append(s.AllOf, &schema{Ref: reference(section.Type())})
	for key, field := range configcheck.Fields(section.Type()) {
		option := optionSchema(t, field, section.FieldByIndex(field.Index))
		if theirs, known := collectors[section.Type()]; known && reflect.DeepEqual(option.Default, written(theirs.FieldByIndex(field.Index))) {
			continue
		}
		if option.Default != nil {
			s.Properties[key] = option
		}
	}
}

// optionSchema describes one option.
func optionSchema(t *testing.T, field reflect.StructField, value reflect.Value) *schema {
	t.Helper()
	kind := field.Type
	if section, optional := configcheck.Section(kind); section != nil {
		s := &schema{Ref: reference(section)}
		if isOurs(section) {
			if optional {
				value = value.Addr().MethodByName("GetOrInsertDefault").Call(nil)[0].Elem()
			}
			s = sectionSchema(t, value)
		}
		s.Optional = optional
		return s
	}
	s := typeSchema(t, kind)
	for _, word := range configcheck.Words(field) {
		s.Enum = append(s.Enum, word)
	}
	if configcheck.IsSize(field) {
		s.Type, s.Pattern = []string{"integer", "string"}, "^[0-9]+ *([KMGT]i?B|B)?$"
	}
	s.Default = written(value)
	return s
}

// written returns a value as a configuration would have it, or nil if it is zero.
func written(value reflect.Value) any {
	if value.IsZero() {
		return nil
	}
	if duration, ok := reflect.TypeAssert[time.Duration](value); ok {
		return duration.String()
	}
	switch value.Kind() {
	case reflect.String:
		return value.String()
	case reflect.Slice:
		var items []any
		for i := range value.Len() {
			items = append(items, written(value.Index(i)))
		}
		return items
	case reflect.Struct:
		options := map[string]any{}
		for key, field := range configcheck.Fields(value.Type()) {
			if option := written(value.FieldByIndex(field.Index)); option != nil {
				options[key] = option
			}
		}
		return options
	default:
		return value.Interface()
	}
}

func typeSchema(t *testing.T, kind reflect.Type) *schema {
	t.Helper()
	if kind == reflect.TypeFor[time.Duration]() {
		return &schema{Type: "string", CustomType: "time.Duration", Format: "duration"}
	}
	switch kind.Kind() {
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return &schema{Type: "integer"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Slice:
		items := kind.Elem()
		if section, _ := configcheck.Section(items); section != nil && isOurs(section) {
			item := sectionSchema(t, reflect.New(section).Elem())
			if reflect.PointerTo(section).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
				item.Type = []string{"object", "string"}
			}
			return &schema{Type: "array", Items: item}
		}
		return &schema{Type: "array", Items: typeSchema(t, items)}
	case reflect.Map:
		return &schema{Type: "object", Values: typeSchema(t, kind.Elem())}
	case reflect.Interface:
		return &schema{}
	default: // Structs that are written as a word, such as the id of a component.
		return &schema{Type: "string", CustomType: strings.TrimPrefix(kind.String(), "*")}
	}
}

func isOurs(kind reflect.Type) bool { return strings.HasPrefix(kind.PkgPath(), module) }

var capital = regexp.MustCompile("([a-z0-9])([A-Z])")

// reference names a section of the Collector's as its own schemas do.
func reference(section reflect.Type) string {
	return section.PkgPath() + "." + strings.ToLower(capital.ReplaceAllString(section.Name(), "${1}_${2}"))
}

const (
	module = "github.com/otelpprof/otelpprof/"
	root   = "../.."
)

// source is what the source of a package says about its types.
type source struct {
	// comments are those of types and of their fields, "Config" and "Config.Field".
	comments map[string]string
}

var sources = map[string]*source{}

// sourceOf reads the package of one of our types.
func sourceOf(t *testing.T, of reflect.Type) *source {
	t.Helper()
	directory := strings.TrimPrefix(of.PkgPath(), module)
	if s, read := sources[directory]; read {
		return s
	}
	s := &source{comments: map[string]string{}}
	sources[directory] = s
	files, err := filepath.Glob(filepath.Join(root, directory, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				s.read(general)
			}
		}
	}
	return s
}

func (s *source) read(declaration *ast.GenDecl) {
	for _, spec := range declaration.Specs {
		named, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		s.comments[named.Name.Name] = sentence(declaration.Doc)
		if section, ok := named.Type.(*ast.StructType); ok {
			for _, field := range section.Fields.List {
				for _, name := range field.Names {
					s.comments[named.Name.Name+"."+name.Name] = sentence(field.Doc)
				}
			}
		}
	}
}

func sentence(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}
