// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"encoding/json"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/summary"
)

// MetricName is the label __name__, as Pyroscope names what its own clients send. profileType is how the profile is
// called; it alone tells the profiles of mutexes and of blocking from each other.
func MetricName(profileType string, types []summary.Type) string {
	if name := contention(profileType, types); name != "" {
		return name
	}
	name := ""
	for _, t := range types {
		switch {
		case t.Name == "wall":
			return "wall"
		case t.Name == "cpu", t.Name == "samples" && name == "":
			name = "process_cpu"
		case strings.HasPrefix(t.Name, "alloc_"), strings.HasPrefix(t.Name, "inuse_"), t.Name == "space", t.Name == "objects":
			name = "memory"
		case t.Name == "goroutine", t.Name == "goroutines":
			name = "goroutine"
		}
	}
	if name != "" {
		return name
	}
	return metric(profileType)
}

// contention is mutex or block for profiles of contention. What is not called either is one of mutexes, which is also
// what google/pprof takes it for.
func contention(profileType string, types []summary.Type) string {
	for _, t := range types {
		if t.Name == "contentions" || t.Name == "delay" {
			if strings.HasPrefix(profileType, "block") {
				return "block"
			}
			return "mutex"
		}
	}
	return ""
}

// metric makes a valid name of a metric.
func metric(profileType string) string {
	name := strings.ReplaceAll(Name(profileType), ".", "_")
	if name == "" {
		return "profile"
	}
	return name
}

// typeConfig is one entry of sample_type_config.
type typeConfig struct {
	Units       string `json:"units,omitempty"`
	DisplayName string `json:"display-name,omitempty"`
	Aggregation string `json:"aggregation,omitempty"`
}

// SampleTypeConfig is the field of that name of /ingest, or nil where Pyroscope's own clients send none: for profiles of
// CPU time.
func SampleTypeConfig(profileType string, types []summary.Type) []byte {
	kind := contention(profileType, types)
	config := map[string]typeConfig{}
	for _, t := range types {
		switch {
		case t.Name == "cpu" || t.Name == "samples":
			return nil
		case kind != "" && t.Name == "contentions":
			config[t.Name] = typeConfig{Units: "lock_samples", DisplayName: kind + "_count"}
		case kind != "" && t.Name == "delay":
			config[t.Name] = typeConfig{Units: "lock_nanoseconds", DisplayName: kind + "_duration"}
		case t.Name == "goroutine":
			config[t.Name] = typeConfig{Units: "goroutines", DisplayName: "goroutines", Aggregation: "average"}
		case IsGauge(t.Name):
			config[t.Name] = typeConfig{Units: units(t), Aggregation: "average"}
		default:
			config[t.Name] = typeConfig{Units: units(t)}
		}
	}
	if len(config) == 0 {
		return nil
	}
	text, err := json.Marshal(config)
	if err != nil { // cannot happen: it is text only
		return nil
	}
	return text
}

// units is Pyroscope's word for a unit: it says objects where pprof counts.
func units(t summary.Type) string {
	if t.Unit == "count" {
		return "objects"
	}
	return t.Unit
}

// IsGauge tells whether a sample type says how much there is at a time, so that sums over time mean nothing.
func IsGauge(sampleType string) bool {
	switch sampleType {
	case "goroutine", "goroutines", "threadcreate", "threads":
		return true
	}
	return strings.HasPrefix(sampleType, "inuse_")
}
