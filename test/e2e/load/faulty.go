// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
)

// Reason identifies a kind of refusal, as in the metrics of the gateway.
type Reason struct {
	// API is the attribute api, or "splunk" for log records.
	API string
	// Name is the attribute reason.
	Name string
}

func (r Reason) String() string { return r.API + " " + r.Name }

// invalid is a kind of invalid upload.
type invalid struct {
	reason Reason
	// status and text are expected in the answer.
	status int
	text   string
	// partial is true if a part of the upload is valid, and must be accepted.
	partial bool
	request func(u *Uploads, number int) (request, error)
}

// maxProfiles is the limit of a request, limits.payloads.
const maxProfiles = 256

// invalids are all kinds of invalid uploads. They are sent in this order, repeatedly.
var invalids = []invalid{
	{
		reason: Reason{"pprof", "malformed"}, status: 400, text: "gzip",
		request: func(u *Uploads, number int) (request, error) {
			return request{path: "/v1/pprof" + query(number), body: u.payload(number)[:100]}, nil
		},
	},
	{
		reason: Reason{"pprof", "not_pprof"}, status: 415, text: "server.legacy_formats: true allows",
		request: func(_ *Uploads, number int) (request, error) {
			return request{path: "/v1/pprof" + query(number), body: []byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1\n")}, nil
		},
	},
	{
		reason: Reason{"pprof", "unknown_encoding"}, status: 415, text: "unsupported Content-Encoding: br",
		request: func(u *Uploads, number int) (request, error) {
			return request{path: "/v1/pprof" + query(number), encoding: "br", body: u.payload(number)}, nil
		},
	},
	{
		reason: Reason{"pyroscope_ingest", "bad_query"}, status: 400, text: "names no application",
		request: func(u *Uploads, number int) (request, error) {
			return request{path: fmt.Sprintf("/ingest?format=pprof&name=%%7Bupload=%d%%7D", number), body: u.payload(number)}, nil
		},
	},
	{
		reason: Reason{"pyroscope_ingest", "unknown_format"}, status: 415, text: "is not supported, only",
		request: func(u *Uploads, number int) (request, error) {
			return request{path: "/ingest?format=perf.data&name=" + service(number), body: u.payload(number)}, nil
		},
	},
	{
		reason: Reason{"pyroscope_push", "malformed"}, status: 400, text: "1 of 2 profiles refused, the others are accepted: series[1].samples[0]", partial: true,
		request: func(u *Uploads, number int) (request, error) {
			return request{path: pushPath, contentType: typeConnect, body: pushRequest(number, u.payload(number), u.payload(number + 1)[:100])}, nil
		},
	},
	{
		reason: Reason{"pyroscope_push", "too_large"}, status: 413, text: "more than 256 profiles",
		request: func(u *Uploads, number int) (request, error) {
			sample := appendSample(nil, []byte("x"))
			body := appendField(nil, 1, bytes.Repeat(sample, maxProfiles+1))
			return request{path: pushPath, contentType: typeConnect, body: body}, nil
		},
	},
	{
		reason: Reason{"parca", "malformed"}, status: 400, text: "malformed message",
		request: func(u *Uploads, number int) (request, error) {
			message := u.parcaMessage(number)
			return request{path: parcaPath, contentType: typeConnect, body: message[:len(message)/2]}, nil
		},
	},
	{
		reason: Reason{"datadog", "malformed"}, status: 400, text: "malformed JFR recording",
		request: func(_ *Uploads, number int) (request, error) {
			return datadogForm(number, file{"main.jfr", []byte("FLR\x00")})
		},
	},
	{
		reason: Reason{"unknown", "unknown_path"}, status: 404, text: "unknown path",
		request: func(u *Uploads, number int) (request, error) {
			return request{path: "/v2/pprof" + query(number), body: u.payload(number)}, nil
		},
	},
	{
		reason: Reason{"splunk", "base64"}, status: 400, text: "base64",
		request: func(u *Uploads, number int) (request, error) {
			logs := u.logsOf(number)
			// One record, since records are counted.
			records := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
			records.At(0).Body().SetStr("no base64!")
			records.RemoveIf(func(r plog.LogRecord) bool { return r.Body().Str() != "no base64!" })
			return logsRequest(logs)
		},
	},
}

// invalidOf returns the kind of an upload with protocolInvalid. There are two in each cycle.
func invalidOf(number int) *invalid { return &invalids[number/(Cycle/2)%len(invalids)] }

// MustRefuse reports whether an upload must be rejected permanently, and the reason.
func MustRefuse(number int) (reason Reason, must bool) {
	if protocolOf(number) != protocolInvalid {
		return Reason{}, false
	}
	return invalidOf(number).reason, true
}

// Check returns an error unless the upload was accepted or rejected as expected, with a text that has the right reason.
func Check(o *Outcome) error {
	reason, must := MustRefuse(o.Number)
	switch {
	case must != (o.Refused != ""):
		return fmt.Errorf("upload %d was answered %q, it must be refused: %v %v", o.Number, o.Refused, must, reason)
	case !must:
		return nil
	}
	f := invalidOf(o.Number)
	if status := fmt.Sprintf("%d ", f.status); !strings.HasPrefix(o.Refused, status) || !strings.Contains(o.Refused, f.text) {
		return fmt.Errorf("upload %d was refused for the wrong reason: %q, want %s, status %d and %q", o.Number, o.Refused, reason, f.status, f.text)
	}
	return nil
}
