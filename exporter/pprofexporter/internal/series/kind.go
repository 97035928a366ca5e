// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"encoding/json"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/internal/summary"
)

// MetricName is the label __name__ that Pyroscope gives to the same profile on /ingest: wall if any type is that, else what
// the first type says that has a name, else the last type. profileType is how the profile is called; it alone tells the
// profiles of mutexes and of blocking from each other.
func MetricName(profileType string, types []summary.Type) string {
	last := ""
	for _, t := range types {
		if t.Name == "wall" {
			return "wall"
		}
	}
	for _, t := range types {
		last = displayName(profileType, t.Name)
		switch {
		case strings.Contains(last, "cpu"):
			return "process_cpu"
		case strings.Contains(last, "alloc_"), strings.Contains(last, "inuse_"), last == "space", last == "objects":
			return "memory"
		case strings.Contains(last, "mutex_"):
			return "mutex"
		case strings.Contains(last, "block_"):
			return "block"
		case strings.Contains(last, "goroutines"):
			return "goroutines"
		}
	}
	return metric(last)
}

// displayName is what Pyroscope shows for a sample type.
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

// contention is block or mutex. A profile of contention that is called neither is one of mutexes, as for google/pprof.
func contention(profileType string) string {
	if strings.HasPrefix(profileType, "block") {
		return "block"
	}
	return "mutex"
}

// metric makes a valid name of a metric.
func metric(sampleType string) string {
	name := PrometheusName(sampleType)
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
		case t.IsGauge():
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
