// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/otelpprof/otelpprof/internal/gaugetypes"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// MetricName returns the label __name__ that Pyroscope itself gives to the same profile on /ingest. It is wall if one of the types
// is wall. Otherwise the first type with a known name decides, and if there is none, the name of the last type is used.
// profileType is the type of the profile: only it distinguishes profiles of mutexes from those of blocking.
func MetricName(profileType string, types []pprof.SampleType) string {
	last := ""
	for _, t := range types {
		if t.Name == "wall" {
			return "wall"
		}
	}
	for _, t := range types {
		last = displayName(profileType, t.Name[:min(len(t.Name), maxNameBytes)]) // Many types can share a very long name.
		switch {
		case strings.Contains(last, "cpu"):
			return "process_cpu"
		case strings.Contains(last, "alloc_"), strings.Contains(last, "inuse_"), last == "space", last == "objects", last == "live":
			return "memory"
		case strings.Contains(last, "mutex_"):
			return "mutex"
		case strings.Contains(last, "block_"):
			return "block"
		case strings.Contains(last, "goroutines"):
			return "goroutines"
		}
	}
	return cmp.Or(PrometheusName(last), "profile")
}

// displayName returns the name that Pyroscope shows for a sample type.
func displayName(profileType, sampleType string) string {
	switch sampleType {
	case "samples":
		return "cpu"
	case "goroutine":
		return "goroutines"
	case "contentions":
		return contention(profileType) + "_count"
	case "delay":
		return contention(profileType) + "_duration"
	}
	return sampleType
}

// contention returns block or mutex. Like google/pprof, it takes a profile of contention for one of mutexes if its type does not say
// block.
func contention(profileType string) string {
	if strings.HasPrefix(profileType, "block") {
		return "block"
	}
	return "mutex"
}

// typeConfig is one entry of sample_type_config.
type typeConfig struct {
	Units       string `json:"units,omitempty"`
	DisplayName string `json:"display-name,omitempty"`
	Aggregation string `json:"aggregation,omitempty"`
}

// SampleTypeConfig returns the form field sample_type_config of /ingest. It returns nil for profiles of CPU time, for which
// Pyroscope's own clients send none.
func SampleTypeConfig(profileType string, types []pprof.SampleType) []byte {
	config := map[string]typeConfig{}
	for _, t := range types {
		switch {
		case t.Name == "cpu" || t.Name == "samples":
			return nil
		case t.Name == "contentions":
			config[t.Name] = typeConfig{Units: "lock_samples", DisplayName: displayName(profileType, t.Name)}
		case t.Name == "delay":
			config[t.Name] = typeConfig{Units: "lock_nanoseconds", DisplayName: displayName(profileType, t.Name)}
		case t.Name == "goroutine":
			config[t.Name] = typeConfig{Units: "goroutines", DisplayName: displayName(profileType, t.Name), Aggregation: "average"}
		case gaugetypes.IsDefault(t.Name, t.Unit):
			config[t.Name] = typeConfig{Units: units(t), Aggregation: "average"}
		default:
			config[t.Name] = typeConfig{Units: units(t)}
		}
	}
	if len(config) == 0 {
		return nil
	}
	text, _ := json.Marshal(config) // strings cannot fail
	return text
}

// units returns Pyroscope's name of a unit: objects in place of pprof's count.
func units(t pprof.SampleType) string {
	if t.Unit == "count" {
		return "objects"
	}
	return t.Unit
}

// kinds are the kinds of profiles that have several names: those of clients for a whole profile, and the sample types of profiles
// without a name. The table in the README of the exporter pprof has the same rows.
var kinds = []struct {
	kind  string
	names []string
}{
	{"cpu", []string{"process_cpu", "itimer", "samples", "cpu-time", "cpu-samples", "cpu-clock", "task-clock"}},
	{"wall", []string{"wall-time"}},
	{"heap", []string{
		"memory", "inuse_space", "inuse_objects", "alloc_space", "alloc_objects", "space", "objects", "live",
		"alloc-space", "alloc-samples", "heap-space", "heap-live-size", "heap-live-samples",
	}},
	{"mutex", []string{"mutex_duration", "mutex_count", "delay", "contentions"}},
	{"block", []string{"block_duration", "block_count"}},
	{"goroutine", []string{"goroutines"}},
	{"exceptions", []string{"exception", "exception-samples"}},
}

var kindOf = func() map[string]string {
	byName := map[string]string{}
	for _, k := range kinds {
		for _, name := range k.names {
			byName[name] = k.kind
		}
	}
	return byName
}()

// Kind returns the kind of a profile by its type: the names that clients have for the same kind become one. Any other type is a kind of
// its own.
func Kind(profileType string) string {
	if kind, found := kindOf[profileType]; found {
		return kind
	}
	return profileType
}
