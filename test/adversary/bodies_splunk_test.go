// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// profilingRecord is a log record of Splunk's agents, with a body of text or pprof.
func profilingRecord(format string, value content) content {
	attribute := func(key, value string) content { return field(6, textField(1, key), field(2, textField(1, value))) }
	return field(2, attribute("com.splunk.sourcetype", "otel.profiling"), attribute("profiling.data.type", "cpu"),
		attribute("profiling.data.format", format), field(6, textField(1, "source.event.period"), field(2, number(3, 1000))),
		field(5, field(1, value)))
}

// profilingLogs is a request of such records.
func profilingLogs(resource content, records ...content) content {
	scope := field(1, textField(1, "otel.profiling"), textField(2, "0.1.0"))
	return field(1, field(1, resource), field(2, append([]content{scope}, records...)...))
}

// splunkRecords are log records that claim to be of an agent.
func splunkRecords() []body {
	service := func() content { return field(1, textField(1, "service.name"), field(2, textField(1, "hostile"))) }
	// What is behind the base64 is known by its first bytes, and zstd makes these smaller.
	pprofRecord := func(c content) content { return profilingRecord("pprof-gzip-base64", text(base64Text(zstandard(c)))) }
	gzipRecord := func(c content) content { return profilingRecord("pprof-gzip-base64", text(base64Text(gzipped(c)))) }
	ofTwoLayers := func(name string, c func() content) body {
		return otlp(name, logsPath, func() content { return profilingLogs(service(), pprofRecord(c())) })
	}
	textRecord := func(name string, lines func() content) body {
		return otlp(name, logsPath, func() content {
			return profilingLogs(service(), profilingRecord("text", join(text("\"main\" #1\n   java.lang.Thread.State: RUNNABLE\n"), lines())))
		})
	}
	return []body{
		otlp("splunk-empty-mappings", logsPath, func() content { return profilingLogs(service(), gzipRecord(emptyMappings())) }),
		ofTwoLayers("splunk-empty-locations", func() content { return join(head(), onlySample(), filling(empty(pprofLocation), inflatedBytes)) }),
		ofTwoLayers("splunk-empty-samples", func() content { return filling(empty(pprofSample), inflatedBytes) }),
		ofTwoLayers("splunk-empty-strings", func() content { return filling(empty(pprofString), inflatedBytes) }),
		ofTwoLayers("splunk-lines-of-one-location", func() content {
			return field(pprofLocation, number(1, 1), filling(empty(locationLine), inflatedBytes))
		}),
		ofTwoLayers("splunk-empty-labels", func() content { return field(pprofSample, filling(empty(sampleLabel), inflatedBytes)) }),
		ofTwoLayers("splunk-deep-distinct-stacks", func() content { return distinctStacks(1000, 10_000, locations) }),
		ofTwoLayers("splunk-valid-63-mib", func() content { return validProfile(950_000) }),
		otlpCall("splunk-grpc-empty-mappings", logsCall, func() content { return profilingLogs(service(), pprofRecord(emptyMappings())) }),
		otlp("splunk-100-records-of-bombs", logsPath, func() content {
			return profilingLogs(service(), repeat(pprofRecord(emptyMappings()).plain(), 100))
		}),
		otlp("splunk-long-sample-types", logsPath, func() content {
			oneType, values := field(1, number(1, 1), number(2, 1)).plain(), field(2, field(2, repeat([]byte{1}, 256)))
			names := join(repeat(empty(pprofString), 1), field(pprofString, repeat([]byte("x"), 65_000)))
			return profilingLogs(service(), repeat(gzipRecord(join(names, repeat(oneType, 256), values)).plain(), 200))
		}),
		otlp("splunk-attributes-of-many-types", logsPath, func() content {
			oneType, values := field(1, number(1, 1), number(2, 1)).plain(), field(2, field(2, repeat([]byte{1}, 256)))
			ofTypes := gzipped(join(repeat(empty(pprofString), 1), textField(pprofString, "x"), repeat(oneType, 256), values))
			attributes := counting(120_000, func(to []byte, i int) []byte {
				return appendField(to, 6, appendField(nil, 1, strconv.AppendInt(nil, int64(i), 36)))
			})
			return profilingLogs(service(), field(2, field(5, field(1, text(base64Text(ofTypes)))), attributes))
		}),
		otlp("splunk-gzip-bomb", logsPath, func() content {
			return profilingLogs(service(), gzipRecord(repeat(make([]byte, 1024), 1<<20)))
		}),
		otlp("splunk-long-base64", logsPath, func() content {
			return profilingLogs(service(), profilingRecord("pprof-gzip-base64", filling([]byte("GgAaABoA"), otlpBytes)))
		}),
		textRecord("splunk-text-frames", func() content { return filling([]byte("\tat a(b:1)\n"), 15<<20) }),
		textRecord("splunk-text-distinct-frames", func() content {
			return counting(900_000, func(to []byte, i int) []byte {
				return append(append(append(to, "\tat "...), base64Text([]byte{byte(i >> 16), byte(i >> 8), byte(i)})...), "(b:1)\n"...)
			})
		}),
		textRecord("splunk-text-one-line", func() content { return repeat([]byte("x"), 15<<20) }),
		otlp("splunk-text-records", logsPath, func() content {
			record := profilingRecord("text", text("\"main\" #1\n   java.lang.Thread.State: RUNNABLE\n"+strings.Repeat("\tat a.b(C.java:1)\n", 5))).plain()
			return profilingLogs(service(), filling(record, otlpBytes))
		}),
		otlp("splunk-deep-service-name", logsPath, func() content {
			return profilingLogs(deepAttribute("service.name", deepArray(1_000_000)), pprofRecord(smallProfile()))
		}),
		otlp("splunk-deep-other-attribute", logsPath, func() content {
			return profilingLogs(deepAttribute("host.name", deepMap(1_000_000)), pprofRecord(smallProfile()))
		}),
		otlp("splunk-deep-body", logsPath, func() content {
			return profilingLogs(service(), field(2, field(5, literal(deepArray(1_700_000)))))
		}),
		otlpCall("splunk-grpc-deep-record-attribute", logsCall, func() content {
			return profilingLogs(service(), field(2, field(6, textField(1, "thread.name"), field(2, literal(deepArray(1_000_000)))), field(5, textField(1, "x"))))
		}),
		otlpJSON("splunk-json-long-base64", logsPath, func() content {
			return join(text(`{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"otel.profiling"},"logRecords":[{"body":{"stringValue":"`),
				filling([]byte("H4sIAAAA"), otlpBytes), text(`"}}]}]}]}`))
		}),
	}
}

