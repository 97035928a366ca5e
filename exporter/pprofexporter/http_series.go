// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"cmp"
	"net/http"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// seriesSender sends several series in one request, to Pyroscope or Parca.
type seriesSender struct {
	baseSender
	seriesFormat
}

// seriesFormat has the differences between these formats.
type seriesFormat struct {
	path   string
	header http.Header
	// labelName returns the name of a label for the key of an attribute. names maps Pyroscope's names of profiles to those of
	// this format, where they differ.
	labelName func(key string) string
	names     map[string]string
	// encode encodes the labels of a series. bytes returns an upper bound of the bytes that append adds for the series. end follows the
	// last one.
	encode func(labels []series.Label) []byte
	bytes  func(labels, profile []byte) int
	append func(dst, labels, profile []byte, id [16]byte) []byte
	end    string
}

var pushFormat = seriesFormat{
	path:      "/push.v1.PusherService/Push",
	header:    http.Header{"Content-Type": {"application/proto"}, "Connect-Protocol-Version": {"1"}},
	labelName: series.Name,
	encode:    labelsAsPairs,
	bytes:     pushSeriesBytes,
	append:    appendPushSeries,
}

var parcaFormat = seriesFormat{
	path:      "/api/profiles/writeraw", // Parca accepts it over HTTP as well as over gRPC.
	header:    http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
	labelName: series.PrometheusName,
	names:     map[string]string{"goroutines": "goroutine"}, // the name that Parca's own scraper uses
	encode:    labelsAsJSON,
	bytes:     rawSeriesBytes,
	append:    appendRawSeries,
	end:       rawEnd,
}

func (s *seriesSender) add(batch *httpBatch, payload *pprof.Payload) (*http.Request, error) {
	compressed, err := s.gzip(batch, payload)
	if err != nil {
		return nil, err
	}
	labels := s.labels(batch, payload, s.labelName)
	name := series.MetricName(payload.ProfileType, payload.SampleTypes)
	encoded := s.encode(labels.All(series.Label{Name: "__name__", Value: cmp.Or(s.names[name], name)}))
	if err := batch.grow(s.bytes(encoded, compressed)); err != nil {
		return nil, err
	}
	if batch.payloads == 0 {
		if batch.headers, err = s.resourceHeaders(payload, new(attributes)); err != nil {
			return nil, err
		}
	}
	batch.body = s.append(batch.body, encoded, compressed, delivery.ProfileID(payload))
	batch.count(payload, labels.Dropped)
	if batch.payloads < s.cfg.MaxSeriesPerRequest && len(batch.body) < s.cfg.MaxRequestBytes {
		return nil, nil //nolint:nilnil // the batch is not full
	}
	return s.flush(batch)
}

func (s *seriesSender) flush(batch *httpBatch) (*http.Request, error) {
	if batch.payloads == 0 {
		return nil, nil //nolint:nilnil // the batch is empty
	}
	target := s.target(s.path)
	return newRequest(target.String(), append(batch.body, s.end...), s.header, batch.headers)
}
