// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/placeholder"
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// common is what the formats share.
type common struct {
	cfg      *HTTPConfig
	endpoint *url.URL
	headers  map[string]placeholder.Template
}

func newCommon(cfg *HTTPConfig) (common, error) {
	endpoint, err := parseEndpoint(cfg)
	if err != nil {
		return common{}, err
	}
	headers, err := parseAll(cfg.ResourceHeaders)
	return common{cfg: cfg, endpoint: endpoint, headers: headers}, err
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

// request makes a request of one body. A header with a placeholder that the resource has nothing for is left out.
func (c *common) request(target string, body []byte, contentType string, payload *pprof.Payload) (*http.Request, error) {
	request, err := http.NewRequest(http.MethodPost, target, bytes.NewReader(body)) //nolint:noctx // the destination adds it
	if err != nil {
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	request.Header.Set("Content-Type", contentType)
	for name, value := range c.resourceHeaders(payload) {
		request.Header.Set(name, value)
	}
	return request, nil
}

func (c *common) resourceHeaders(payload *pprof.Payload) map[string]string {
	if payload == nil {
		return nil
	}
	values := make(map[string]string, len(c.headers))
	for name, template := range c.headers {
		if value, found := template.Fill(payload, headerValue); found {
			values[name] = value
		}
	}
	return values
}

func (c *common) labels(payload *pprof.Payload, name func(key string) string) series.Labels {
	return series.Of(payload.Resource.Attributes(), c.cfg.Labels.Max, c.cfg.Labels.First, name)
}

func (c *common) gzip(batch *httpBatch, payload *pprof.Payload) ([]byte, error) {
	body, err := pprof.AppendGzipReserving(nil, payload.Pprof, c.cfg.CompressionLevel, batch.reserveGzip)
	if err != nil {
		return nil, memoryError(err, payload)
	}
	return body, nil
}

// target is the endpoint with a path at its end.
func (c *common) target(path string) url.URL {
	target := *c.endpoint
	target.Path = strings.TrimSuffix(target.Path, "/") + path
	target.RawPath = ""
	return target
}

// rawSender posts each gzipped pprof as it is.
type rawSender struct {
	common
	path  placeholder.Template
	query map[string]placeholder.Template
}

func newRawSender(cfg *HTTPConfig) (*rawSender, error) {
	c, err := newCommon(cfg)
	if err != nil {
		return nil, err
	}
	path, err := placeholder.Parse(c.endpoint.Path)
	if err != nil {
		return nil, err
	}
	query, err := parseAll(cfg.Query)
	return &rawSender{common: c, path: path, query: query}, err
}

func (s *rawSender) add(batch *httpBatch, payload *pprof.Payload) (*http.Request, error) {
	body, err := s.gzip(batch, payload)
	if err != nil {
		return nil, err
	}
	target := *s.endpoint
	target.Path, _ = s.path.Fill(payload, pathSegment)
	target.RawPath = ""
	query := target.Query()
	for name, template := range s.query {
		if value, found := template.Fill(payload, func(text string) string { return text }); found {
			query.Set(name, value)
		}
	}
	if s.cfg.QueryResource {
		for key, value := range payload.Resource.Attributes().All() {
			if key != series.ServiceName || !query.Has(key) {
				query.Set("resource."+key, attributevalue.Text(value))
			}
		}
	}
	target.RawQuery = query.Encode()
	batch.note(payload, 0)
	return s.request(target.String(), body, "application/octet-stream", payload)
}

func (s *rawSender) flush(*httpBatch) (*http.Request, error) { return nil, nil } //nolint:nilnil // nothing waits

// pathSegment keeps a value to one segment of a path.
func pathSegment(value string) string {
	value = strings.NewReplacer("/", "_", "\\", "_").Replace(value)
	if value == "." || value == ".." {
		return strings.Repeat("_", len(value))
	}
	return value
}
