// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// payloadFormat translates one payload to OTLP profiles. The code that reads a request or a file sets the format of each payload that it
// adds to a batch. The result must not refer to the payload. An error must have a class, see [classOf].
type payloadFormat func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error)

// formats makes the formats of one receiver.
type formats struct {
	decoder     *pprof.Decoder
	recordings  *jfr.Decoder
	textOptions text.Options

	logger *zap.Logger
	lock   sync.Mutex
	// logged has the types of events that were logged as skipped.
	logged map[string]struct{}
}

// newFormats returns the formats with the options of a receiver.
func newFormats(options pprof.DecodeOptions, keepGeneratedNames bool, logger *zap.Logger) *formats {
	return &formats{
		decoder: pprof.NewDecoder(options),
		recordings: jfr.NewDecoder(jfr.Options{
			Limits: options.Limits, LinkLabels: options.LinkLabels, KeepGeneratedNames: keepGeneratedNames,
			IncludeOriginalPayload: options.IncludeOriginalPayload,
		}),
		textOptions: text.Options{Limits: options.Limits, KeepGeneratedNames: keepGeneratedNames, IncludeOriginalPayload: options.IncludeOriginalPayload},
		logger:      logger,
		logged:      map[string]struct{}{},
	}
}

// maxSkippedTypes is the maximum number of types of events that are logged.
const maxSkippedTypes = 1000

// logSkipped logs each type of events that no profile has when it occurs first. A recording of the JDK has a hundred such types.
func (f *formats) logSkipped(types []jfr.SkippedEvents) {
	if len(types) == 0 || !f.logger.Core().Enabled(zap.DebugLevel) {
		return
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, skipped := range types {
		if _, found := f.logged[skipped.Type]; found || len(f.logged) == maxSkippedTypes {
			continue
		}
		f.logged[skipped.Type] = struct{}{}
		f.logger.Debug("Skipped the events of a JFR recording of which there is no profile. The type is logged once.",
			zap.String("type", skipped.Type), zap.Int("events", skipped.Events))
	}
}

// The formats whose names have a meaning of their own in an API.
const (
	formatPprof  = "pprof"
	formatJFR    = "jfr"
	formatFolded = "folded" // collapsed stacks with counts
)

// namedFormat is a format that a request can name, in addition to pprof and jfr.
type namedFormat struct {
	// names are equivalent. Errors list the first one.
	names []string
	// form is that of collapsed stacks, if decode is nil.
	form   collapsed.Form
	decode func(payload []byte, source pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error)
	// takesType is true if a request can name the type of the values.
	takesType bool
	// isIn reports whether a payload that begins like this has the format. It is nil if only a request can say that.
	isIn func(begin []byte) bool
	// isLines means that isIn is not sufficient: the format must also read the first lines.
	isLines bool
}

// namedFormats has all of them.
var namedFormats = []namedFormat{
	{names: []string{formatFolded, "collapsed", "groups"}, form: collapsed.Groups, takesType: true, isIn: hasSemicolon, isLines: true}, // groups is Pyroscope's name
	{names: []string{"lines"}, form: collapsed.Lines, takesType: true},
	{names: []string{"trie"}, form: collapsed.Trie, takesType: true},
	{names: []string{"tree"}, form: collapsed.Tree, takesType: true},
	{names: []string{"speedscope"}, decode: speedscope.Decode, takesType: true, isIn: isSpeedscope},
	{names: []string{"cpuprofile"}, decode: cpuprofile.Decode, takesType: true, isIn: isCPUProfile},
	{names: []string{"perf_script", "perf"}, decode: perfscript.Decode, isIn: isText, isLines: true},
}

// findFormat returns the format with a name. pprof and jfr are none of them.
func findFormat(name string) (*namedFormat, error) {
	i := slices.IndexFunc(namedFormats, func(f namedFormat) bool { return slices.Contains(f.names, name) })
	if i < 0 {
		return nil, newRefusal(unknownFormat, "format %.32q is not supported, only %s, %s, %s are", name, formatPprof, formatJFR, formatNames())
	}
	return &namedFormats[i], nil
}

// formatNames lists namedFormats.
func formatNames() string {
	names := make([]string, len(namedFormats))
	for i, format := range namedFormats {
		names[i] = format.names[0]
	}
	return strings.Join(names, ", ")
}

// text returns a format whose frames have names. period is the value of one count of collapsed stacks.
func (f *formats) text(named *namedFormat, period int64) payloadFormat {
	return func(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		if named.decode != nil {
			return named.decode(payload, source, f.textOptions)
		}
		return collapsed.Decode(payload, source, collapsed.Options{Form: named.form, Period: period, Options: f.textOptions})
	}
}
