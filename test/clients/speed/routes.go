// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

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

// otlpPipeline sends OTLP, compressed, after the deduplicator with these options, with a queue of these options.
func otlpPipeline(deduplicator, queue string) string {
	return fmt.Sprintf(`
processors:
  profile_deduplicator: {%s}
exporters:
  otlp_http:
    endpoint: http://%%[6]s
    compression: zstd
    sending_queue: {%s}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [otlp_http]}
`, deduplicator, queue)
}

const memoryQueue = "enabled: true, sizer: bytes, queue_size: 100000000, block_on_overflow: true"

// The outputs. The first one is for the cost of a receiver alone.
var (
	dropped = output{name: "dropped", pipeline: `
exporters:
  nop:
service:
  pipelines:
    profiles: {exporters: [nop]}
`}
	otlp = output{name: "OTLP", pipeline: otlpPipeline("", "enabled: false"), parts: []part{marshal, compress}}

	otlpMemory  = output{name: "OTLP, queue in memory", pipeline: otlpPipeline("", memoryQueue), parts: otlp.parts}
	otlpDisk    = output{name: "OTLP, queue on disk", pipeline: otlpPipeline("", memoryQueue+", storage: file_storage"), parts: otlp.parts}
	otlpBatches = output{name: "OTLP, batches, queue on disk", pipeline: otlpPipeline(
		"batch: {max_bytes: 4000000}", memoryQueue+", storage: file_storage"), parts: otlp.parts}
	files = output{name: "files", pipeline: `
processors:
  profile_deduplicator:
exporters:
  pprof: {file: {directory: %[7]s/profiles}}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [pprof]}
`, parts: []part{marshal, writeFile}}
	// As config/kafka-front.yaml has it.
	kafka = output{name: "Kafka", pipeline: `
receivers:
  pprof: {metadata_from_resource: [service.name]}
processors:
  profile_deduplicator:
exporters:
  kafka:
    brokers: ["%[8]s"]
    profiles: {topic: otlp_profiles, encoding: otlp_proto, message_key_from_metadata_key: service.name}
    include_metadata_keys: [service.name]
    producer: {required_acks: -1, compression: zstd, max_message_bytes: 16000000}
    sending_queue: {enabled: false}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [kafka]}
`, parts: []part{marshal, compressRecords}}
)

var outputs = []output{dropped, otlp, otlpMemory, otlpDisk, otlpBatches, files, kafka}

// routesOf returns each API with an output that costs nothing and with OTLP, and the first API with all outputs.
func routesOf(uploads []upload) (routes []route) {
	for _, u := range uploads {
		routes = append(routes, route{u, dropped}, route{u, otlp})
	}
	for _, o := range outputs[2:] {
		routes = append(routes, route{uploads[0], o})
	}
	return routes
}

// gatewayConfig has all receivers. Its addresses are those of the receivers of pprof, OTLP and Splunk's records, of
// health_check, of the profiler and of the destination; the last values are a directory, and the addresses of the broker and of
// pages.
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
