// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

// Names of the OpenTelemetry semantic conventions, version 1.41, and those that this project adds for what the
// conventions have no name for.
const (
	schemaURL = "https://opentelemetry.io/schemas/1.41.0"

	scopeSampleTypeOrder   = "pprof.scope.sample_type_order"
	scopeDefaultSampleType = "pprof.scope.default_sample_type"

	profileComment    = "pprof.profile.comment"
	profileDropFrames = "pprof.profile.drop_frames"
	profileKeepFrames = "pprof.profile.keep_frames"
	profileDocURL     = "pprof.profile.doc_url"
	// profileName is the name that the client shows for the profile, such as mutex or block.
	profileName = "profile.name"

	locationIsFolded = "pprof.location.is_folded"

	mappingBuildID         = "process.executable.build_id.gnu"
	mappingHasFunctions    = "pprof.mapping.has_functions"
	mappingHasFilenames    = "pprof.mapping.has_filenames"
	mappingHasLineNumbers  = "pprof.mapping.has_line_numbers"
	mappingHasInlineFrames = "pprof.mapping.has_inline_frames"

	// originalPayloadFormat names pprof in the original_payload_format of a profile.
	originalPayloadFormat = "pprof"
)
