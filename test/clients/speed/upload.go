// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"mime/multipart"

	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"
)

// The receivers, as positions in the addresses of a gateway.
const (
	receiverPprof = iota
	receiverOTLP
	receiverSplunk
)

// upload is a request of one API. Its query has a verb for the number of the upload where it can have one.
type upload struct {
	api, path   string
	query       string
	contentType string
	receiver    int
	body        []byte
	// parts of the work on it that no gateway can avoid.
	parts []part
}

// uploadsOf returns requests with the profile as clients send it.
func uploadsOf(y *yardstick) ([]upload, error) {
	profile := y.payload
	form, formType, err := formOf(profile)
	if err != nil {
		return nil, err
	}
	message, err := proto.Marshal(&pushv1.PushRequest{Series: []*pushv1.RawProfileSeries{{
		Labels:  []*typesv1.LabelPair{{Name: "__name__", Value: "process_cpu"}, {Name: "service_name", Value: "speed"}, {Name: "pod", Value: "a"}},
		Samples: []*pushv1.RawSample{{RawProfile: profile}},
	}}})
	if err != nil {
		return nil, err
	}
	const protobuf = "application/x-protobuf"
	decoded := []part{inflate, fill}
	return []upload{
		{
			api: "raw pprof", path: "/v1/pprof", query: "?service.name=speed&resource.upload=%d",
			contentType: "application/octet-stream", body: profile, parts: decoded,
		},
		{
			api: "Pyroscope", path: "/ingest", query: "?name=speed%%7Bupload=%d%%7D&from=1700000000&until=1700000010&spyName=gospy",
			contentType: formType, body: form, parts: decoded,
		},
		{api: "push.v1", path: "/push.v1.PusherService/Push", contentType: "application/proto", body: message, parts: decoded},
		{
			api: "Splunk", path: "/v1/logs", contentType: protobuf, receiver: receiverSplunk, body: y.logs,
			parts: append([]part{unmarshalLogs}, decoded...),
		},
		{
			api: "OTLP", path: "/v1development/profiles", contentType: protobuf, receiver: receiverOTLP, body: y.message,
			parts: []part{fill},
		},
	}, nil
}

func formOf(profile []byte) (body []byte, contentType string, err error) {
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("profile", "profile.pprof")
	if err != nil {
		return nil, "", err
	}
	_, _ = part.Write(profile) // a buffer takes all
	err = writer.Close()
	return form.Bytes(), writer.FormDataContentType(), err
}

// logsOf returns a request with the profile as Splunk's agents send it.
func logsOf(profile []byte) ([]byte, error) {
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "speed")
	scope := resource.ScopeLogs().AppendEmpty()
	scope.Scope().SetName("otel.profiling")
	record := scope.LogRecords().AppendEmpty()
	for name, value := range map[string]string{
		"com.splunk.sourcetype": "otel.profiling", "profiling.data.format": "pprof-gzip-base64", "profiling.data.type": "cpu",
	} {
		record.Attributes().PutStr(name, value)
	}
	record.Body().SetStr(base64.StdEncoding.EncodeToString(profile))
	return (&plog.ProtoMarshaler{}).MarshalLogs(logs)
}
