// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"bytes"
	"fmt"
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
	"github.com/otelpprof/otelpprof/exporter/pprofexporter/internal/textplate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// common is what the formats share.
type common struct {
	cfg      *HTTPConfig
	endpoint *url.URL
	headers  map[string]*textplate.Template
}

func newCommon(cfg *HTTPConfig) (common, error) {
	endpoint, err := parseEndpoint(cfg)
	if err != nil {
		return common{}, err
	}
	headers, err := parseAll(cfg.ResourceHeaders)
	return common{cfg: cfg, endpoint: endpoint, headers: headers}, err
}

func parseAll(texts map[string]string) (map[string]*textplate.Template, error) {
	templates := make(map[string]*textplate.Template, len(texts))
	for key, text := range texts {
		template, err := textplate.Parse(text)
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

func (c *common) labels(payload *pprof.Payload) series.Labels {
	return series.Of(payload.Resource.Attributes(), c.cfg.Labels.Max, c.cfg.Labels.First)
}

func (c *common) gzip(payload *pprof.Payload) ([]byte, error) {
	body, err := pprof.AppendGzip(nil, payload.Pprof, c.cfg.CompressionLevel)
	if err != nil {
		return nil, &refusal{reason: refusedInvalid, profiles: payload.Profiles, err: err}
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
	path  *textplate.Template
	query map[string]*textplate.Template
}

func newRawSender(cfg *HTTPConfig) (*rawSender, error) {
	c, err := newCommon(cfg)
	if err != nil {
		return nil, err
	}
	path, err := textplate.Parse(c.endpoint.Path)
	if err != nil {
		return nil, err
	}
	query, err := parseAll(cfg.Query)
	return &rawSender{common: c, path: path, query: query}, err
}

func (s *rawSender) add(batch *outgoing, payload *pprof.Payload) (*http.Request, error) {
	body, err := s.gzip(payload)
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
				query.Set("resource."+key, value.AsString())
			}
		}
	}
	target.RawQuery = query.Encode()
	batch.note(payload, 0)
	return s.request(target.String(), body, "application/octet-stream", payload)
}

func (s *rawSender) flush(*outgoing) (*http.Request, error) { return nil, nil } //nolint:nilnil // nothing waits

// pathSegment keeps a value to one segment of a path.
func pathSegment(value string) string {
	value = strings.NewReplacer("/", "_", "\\", "_").Replace(value)
	if value == "." || value == ".." {
		return strings.Repeat("_", len(value))
	}
	return value
}

// ingestSender posts to Pyroscope's /ingest what its Go client would.
type ingestSender struct{ common }

func newIngestSender(cfg *HTTPConfig) (*ingestSender, error) {
	c, err := newCommon(cfg)
	return &ingestSender{common: c}, err
}

func (s *ingestSender) add(batch *outgoing, payload *pprof.Payload) (*http.Request, error) {
	types, err := summary.SampleTypes(payload.Pprof)
	if err != nil {
		return nil, &refusal{reason: refusedInvalid, profiles: payload.Profiles, err: err}
	}
	compressed, err := s.gzip(payload)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	// Writing to a buffer cannot fail.
	part, _ := form.CreateFormFile("profile", "profile.pprof")
	_, _ = part.Write(compressed)
	if config := series.SampleTypeConfig(payload.ProfileType, types); config != nil {
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
		"name":       {labels.IngestName()},
		"from":       {strconv.FormatUint(from, 10)},
		"until":      {strconv.FormatUint(from+payload.DurationNano, 10)},
		"spyName":    {profiler},
		"sampleRate": {"100"}, // of no meaning for pprof, but expected
	}
}

// pushSender posts several series at a time.
type pushSender struct{ common }

func newPushSender(cfg *HTTPConfig) (*pushSender, error) {
	c, err := newCommon(cfg)
	return &pushSender{common: c}, err
}

func (s *pushSender) add(batch *outgoing, payload *pprof.Payload) (*http.Request, error) {
	types, err := summary.SampleTypes(payload.Pprof)
	if err != nil {
		return nil, &refusal{reason: refusedInvalid, profiles: payload.Profiles, err: err}
	}
	compressed, err := s.gzip(payload)
	if err != nil {
		return nil, err
	}
	labels := s.labels(payload)
	list := append(slices.Clip(labels.List),
		series.Label{Name: "__name__", Value: series.MetricName(payload.ProfileType, types)},
		series.Label{Name: series.LabelService, Value: labels.Service},
	)
	if labels.Profiler != "" {
		list = append(list, series.Label{Name: series.Spy, Value: labels.Profiler})
	}
	slices.SortFunc(list, func(a, b series.Label) int { return strings.Compare(a.Name, b.Name) })
	if batch.headers == nil {
		batch.headers = s.resourceHeaders(payload)
	}
	batch.body = pushv1.AppendSeries(batch.body, list, compressed, identity(*payload))
	batch.note(payload, labels.Dropped)
	if len(batch.contents) < s.cfg.MaxSeriesPerRequest && len(batch.body) < s.cfg.MaxRequestBytes {
		return nil, nil //nolint:nilnil // it waits for more
	}
	return s.flush(batch)
}

func (s *pushSender) flush(batch *outgoing) (*http.Request, error) {
	if len(batch.contents) == 0 {
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
