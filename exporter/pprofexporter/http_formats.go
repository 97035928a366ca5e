// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/placeholder"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// baseSender is the part that all formats share.
type baseSender struct {
	cfg      *HTTPConfig
	endpoint *url.URL
	headers  map[string]placeholder.Template
}

func parseAll(texts map[string]string) (map[string]placeholder.Template, error) {
	templates := make(map[string]placeholder.Template, len(texts))
	for key, text := range texts {
		template, err := placeholder.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		templates[key] = template
	}
	return templates, nil
}

// newRequest returns a request with the body and headers. Resource headers replace those of the format.
func newRequest(target string, body []byte, ofFormat http.Header, ofResource map[string]string) (*http.Request, error) {
	request, err := http.NewRequest(http.MethodPost, target, bytes.NewReader(body)) //nolint:noctx // the destination adds it
	if err != nil {
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	request.Header = ofFormat.Clone()
	for _, name := range slices.Sorted(maps.Keys(ofResource)) {
		request.Header.Set(name, ofResource[name])
	}
	return request, nil
}

// resourceHeaders returns the headers with the values of a payload, but none that lacks the value of one of its placeholders. taken counts
// the values.
func (s *baseSender) resourceHeaders(payload *pprof.Payload, taken *attributes) (map[string]string, error) {
	values := make(map[string]string, len(s.headers))
	for name, template := range s.headers {
		if value, found := template.Fill(payload, func(text string) string { return headerValue(taken.take(text)) }); found {
			values[name] = value
		}
	}
	return values, taken.err()
}

// maxAttributes limits the attributes in the URL and the headers of a request, in bytes. Servers refuse more, which would be copied for
// each pprof.
const maxAttributes = 1 << 20

// attributes counts the bytes of attributes in the URL and the headers of a request.
type attributes int

// take counts a text, and returns it, or nothing if there are too many bytes.
func (a *attributes) take(text string) string {
	if *a += attributes(len(text)); *a > maxAttributes {
		return ""
	}
	return text
}

func (a attributes) err() error {
	if a <= maxAttributes {
		return nil
	}
	return &delivery.Refusal{
		Reason: delivery.ReasonTooLarge,
		Err:    fmt.Errorf("endpoint, query, query_resource and resource_headers: the attributes have more than %d bytes", maxAttributes),
	}
}

// labels returns the labels of the resource of a payload. They must not be changed.
func (s *baseSender) labels(batch *httpBatch, payload *pprof.Payload, name func(key string) string) *series.Labels {
	if batch.labels == nil || batch.labeled != payload.ResourceIndex {
		labels := series.Of(payload.Resource.Attributes(), s.cfg.Labels.Max, s.cfg.Labels.First, name)
		batch.labels, batch.labeled = &labels, payload.ResourceIndex
	}
	return batch.labels
}

func (s *baseSender) gzip(batch *httpBatch, payload *pprof.Payload) ([]byte, error) {
	body, err := pprof.AppendGzipMetered(nil, payload.Pprof, s.cfg.CompressionLevel, meter.New(0, batch.forGzip))
	if err != nil {
		return nil, memoryError(err)
	}
	return body, nil
}

// flush is that of the formats with one payload in a request: add has returned it.
func (s *baseSender) flush(*httpBatch) (*http.Request, error) { return nil, nil } //nolint:nilnil // no payload is left

// target returns the endpoint with a path appended.
func (s *baseSender) target(path string) url.URL {
	target := *s.endpoint
	target.Path = strings.TrimSuffix(target.Path, "/") + path
	target.RawPath = ""
	return target
}

// rawSender sends each gzipped pprof as the body of one request.
type rawSender struct {
	baseSender
	path  placeholder.Template
	query map[string]placeholder.Template
}

func newRawSender(base baseSender) (*rawSender, error) {
	path, err := placeholder.Parse(base.endpoint.Path)
	if err != nil {
		return nil, err
	}
	query, err := parseAll(base.cfg.Query)
	return &rawSender{baseSender: base, path: path, query: query}, err
}

func (s *rawSender) add(batch *httpBatch, payload *pprof.Payload) (*http.Request, error) {
	body, err := s.gzip(batch, payload)
	if err != nil {
		return nil, err
	}
	var taken attributes
	target := *s.endpoint
	target.Path, _ = s.path.Fill(payload, func(text string) string { return pathSegment(taken.take(text)) })
	target.RawPath = ""
	query := target.Query()
	for name, template := range s.query {
		if value, found := template.Fill(payload, taken.take); found {
			query.Set(name, value)
		}
	}
	if s.cfg.QueryResource {
		for key, value := range payload.Resource.Attributes().All() {
			if taken.err() != nil {
				break
			}
			if key != attributevalue.ServiceName || !query.Has(key) {
				query.Set("resource."+taken.take(key), taken.take(attributevalue.Text(value)))
			}
		}
	}
	headers, err := s.resourceHeaders(payload, &taken)
	if err != nil {
		return nil, err
	}
	target.RawQuery = query.Encode()
	batch.count(payload, 0)
	return newRequest(target.String(), body, http.Header{"Content-Type": {"application/octet-stream"}}, headers)
}

// pathSegment replaces what would make a value more, or other, than one segment of a path.
func pathSegment(value string) string {
	value = strings.NewReplacer("/", "_", "\\", "_").Replace(value)
	if value == "." || value == ".." {
		return strings.Repeat("_", len(value))
	}
	return value
}
