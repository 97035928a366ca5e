// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

// Names in Splunk's profiling convention and its predecessors.
const (
	profilingScope = "otel.profiling"

	attributeSourceType    = "com.splunk.sourcetype"
	attributeOldSourceType = "sourcetype"
	sourceTypeProfiling    = "otel.profiling"

	attributeDataType   = "profiling.data.type"
	dataTypeCPU         = "cpu"
	dataTypeAllocation  = "allocation"
	attributeDataFormat = "profiling.data.format"
	dataFormatText      = "text"
	dataFormatPprof     = "pprof-gzip-base64"
	attributeFrameCount = "profiling.data.total.frame.count"
	attributeSource     = "profiling.instrumentation.source"
	attributeAllocated  = "memory.allocated"
	// attributeOldAllocated is the name that splunk-otel-java used before version 1.7.
	attributeOldAllocated = "allocationSize"

	labelEventName   = "source.event.name"
	labelEventPeriod = "source.event.period"
	labelEventTime   = "source.event.time"
	labelTraceID     = "trace_id"
	labelSpanID      = "span_id"

	// allocationEvents is the prefix of the JDK's allocation events.
	allocationEvents = "jdk.ObjectAllocation"
	// allocationSampleType is the sample type that splunk-otel-java writes.
	allocationSampleType = "allocationSize"
)

// Names in the resulting profiles.
const (
	typeCPU        = "cpu"
	unitNanos      = "nanoseconds"
	typeAllocation = "alloc_space"
	unitBytes      = "bytes"
	typeSamples    = "samples"
	unitCount      = "count"

	// anonymousFunction is the name of a function without name and file: OTLP requires one of them.
	anonymousFunction = "(anonymous)"
)

// Names of the OpenTelemetry semantic conventions, version 1.41.
const (
	resourceLanguage        = "telemetry.sdk.language"
	attributeJVMThreadState = "jvm.thread.state"
)
