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

// seriesFormat has the differences between the formats with several series in one request, to Pyroscope or Parca.
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

// addSeries returns what adds payloads to a request of a format.
func (d *httpDestination) addSeries(s *seriesFormat) func(batch *httpBatch, payload *pprof.Payload) error {
	target := d.target(s.path)
	return func(batch *httpBatch, payload *pprof.Payload) error {
		compressed, err := d.gzip(batch, payload)
		if err != nil {
			return err
		}
		labels := d.labels(batch, payload, s.labelName)
		name := series.MetricName(payload.ProfileType, payload.SampleTypes)
		encoded := s.encode(labels.All(series.Label{Name: "__name__", Value: cmp.Or(s.names[name], name)}))
		if err := batch.grow(s.bytes(encoded, compressed)); err != nil {
			return err
		}
		if batch.payloads == 0 {
			if batch.headers, err = d.resourceHeaders(payload, new(attributes)); err != nil {
				return err
			}
		}
		batch.target, batch.header, batch.end = target.String(), s.header, s.end
		batch.body = s.append(batch.body, encoded, compressed, delivery.ProfileID(payload))
		batch.count(payload, labels.Dropped)
		return nil
	}
}
