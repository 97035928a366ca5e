// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"bytes"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/pushv1"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/summary"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// ingestSender posts to Pyroscope's /ingest what its Go client would.
type ingestSender struct{ common }

func newIngestSender(cfg *HTTPConfig) (*ingestSender, error) {
	c, err := newCommon(cfg)
	return &ingestSender{common: c}, err
}

func (s *ingestSender) add(batch *outgoing, payload *pprof.Payload) (*http.Request, error) {
	head, err := summary.Of(payload.Pprof)
	if err != nil {
		return nil, &refusal{reason: refusedInvalid, profiles: payload.Profiles, err: err}
	}
	compressed, err := s.gzip(batch, payload)
	if err != nil {
		return nil, err
	}
	config := series.SampleTypeConfig(payload.ProfileType, head.Types)
	if err := batch.room(len(compressed)+len(config)+formBytes, payload); err != nil {
		return nil, err
	}
	body := bytes.NewBuffer(batch.body)
	form := multipart.NewWriter(body)
	// Writing to a buffer cannot fail.
	part, _ := form.CreateFormFile("profile", "profile.pprof")
	_, _ = part.Write(compressed)
	if config != nil {
		part, _ = form.CreateFormFile("sample_type_config", "sample_type_config.json")
		_, _ = part.Write(config)
	}
	_ = form.Close()
	labels := s.labels(payload)
	target := s.target("/ingest")
	target.RawQuery = ingestQuery(payload, &labels).Encode()
	batch.note(payload, labels.Dropped)
	return s.request(target.String(), body.Bytes(), form.FormDataContentType(), payload)
}

// formBytes is more than the headers and boundaries of a form take.
const formBytes = 2 << 10

func (s *ingestSender) flush(*outgoing) (*http.Request, error) { return nil, nil } //nolint:nilnil // nothing waits

// ingestQuery has what Pyroscope's Go client says.
func ingestQuery(payload *pprof.Payload, labels *series.Labels) url.Values {
	from := uint64(payload.Time)
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	profiler := labels.Profiler
	if profiler == "" {
		profiler = "otelpprof"
	}
	return url.Values{
		"name":    {labels.IngestName()},
		"from":    {strconv.FormatUint(from, 10)},
		"until":   {strconv.FormatUint(from+payload.DurationNano, 10)},
		"spyName": {profiler},
		// Of no meaning for pprof, but expected.
		"sampleRate":      {"100"},
		"units":           {""},
		"aggregationType": {""},
	}
}

// pushSender posts several series at a time.
type pushSender struct{ common }

func newPushSender(cfg *HTTPConfig) (*pushSender, error) {
	c, err := newCommon(cfg)
	return &pushSender{common: c}, err
}

func (s *pushSender) add(batch *outgoing, payload *pprof.Payload) (*http.Request, error) {
	head, err := summary.Of(payload.Pprof)
	if err != nil {
		return nil, &refusal{reason: refusedInvalid, profiles: payload.Profiles, err: err}
	}
	compressed, err := s.gzip(batch, payload)
	if err != nil {
		return nil, err
	}
	labels := s.labels(payload)
	list := append(slices.Clip(labels.List),
		series.Label{Name: "__name__", Value: series.MetricName(payload.ProfileType, head.Types)},
		series.Label{Name: series.LabelService, Value: labels.Service},
	)
	if labels.Profiler != "" {
		list = append(list, series.Label{Name: series.Spy, Value: labels.Profiler})
	}
	slices.SortFunc(list, func(a, b series.Label) int { return strings.Compare(a.Name, b.Name) })
	if err := batch.room(pushv1.SeriesBytes(list, compressed), payload); err != nil {
		return nil, err
	}
	batch.body = pushv1.AppendSeries(batch.body, list, compressed, identity(*payload))
	if batch.headers == nil {
		batch.headers = s.resourceHeaders(payload)
	}
	batch.note(payload, labels.Dropped)
	if batch.payloads < s.cfg.MaxSeriesPerRequest && len(batch.body) < s.cfg.MaxRequestBytes {
		return nil, nil //nolint:nilnil // it waits for more
	}
	return s.flush(batch)
}

func (s *pushSender) flush(batch *outgoing) (*http.Request, error) {
	if batch.payloads == 0 {
		return nil, nil //nolint:nilnil // nothing waits
	}
	target := s.target(pushv1.Path)
	request, err := s.request(target.String(), batch.body, "application/proto", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connect-Protocol-Version", "1")
	for _, name := range slices.Sorted(maps.Keys(batch.headers)) {
		request.Header.Set(name, batch.headers[name])
	}
	return request, nil
}
