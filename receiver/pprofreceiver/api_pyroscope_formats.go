// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/format"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/refusal"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

// ingestFormat returns the format of a request. The parameter format or the Content-Type names it. Without a name it is
// pprof, unless the body looks like collapsed stacks, which are Pyroscope's default.
func (s *server) ingestFormat(source *pprof.Source, app string, query url.Values, contentType string, body []byte) (format.Format, error) {
	name := query.Get("format")
	if name == "" {
		// Pyroscope's clients used this before the parameter existed.
		_, name, _ = strings.Cut(contentType, "binary/octet-stream+")
	}
	isForm := strings.Contains(strings.ToLower(contentType), typeForm)
	switch {
	case name == format.NameJFR:
		return s.recordingFormat(nil, query), nil
	case name == format.NamePprof, name == "" && (isForm || !collapsed.IsText(body)):
		return s.pprof, nil
	case name == "":
		name = format.NameFolded
	}
	named, err := format.Find(name)
	if err != nil {
		return nil, err
	}
	if isForm {
		return nil, refusal.New(refusal.UnknownFormat, "format %.32q is not supported in a form, only %q is", name, format.NamePprof)
	}
	period := int64(0)
	if named.TakesType {
		if period, err = setFromCounts(source, app, query); err != nil {
			return nil, err
		}
	}
	return s.intake.formats.Text(named, period), nil
}

// recordingFormat returns the format of a recording with these labels. The query has the sample rate for recordings without one.
func (s *server) recordingFormat(labels []byte, query url.Values) format.Format {
	rate, err := strconv.ParseInt(query.Get("sampleRate"), 10, 64)
	if err != nil || rate <= 0 || rate > int64(time.Second) {
		rate = defaultSampleRate
	}
	return s.intake.formats.JFR(labels, time.Second/time.Duration(rate))
}

// setFromCounts sets the type of values from the query, for formats without a type. If the name of the application ends
// with a type, the service is the part before it. period is the value of one count.
func setFromCounts(source *pprof.Source, app string, query url.Values) (period int64, err error) {
	counts, err := parseCounts(app, query.Get("units"), query.Get("sampleRate"), query.Get("aggregationType"))
	if err != nil {
		return 0, err
	}
	if service, _ := source.Resource.Get(attributeServiceName); service.Str() == app {
		source.Resource.PutStr(attributeServiceName, validText(counts.app))
	}
	if source.ProfileName == "" {
		source.ProfileName = counts.profileName
	}
	source.SampleTypes = []pprof.ValueType{{Type: counts.valueType, Unit: counts.unit}}
	return counts.period, nil
}
