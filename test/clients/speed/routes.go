// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

// output is where a gateway sends profiles.
type output struct {
	name string
	// pipeline has the exporters, and the processors where there are any.
	pipeline string
	parts    []part
}

// route is one path through a gateway: an API, and an output.
type route struct {
	upload upload
	output output
}

// The outputs. The first one is for the cost of a receiver alone.
var (
	dropped = output{name: "dropped", pipeline: `
exporters:
  nop:
service:
  pipelines:
    profiles: {exporters: [nop]}
`}
	otlp = output{name: "OTLP", pipeline: `
processors:
  profile_deduplicator:
exporters:
  otlp_http: {endpoint: "http://%[6]s", compression: zstd, compression_params: {level: 1}, sending_queue: {enabled: false}}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [otlp_http]}
`, parts: []part{marshal, compress}}
	files = output{name: "files", pipeline: `
processors:
  profile_deduplicator:
exporters:
  pprof: {file: {directory: %[7]s/profiles}}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [pprof]}
`, parts: []part{marshal, writeFile}}
)

var outputs = []output{dropped, otlp, files}

// routesOf returns each API with an output that costs nothing and with OTLP, and the first API with files.
func routesOf(uploads []upload) (routes []route) {
	for _, u := range uploads {
		routes = append(routes, route{u, dropped}, route{u, otlp})
	}
	return append(routes, route{uploads[0], files})
}

// gatewayConfig has all receivers. Its addresses are those of the receivers of pprof, OTLP and Splunk's records, of
// health_check, of the profiler and of the destination; the last values are a directory, and the address of pages.
const gatewayConfig = `yaml:
receivers:
  pprof: {server: {endpoint: "%[1]s"}}
  otlp: {protocols: {http: {endpoint: "%[2]s"}}}
  splunk_log_profile: {protocols: {http: {endpoint: "%[3]s"}}}
extensions:
  health_check: {endpoint: "%[4]s"}
  pprof: {endpoint: "%[5]s"}
  file_storage: {directory: "%[7]s"}
service:
  extensions: [health_check, pprof, file_storage]
  pipelines:
    profiles: {receivers: [pprof, otlp, splunk_log_profile]}
  telemetry: {metrics: {level: none}}
`
