// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// The formats that a request can name, in addition to formatPprof.
const (
	formatJFR        = "jfr"
	formatFolded     = "folded"
	formatGroups     = "groups" // Pyroscope's name of formatFolded
	formatLines      = "lines"
	formatTrie       = "trie"
	formatTree       = "tree"
	formatSpeedscope = "speedscope"
	formatPerfScript = "perf_script"

	// textFormats has those of texts, for errors.
	textFormats = formatFolded + ", " + formatGroups + ", " + formatLines + ", " + formatTrie + ", " + formatTree + ", " +
		formatSpeedscope + ", " + formatPerfScript
)

// collapsedForms are the formats with collapsed stacks.
var collapsedForms = map[string]collapsed.Form{
	formatFolded: collapsed.Groups, formatGroups: collapsed.Groups, formatLines: collapsed.Lines,
	formatTrie: collapsed.Trie, formatTree: collapsed.Tree,
}

// textFormat is a format whose frames have names.
type textFormat struct {
	decode  func(payload []byte, source pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error)
	options text.Options
}

// Decode translates a payload.
func (f textFormat) Decode(payload []byte, source pprof.Source, work *meter.Meter) (pprofile.Profiles, pprof.DecodeStats, error) {
	source.Reserve = work.Reserve
	return f.decode(payload, source, f.options)
}

// textFormat returns the format with a name, or nil if there is none. period is the value of one count of collapsed
// stacks.
func (in *intake) textFormat(name string, period int64) payloadFormat {
	format := textFormat{options: text.Options{
		Limits: in.options.Limits, KeepGeneratedNames: in.generatedNames, IncludeOriginalPayload: in.options.IncludeOriginalPayload,
	}}
	form, isCollapsed := collapsedForms[name]
	switch {
	case isCollapsed:
		format.decode = func(payload []byte, source pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
			return collapsed.Decode(payload, source, collapsed.Options{Form: form, Period: period, Options: options})
		}
	case name == formatSpeedscope:
		format.decode = speedscope.Decode
	case name == formatPerfScript:
		format.decode = perfscript.Decode
	default:
		return nil
	}
	return format
}
