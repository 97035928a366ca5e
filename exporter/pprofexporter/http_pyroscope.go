// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"fmt"
	"math"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// maxTypes limits the names and units of the sample types of a pprof, in bytes. The configuration repeats a text that types share for each of
// them, and no server takes a very long one.
const maxTypes = 64 << 10

func checkTypes(types []pprof.SampleType) error {
	length := 0
	for _, t := range types {
		if length += len(t.Name) + len(t.Unit); length > maxTypes {
			return &delivery.Refusal{
				Reason: delivery.ReasonTooLarge, Err: fmt.Errorf("the names and units of its sample types have more than %d bytes", maxTypes),
			}
		}
	}
	return nil
}

// addForm makes the same request to Pyroscope's /ingest as Pyroscope's Go client.
func (d *httpDestination) addForm(batch *httpBatch, payload *pprof.Payload) error {
	if err := checkTypes(payload.SampleTypes); err != nil {
		return err
	}
	compressed, err := d.gzip(batch, payload)
	if err != nil {
		return err
	}
	config := series.SampleTypeConfig(payload.ProfileType, payload.SampleTypes)
	if err := batch.grow(len(compressed) + len(config) + formBytes); err != nil {
		return err
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
	labels := d.labels(batch, payload, series.Name)
	target := d.target("/ingest")
	target.RawQuery = ingestQuery(payload, labels).Encode()
	headers, err := d.resourceHeaders(payload, new(attributes))
	if err != nil {
		return err
	}
	batch.target, batch.body, batch.headers = target.String(), body.Bytes(), headers
	batch.header = http.Header{"Content-Type": {form.FormDataContentType()}}
	batch.count(payload, labels.Dropped)
	return nil
}

// formBytes is more than the size of the headers and boundaries of a form.
const formBytes = 2 << 10

// ingestQuery returns the same query parameters as Pyroscope's Go client sends.
func ingestQuery(payload *pprof.Payload, labels *series.Labels) url.Values {
	from := uint64(payload.Time)
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	until := from + payload.DurationNano
	if until < from { // the sum overflows
		until = math.MaxUint64
	}
	profiler := labels.Profiler
	if profiler == "" {
		profiler = "otelpprof"
	}
	return url.Values{
		"name":    {labels.IngestName()},
		"from":    {strconv.FormatUint(from, 10)},
		"until":   {strconv.FormatUint(until, 10)},
		"spyName": {profiler},
		// Pyroscope expects these, but does not use them for pprof.
		"sampleRate":      {"100"},
		"units":           {""},
		"aggregationType": {""},
	}
}
