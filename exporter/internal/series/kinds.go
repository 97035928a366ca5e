// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package series

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
