// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/placeholder"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/wire/deflate"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

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

// resourceHeaders returns the headers with the values of a payload, but none that lacks the value of one of its placeholders. taken counts
// the values.
func (d *httpDestination) resourceHeaders(payload *pprof.Payload, taken *attributes) (map[string]string, error) {
	values := make(map[string]string, len(d.headers))
	for name, template := range d.headers {
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
func (d *httpDestination) labels(batch *httpBatch, payload *pprof.Payload, name func(key string) string) *series.Labels {
	if batch.labels == nil || batch.labeled != payload.ResourceIndex {
		labels := series.Of(payload.Resource.Attributes(), d.cfg.Labels.Max, d.cfg.Labels.First, name)
		batch.labels, batch.labeled = &labels, payload.ResourceIndex
	}
	return batch.labels
}

func (d *httpDestination) gzip(batch *httpBatch, payload *pprof.Payload) ([]byte, error) {
	body, err := deflate.Append(nil, payload.Pprof, d.cfg.CompressionLevel, meter.New(0, batch.forGzip))
	if err != nil {
		return nil, memoryError(err)
	}
	return body, nil
}

// target returns the endpoint with a path appended.
func (d *httpDestination) target(path string) url.URL {
	target := *d.endpoint
	target.Path = strings.TrimSuffix(target.Path, "/") + path
	target.RawPath = ""
	return target
}

// addRaw makes the gzipped pprof the body of a request.
func (d *httpDestination) addRaw(batch *httpBatch, payload *pprof.Payload) error {
	body, err := d.gzip(batch, payload)
	if err != nil {
		return err
	}
	var taken attributes
	target := *d.endpoint
	target.Path, _ = d.path.Fill(payload, func(text string) string { return pathSegment(taken.take(text)) })
	target.RawPath = ""
	query := target.Query()
	for name, template := range d.query {
		if value, found := template.Fill(payload, taken.take); found {
			query.Set(name, value)
		}
	}
	if d.cfg.QueryResource {
		for key, value := range payload.Resource.Attributes().All() {
			if taken.err() != nil {
				break
			}
			if key != attributevalue.ServiceName || !query.Has(key) {
				query.Set("resource."+taken.take(key), taken.take(attributevalue.Text(value)))
			}
		}
	}
	headers, err := d.resourceHeaders(payload, &taken)
	if err != nil {
		return err
	}
	target.RawQuery = query.Encode()
	batch.target, batch.body, batch.headers = target.String(), body, headers
	batch.header = http.Header{"Content-Type": {"application/octet-stream"}}
	batch.count(payload, 0)
	return nil
}

// pathSegment replaces what would make a value more, or other, than one segment of a path.
func pathSegment(value string) string {
	value = strings.NewReplacer("/", "_", "\\", "_").Replace(value)
	if value == "." || value == ".." {
		return strings.Repeat("_", len(value))
	}
	return value
}
