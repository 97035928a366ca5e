// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package series makes of a resource the labels that Pyroscope keeps a series by.
package series // import "github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/series"

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// What Pyroscope takes of a name and of a value, in bytes.
const (
	maxNameBytes  = 1024
	maxValueBytes = 2048
)

const (
	// ServiceName is the attribute that a service is known by.
	ServiceName = attributevalue.ServiceName
	// LabelService is the label for it.
	LabelService = "service_name"
	// UnknownService is the service of a resource without a name.
	UnknownService = attributevalue.UnknownService
	// Spy is the attribute and label that names the profiler.
	Spy = "pyroscope_spy"
)

// Label is a name and a value.
type Label struct{ Name, Value string }

// Labels are made of a resource.
type Labels struct {
	// Service is the service's name, Profiler what made the profile.
	Service, Profiler string
	// List has all others, sorted by name.
	List []Label
	// Dropped counts attributes that became no label: above the limit, empty, or reserved.
	Dropped int
}

// Of makes the labels of a resource, at most limit of them: those of the attributes in first, and then by the order of
// their keys. toName makes a name of a key, see [Name] and [PrometheusName]. Where two keys become the same name, one that
// is spelled so keeps it, then the first in the order of the keys; others get _2, _3.
func Of(resource pcommon.Map, limit int, first []string, toName func(key string) string) Labels {
	labels := Labels{Service: clip(attributevalue.Service(resource), maxValueBytes)}
	values := make(map[string]string, resource.Len())
	for key, value := range resource.All() {
		values[key] = clip(attributevalue.Text(value), maxValueBytes)
	}
	labels.Profiler = values[Spy]
	delete(values, ServiceName)
	delete(values, Spy)
	keys := order(values, first)
	taken := map[string]bool{LabelService: true, Spy: true}
	names := make(map[string]string, len(keys))
	for _, exact := range []bool{true, false} {
		for _, key := range keys {
			name := toName(key)
			if (name == key) != exact || name == "" {
				continue
			}
			names[key] = free(name, taken)
			taken[names[key]] = true
		}
	}
	for _, key := range keys {
		name, named := names[key]
		if !named || values[key] == "" || len(labels.List) >= limit {
			labels.Dropped++
			continue
		}
		labels.List = append(labels.List, Label{Name: name, Value: values[key]})
	}
	slices.SortFunc(labels.List, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return labels
}

// order returns the keys of values: those in first, in that order, and the others sorted.
func order(values map[string]string, first []string) []string {
	keys := make([]string, 0, len(values))
	for _, key := range first {
		if _, found := values[key]; found && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(first, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func free(name string, taken map[string]bool) string {
	unused := name
	for i := 2; taken[unused]; i++ {
		unused = name + "_" + strconv.Itoa(i)
	}
	return unused
}

// PrometheusName is Name without dots, which Parca refuses.
func PrometheusName(key string) string { return strings.ReplaceAll(Name(key), ".", "_") }

// Name makes a label name of a key, or nothing of one that Pyroscope reserves: __session_id__ alone may begin with two
// underscores. Letters, digits, dots and underscores stay, all else becomes an underscore.
func Name(key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.':
			return r
		}
		return '_'
	}, clip(key, maxNameBytes))
	switch {
	case name == "" || strings.HasPrefix(name, "__") && name != "__session_id__":
		return ""
	case '0' <= name[0] && name[0] <= '9':
		return "_" + name
	}
	return name
}

// IngestName writes the parameter name of /ingest, service{key=value,...}. Values cannot be quoted: what would end one
// becomes an underscore.
func (l *Labels) IngestName() string {
	var name strings.Builder
	name.WriteString(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_.-/", r) {
			return r
		}
		return '_'
	}, l.Service))
	name.WriteByte('{')
	for i, label := range l.List {
		if i > 0 {
			name.WriteByte(',')
		}
		name.WriteString(label.Name + "=" + strings.TrimSpace(strings.Map(unquoted, label.Value)))
	}
	name.WriteByte('}')
	return name.String()
}

func unquoted(r rune) rune {
	if r < ' ' || strings.ContainsRune(",{}", r) {
		return '_'
	}
	return r
}

// clip makes valid UTF-8 of at most limit bytes.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
