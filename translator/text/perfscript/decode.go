// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package perfscript translates the text output of Linux perf script to OTLP profiles: samples with their thread, CPU,
// time, period, event and stack.
package perfscript // import "github.com/otelpprof/otelpprof/translator/text/perfscript"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/internal/profilebuilder"
)

// payloadFormat is the original_payload_format.
const payloadFormat = "perf_script"

// Decode translates the output of one perf script: plain, in gzip or in zstd. Each event becomes a profile, with the
// event as profile.name. The result shares no memory with payload. Samples that differ only in their time become one.
//
// The value of a sample is its period: how often the event has occurred since the previous sample. For cpu-clock and
// task-clock this is CPU time, with the type cpu and the unit nanoseconds. For other events the type is the name of the
// event. If perf printed no periods, each sample counts 1.
//
// By default, the times of perf count from the boot of the machine. Then the profile has a duration, but no time. Times
// after the year 2000 are wall-clock times, as perf record -k CLOCK_REALTIME writes them. Then samples have timestamps.
func Decode(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
	return profilebuilder.Decode(payload, src, options, payloadFormat, func(b *profilebuilder.Builder, plain []byte) {
		r := &reader{Builder: b, byEvent: map[eventKey]*eventProfile{}}
		r.readText(plain)
		r.describeEvents()
	})
}
