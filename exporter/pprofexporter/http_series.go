// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/summary"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/pushv1"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/series"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/writeraw"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// seriesSender posts several series at a time, to Pyroscope or Parca.
type seriesSender struct {
	common
	seriesFormat
}

// seriesFormat is what the requests of such formats differ in.
type seriesFormat struct {
	path, contentType string
	// header is one that each request has.
	header [2]string
	// labelName makes the name of a label, names has names of profiles that differ from those of Pyroscope.
	labelName func(key string) string
	names     map[string]string
	// bytes is at least what append adds for a series; end comes after the last one.
	bytes  func(labels []series.Label, profile []byte) int
	append func(dst []byte, labels []series.Label, profile []byte, id [16]byte) []byte
	end    string
}

var pushFormat = seriesFormat{
	path:        pushv1.Path,
	contentType: "application/proto",
	header:      [2]string{"Connect-Protocol-Version", "1"},
	labelName:   series.Name,
	bytes:       pushv1.SeriesBytes,
	append:      pushv1.AppendSeries,
}

var parcaFormat = seriesFormat{
	path:        writeraw.Path,
	contentType: "application/json",
	header:      [2]string{"Accept", "application/json"},
	labelName:   series.PrometheusName,
	names:       map[string]string{"goroutines": "goroutine"}, // as Parca's own scraper says
	bytes:       writeraw.SeriesBytes,
	append: func(dst []byte, labels []series.Label, profile []byte, _ [16]byte) []byte {
		return writeraw.AppendSeries(dst, labels, profile)
	},
	end: writeraw.End,
}

func newSeriesSender(cfg *HTTPConfig, format seriesFormat) (*seriesSender, error) {
	c, err := newCommon(cfg)
	return &seriesSender{c, format}, err
}

func (s *seriesSender) add(batch *httpBatch, payload *pprof.Payload) (*http.Request, error) {
	head, err := summary.Of(payload.Pprof)
	if err != nil {
		return nil, delivery.Refuse(payload, delivery.ReasonInvalid, err)
	}
	compressed, err := s.gzip(batch, payload)
	if err != nil {
		return nil, err
	}
	labels := s.labels(payload, s.labelName)
	name := series.MetricName(payload.ProfileType, head.Types)
	list := append(slices.Clip(labels.List),
		series.Label{Name: "__name__", Value: cmp.Or(s.names[name], name)},
		series.Label{Name: series.LabelService, Value: labels.Service},
	)
	if labels.Profiler != "" {
		list = append(list, series.Label{Name: series.Spy, Value: labels.Profiler})
	}
	slices.SortFunc(list, func(a, b series.Label) int { return strings.Compare(a.Name, b.Name) })
	if err := batch.grow(s.bytes(list, compressed), payload); err != nil {
		return nil, err
	}
	batch.body = s.append(batch.body, list, compressed, identity(payload))
	if batch.headers == nil {
		batch.headers = s.resourceHeaders(payload)
	}
	batch.note(payload, labels.Dropped)
	if batch.payloads < s.cfg.MaxSeriesPerRequest && len(batch.body) < s.cfg.MaxRequestBytes {
		return nil, nil //nolint:nilnil // it waits for more
	}
	return s.flush(batch)
}

func (s *seriesSender) flush(batch *httpBatch) (*http.Request, error) {
	if batch.payloads == 0 {
		return nil, nil //nolint:nilnil // nothing waits
	}
	target := s.target(s.path)
	request, err := s.request(target.String(), append(batch.body, s.end...), s.contentType, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set(s.header[0], s.header[1])
	for _, name := range slices.Sorted(maps.Keys(batch.headers)) {
		request.Header.Set(name, batch.headers[name])
	}
	return request, nil
}
