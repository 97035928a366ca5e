// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package series turns the attributes of a resource into the labels that identify a series in Pyroscope and Parca.
package series // import "github.com/otelpprof/otelpprof/exporter/internal/series"

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// The maximum lengths of a name and of a value that Pyroscope accepts, in bytes.
const (
	maxNameBytes  = 1024
	maxValueBytes = 2048
)

// maxSuffixBytes is enough for the suffix of a name: an underscore and more digits than a message can have keys.
const maxSuffixBytes = 12

const (
	labelService = "service_name"
	// spy is the attribute, and the label, with the name of the profiler.
	spy = "pyroscope_spy"
)

// Label is a name and a value.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Compare compares the names of labels.
func (l Label) Compare(other Label) int { return strings.Compare(l.Name, other.Name) }

// Labels are the labels of a resource.
type Labels struct {
	// Service is the name of the service, Profiler that of the profiler.
	Service, Profiler string
	// List has all other labels, sorted by name.
	List []Label
	// Dropped counts the attributes that did not become labels: above the limit, with an empty value, or with a reserved name.
	Dropped int
}

// Of returns the labels of a resource, with at most limit labels in List: first those of the attributes in first, then the others in
// the order of their keys. toName returns the name of a label for the key of an attribute, see [Name] and [PrometheusName]. If
// several keys become the same name, the key that equals the name gets it, or else the first key. The others get the suffixes
// _2, _3 and so on.
func Of(resource pcommon.Map, limit int, first []string, toName func(key string) string) Labels {
	labels := Labels{Service: clip(attributevalue.Service(resource), maxValueBytes)}
	values := make(map[string]string, resource.Len())
	for key, value := range resource.All() {
		values[key] = clip(attributevalue.Text(value), maxValueBytes)
	}
	labels.Profiler = values[spy]
	delete(values, attributevalue.ServiceName)
	delete(values, spy)
	keys := order(values, first)
	names := names{taken: map[string]bool{labelService: true, spy: true}, next: map[string]int{}}
	exact := make(map[string]string, len(keys))
	for _, key := range keys {
		if name := toName(key); name == key && name != "" {
			exact[key] = names.unused(name)
		}
	}
	for i, key := range keys {
		if len(labels.List) >= limit {
			// A resource can have many more keys than labels. Their names would not change those of the labels.
			labels.Dropped += len(keys) - i
			break
		}
		name, isExact := exact[key]
		if !isExact {
			name = names.unused(toName(key))
		}
		if name == "" || values[key] == "" {
			labels.Dropped++
			continue
		}
		labels.List = append(labels.List, Label{Name: name, Value: values[key]})
	}
	slices.SortFunc(labels.List, Label.Compare)
	return labels
}

// All returns List, the labels of the service and the profiler, and others, sorted by name.
func (l *Labels) All(others ...Label) []Label {
	all := append(slices.Clip(l.List), Label{labelService, l.Service})
	if l.Profiler != "" {
		all = append(all, Label{spy, l.Profiler})
	}
	all = append(all, others...)
	slices.SortFunc(all, Label.Compare)
	return all
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

// names gives each label a name of its own.
type names struct {
	taken map[string]bool
	// next has the next suffix of a name, so that many keys with one name do not try all suffixes of those before.
	next map[string]int
}

// unused returns the name, with _2, _3 and so on if it is taken. An empty name stays empty.
func (n *names) unused(name string) string {
	if name == "" {
		return ""
	}
	unused := name
	// Names with the same start share their suffixes, since the start is all that is left of a long name.
	start := name[:min(len(name), maxNameBytes-maxSuffixBytes)]
	for n.taken[unused] {
		suffix := max(n.next[start], 2)
		n.next[start] = suffix + 1
		unused = start + "_" + strconv.Itoa(suffix)
	}
	n.taken[unused] = true
	return unused
}

// PrometheusName returns Name with underscores in place of dots, which Parca refuses.
func PrometheusName(key string) string { return strings.ReplaceAll(Name(key), ".", "_") }

// Name returns the name of a label for the key of an attribute. Each character other than an ASCII letter, a digit, a dot or an
// underscore becomes an underscore. The name is empty if Pyroscope reserves it: of the names that begin with two underscores,
// only __session_id__ is allowed.
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
		return clip("_"+name, maxNameBytes)
	}
	return name
}

// IngestName returns the query parameter name of /ingest: service{key=value,...}. The format has no quotes, so each character
// that would end a value becomes an underscore.
func (l *Labels) IngestName() string {
	var name strings.Builder
	name.WriteString(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_.-/", r) {
			return r
		}
		return '_'
	}, l.Service))
	inValue := func(r rune) rune {
		if r < ' ' || strings.ContainsRune(",{}", r) {
			return '_'
		}
		return r
	}
	name.WriteByte('{')
	for i, label := range l.List {
		if i > 0 {
			name.WriteByte(',')
		}
		name.WriteString(label.Name + "=" + strings.TrimSpace(strings.Map(inValue, label.Value)))
	}
	name.WriteByte('}')
	return name.String()
}

// clip returns valid UTF-8 of at most limit bytes. It reads only the beginning of a long text, which many resources can share.
func clip(text string, limit int) string {
	return attributevalue.Cut(strings.ToValidUTF8(text[:min(len(text), utf8.UTFMax*limit)], "\uFFFD"), limit)
}
