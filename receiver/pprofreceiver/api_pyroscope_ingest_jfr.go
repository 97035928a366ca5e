// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/form"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

const (
	formatJFR = "jfr"

	fieldLabels = "labels"

	// defaultSampleRate is Pyroscope's default, in samples per second.
	defaultSampleRate = 100
)

// readIngestRecording reads a recording, as the body or in a form.
func (s *server) readIngestRecording(
	ctx context.Context, r *http.Request, payloads *batch, body []byte, source pprof.Source, query url.Values,
) error {
	if err := checkEncoding(r, body); err != nil {
		return err
	}
	boundary, isForm, err := form.Boundary(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return err
	case !isForm:
		return s.addRecording(ctx, payloads, recording{content: body}, source, query)
	}
	if body, err = payloads.memory.inflate(body, s.intake.limits.InflatedBytes); err != nil {
		return err
	}
	return s.readIngestForm(ctx, payloads, form.NewReader(body, boundary, maxIngestParts), source, query)
}

// recording has the fields of a form with a recording.
type recording struct{ content, labels []byte }

// addRecording translates a recording. Its times are in the recording. The query has the sample rate for recordings
// without one.
func (s *server) addRecording(ctx context.Context, payloads *batch, r recording, source pprof.Source, query url.Values) error {
	rate, err := strconv.ParseInt(query.Get("sampleRate"), 10, 64)
	if err != nil || rate <= 0 || rate > int64(time.Second) {
		rate = defaultSampleRate
	}
	format := s.intake.jfrFormat(r.labels, time.Second/time.Duration(rate))
	return payloads.add(ctx, payload{format: format, content: r.content, source: source, times: ingestTimes(query)})
}