// signalTables are elements of the other signals that may be empty.
var signalTables = map[string][]table{
	logsPath: {
		{"resource-logs", []protowire.Number{1}},
		{"scope-logs", []protowire.Number{1, 2}},
		{"log-records", []protowire.Number{1, 2, 2}},
		{"log-attributes", []protowire.Number{1, 2, 2, 6}},
	},
	tracesPath: {
		{"resource-spans", []protowire.Number{1}},
		{"spans", []protowire.Number{1, 2, 2}},
		{"span-attributes", []protowire.Number{1, 2, 2, 9}},
		{"span-events", []protowire.Number{1, 2, 2, 11}},
		{"span-links", []protowire.Number{1, 2, 2, 13}},
	},
	metricsPath: {
		{"resource-metrics", []protowire.Number{1}},
		{"metrics", []protowire.Number{1, 2, 2}},
		{"gauge-points", []protowire.Number{1, 2, 2, 5, 1}},
		{"sum-points", []protowire.Number{1, 2, 2, 7, 1}},
		{"histogram-points", []protowire.Number{1, 2, 2, 9, 1}},
		{"exponential-points", []protowire.Number{1, 2, 2, 10, 1}},
		{"summary-points", []protowire.Number{1, 2, 2, 11, 1}},
		{"exemplars", []protowire.Number{1, 2, 2, 5, 1, 5}},
	},
}

// splunkSignals are the other signals, which the receiver of Splunk's agents takes as well.
func splunkSignals() []body {
	var all []body
	for _, path := range []string{logsPath, tracesPath, metricsPath} {
		for _, t := range signalTables[path] {
			all = append(all, otlp("signals-empty-"+t.name, path, func() content { return emptyIn(t, otlpBytes) }))
		}
	}
	deepResource := func() content {
		return field(1, field(1, deepAttribute("service.name", deepArray(1_000_000))), field(2, empty2()))
	}
	return append(all,
		otlpCall("signals-grpc-empty-spans", tracesCall, func() content { return emptyIn(signalTables[tracesPath][1], otlpBytes) }),
		otlpCall("signals-grpc-empty-gauge-points", metricsCall, func() content { return emptyIn(signalTables[metricsPath][2], otlpBytes) }),
		otlp("signals-deep-spans", tracesPath, deepResource),
		otlp("signals-deep-metrics", metricsPath, deepResource),
		otlpJSON("signals-json-empty-log-records", logsPath, func() content {
			return join(text(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[`), filling([]byte("{},"), otlpBytes), text(`{}]}]}]}`))
		}),
		otlpJSON("signals-json-empty-spans", tracesPath, func() content {
			return join(text(`{"resourceSpans":[{"scopeSpans":[{"spans":[`), filling([]byte("{},"), otlpBytes), text(`{}]}]}]}`))
		}),
	)
}

// empty2 is an element of field 2 without anything: a record, a span or a metric.
func empty2() content { return repeat(empty(2), 1) }
