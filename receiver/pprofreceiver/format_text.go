// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"errors"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// The formats that a request can name, in addition to formatPprof.
const (
	formatFolded     = "folded"
	formatGroups     = "groups" // Pyroscope's name of formatFolded
	formatLines      = "lines"
	formatTrie       = "trie"
	formatTree       = "tree"
	formatSpeedscope = "speedscope"
	formatPerfScript = "perf_script"

	// textFormats has all of them, for errors.
	textFormats = formatFolded + ", " + formatGroups + ", " + formatLines + ", " + formatTrie + ", " + formatTree + ", " +
		formatSpeedscope + ", " + formatPerfScript
)

// collapsedForms are the formats with collapsed stacks.
var collapsedForms = map[string]collapsed.Form{
	formatFolded: collapsed.Groups, formatGroups: collapsed.Groups, formatLines: collapsed.Lines,
	formatTrie: collapsed.Trie, formatTree: collapsed.Tree,
}

// textFormat is a format whose frames have names.
type textFormat func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error)

// Decode translates a payload. The translators of these formats share their error classes.
func (f textFormat) Decode(payload []byte, source pprof.Source, work *meter.Meter) (pprofile.Profiles, pprof.DecodeStats, error) {
	source.Reserve = work.Reserve
	profiles, stats, err := f(payload, source)
	switch {
	case errors.Is(err, collapsed.ErrMalformed):
		err = refuse(classMalformed, "%w", err)
	case errors.Is(err, collapsed.ErrTooLarge):
		err = refuse(classTooLarge, "%w", err)
	}
	return profiles, stats, err
}

// textFormat returns the format with a name, or nil if there is none. period is the value of one count of collapsed
// stacks.
func (in *intake) textFormat(name string, period int64) payloadFormat {
	if form, found := collapsedForms[name]; found {
		options := collapsed.Options{
			Form: form, Period: period, Limits: in.options.Limits,
			KeepGeneratedNames: in.generatedNames, IncludeOriginalPayload: in.options.IncludeOriginalPayload,
		}
		return textFormat(func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
			return collapsed.Decode(payload, source, options)
		})
	}
	switch name {
	case formatSpeedscope:
		options := speedscope.Options{
			Limits: in.options.Limits, KeepGeneratedNames: in.generatedNames, IncludeOriginalPayload: in.options.IncludeOriginalPayload,
		}
		return textFormat(func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
			return speedscope.Decode(payload, source, options)
		})
	case formatPerfScript:
		options := perfscript.Options{
			Limits: in.options.Limits, KeepGeneratedNames: in.generatedNames, IncludeOriginalPayload: in.options.IncludeOriginalPayload,
		}
		return textFormat(func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
			return perfscript.Decode(payload, source, options)
		})
	default:
		return nil
	}
}
