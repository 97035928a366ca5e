// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package semconv defines the names of attributes that represent pprof data in OTLP: those of the OpenTelemetry semantic
// conventions, version 1.41, and for data that these do not cover, names of this project.
package semconv // import "github.com/otelpprof/otelpprof/translator/internal/semconv"

// SchemaURL is the URL of the semantic conventions.
const SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

// Attributes of a scope. ScopeThreadLabels is true if the attributes ThreadID and ThreadName replace the labels of
// Datadog's profilers.
const (
	ScopeSampleTypeOrder   = "pprof.scope.sample_type_order"
	ScopeDefaultSampleType = "pprof.scope.default_sample_type"
	ScopeThreadLabels      = "pprof.scope.thread_labels"
)

// Attributes of a sample. ThreadOSID, ThreadState and StackTruncated, which is true if the profiler has cut the stack, are names of
// Splunk's profiling convention.
const (
	ThreadID       = "thread.id"
	ThreadOSID     = "thread.os.id"
	ThreadName     = "thread.name"
	ThreadState    = "thread.state"
	StackTruncated = "thread.stack.truncated"
)

// Attributes of a profile. ProfileName is the name that the client displays, such as mutex or block. ProfileMainMapping
// is a map with the fields of the first mapping of a pprof.
const (
	ProfileComment     = "pprof.profile.comment"
	ProfileDropFrames  = "pprof.profile.drop_frames"
	ProfileKeepFrames  = "pprof.profile.keep_frames"
	ProfileDocURL      = "pprof.profile.doc_url"
	ProfileMainMapping = "pprof.profile.main_mapping"
	ProfileName        = "profile.name"
)

// Keys of the map ProfileMainMapping. A flag is present only if it is true.
const (
	MainFilename        = "filename"
	MainBuildID         = "build_id"
	MainMemoryStart     = "memory_start"
	MainMemoryLimit     = "memory_limit"
	MainFileOffset      = "file_offset"
	MainHasFunctions    = "has_functions"
	MainHasFilenames    = "has_filenames"
	MainHasLineNumbers  = "has_line_numbers"
	MainHasInlineFrames = "has_inline_frames"
	// NumMainKeys is the number of these keys.
	NumMainKeys = 9
)

// Attributes of a location.
const (
	LocationIsFolded  = "pprof.location.is_folded"
	LocationFrameType = "profile.frame.type"
)

// Values of LocationFrameType.
const (
	FrameTypeJVM    = "jvm"
	FrameTypeKernel = "kernel"
	FrameTypeNative = "native"
)

// Attributes of a mapping.
const (
	MappingBuildID         = "process.executable.build_id.gnu"
	MappingBuildIDGo       = "process.executable.build_id.go"
	MappingBuildIDHTLHash  = "process.executable.build_id.htlhash"
	MappingHasFunctions    = "pprof.mapping.has_functions"
	MappingHasFilenames    = "pprof.mapping.has_filenames"
	MappingHasLineNumbers  = "pprof.mapping.has_line_numbers"
	MappingHasInlineFrames = "pprof.mapping.has_inline_frames"
)

// OriginalPayloadFormat is the original_payload_format of a profile with a pprof.
const OriginalPayloadFormat = "pprof"
