// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pause is the time before an upload is sent again that was refused for now.
const pause = 50 * time.Millisecond

// sender has several uploads under way at a time.
type sender struct {
	client *http.Client
	at     int
	// tenants is the number of values of the header X-Scope-OrgID. With 0 there is no header.
	tenants int
	// sent counts all uploads, so that each has a number of its own.
	sent int
}

// send sends an upload to an address this many times.
func (s *sender) send(address string, u upload, count int) error {
	return (&schedule{senders: s.at}).run(s, address, u, 0, count)
}

// sendOne sends one upload, again and again while the gateway is busy.
func (s *sender) sendOne(address string, u upload, number int) error {
	query := u.query
	if strings.Contains(query, "%d") {
		query = fmt.Sprintf(query, number)
	}
	for {
		status, text, err := s.post("http://"+address+u.path+query, u, number)
		switch {
		case err != nil:
			return err
		case status/100 == 2:
			return nil
		case status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return fmt.Errorf("status %d: %s", status, text)
		}
		time.Sleep(pause)
	}
}

func (s *sender) post(url string, u upload, number int) (status int, text []byte, err error) {
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(u.body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", u.contentType)
	if s.tenants > 0 {
		request.Header.Set("X-Scope-OrgID", strconv.Itoa(number%s.tenants))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// output is where a gateway sends profiles.
type output struct {
	name string
	// pipeline has the exporters, and the processors where there are any.
	pipeline string
	parts    []part
}

// route is one path through a gateway: an API, and an output.
type route struct {
	upload upload
	output output
}

// The outputs. The first one is for the cost of a receiver alone.
var (
	dropped = output{name: "dropped", pipeline: `
exporters:
  nop:
service:
  pipelines:
    profiles: {exporters: [nop]}
`}
	otlp = output{name: "OTLP", pipeline: `
processors:
  profile_deduplicator:
exporters:
  otlp_http: {endpoint: "http://%[6]s", compression: zstd, compression_params: {level: 1}, sending_queue: {enabled: false}}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [otlp_http]}
`, parts: []part{marshal, compress}}
	files = output{name: "files", pipeline: `
processors:
  profile_deduplicator:
exporters:
  pprof: {file: {directory: %[7]s/profiles}}
service:
  pipelines:
    profiles: {processors: [profile_deduplicator], exporters: [pprof]}
`, parts: []part{marshal, writeFile}}
)

var outputs = []output{dropped, otlp, files}

// routesOf returns each API with an output that costs nothing and with OTLP, and the first API with files.
func routesOf(uploads []upload) (routes []route) {
	for _, u := range uploads {
		routes = append(routes, route{u, dropped}, route{u, otlp})
	}
	return append(routes, route{uploads[0], files})
}

// gatewayConfig has all receivers. Its addresses are those of the receivers of pprof, OTLP and Splunk's records, of
// health_check, of the profiler and of the destination; the last values are a directory, and the address of pages.
const gatewayConfig = `yaml:
receivers:
  pprof: {server: {endpoint: "%[1]s"}}
  otlp: {protocols: {http: {endpoint: "%[2]s"}}}
  splunk_log_profile: {protocols: {http: {endpoint: "%[3]s"}}}
extensions:
  health_check: {endpoint: "%[4]s"}
  pprof: {endpoint: "%[5]s"}
  file_storage: {directory: "%[7]s"}
service:
  extensions: [health_check, pprof, file_storage]
  pipelines:
    profiles: {receivers: [pprof, otlp, splunk_log_profile]}
  telemetry: {metrics: {level: none}}
`
