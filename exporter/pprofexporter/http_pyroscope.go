// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/summary"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/series"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// ingestSender posts to Pyroscope's /ingest what its Go client would.
type ingestSender struct{ common }

func newIngestSender(cfg *HTTPConfig) (*ingestSender, error) {
	c, err := newCommon(cfg)
	return &ingestSender{common: c}, err
}

func (s *ingestSender) add(batch *httpBatch, payload *pprof.Payload) (*http.Request, error) {
	head, err := summary.Of(payload.Pprof)
	if err != nil {
		return nil, delivery.Refuse(payload, delivery.ReasonInvalid, err)
	}
	compressed, err := s.gzip(batch, payload)
	if err != nil {
		return nil, err
	}
	config := series.SampleTypeConfig(payload.ProfileType, head.Types)
	if err := batch.grow(len(compressed)+len(config)+formBytes, payload); err != nil {
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
	labels := s.labels(payload, series.Name)
	target := s.target("/ingest")
	target.RawQuery = ingestQuery(payload, &labels).Encode()
	batch.note(payload, labels.Dropped)
	return s.request(target.String(), body.Bytes(), form.FormDataContentType(), payload)
}

// formBytes is more than the headers and boundaries of a form take.
const formBytes = 2 << 10

func (s *ingestSender) flush(*httpBatch) (*http.Request, error) { return nil, nil } //nolint:nilnil // nothing waits

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
