// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Command speed writes the part of docs/performance.md that tells what an upload costs the built distribution, and how
// long a sender waits: the same profile by each API and to each output, from this process to a gateway in a process of its own.
//
// The yardstick is the work that no gateway can avoid, in this process, on the same bytes. Both sides are CPU time of a
// whole process, garbage collection included; they are measured by turns, so that what disturbs the machine disturbs
// both. With -base it compares two builds instead, and with -steady it writes docs/latency.md.
// It needs Linux, which tells the CPU time of other processes.
package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"mime/multipart"
	"os"
	"slices"
	"time"

	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", os.Getenv("OTELPPROF_BINARY"), "the built distribution")
	flag.StringVar(&o.configs, "configs", "../../config", "the folder of the shipped configurations")
	flag.StringVar(&o.base, "base", "", "another build: only compare the two, by turns")
	flag.StringVar(&o.baseConfigs, "base-configs", "../../config", "the configurations of the other build")
	flag.StringVar(&o.shipped, "shipped", "", "only measure these shipped configurations, such as gateway.yaml,agent.yaml")
	flag.StringVar(&o.variants, "variants", "", "measure each shipped configuration with each of these, separated by \";\": yaml:a::b: c, or NAME=value of the environment")
	flag.StringVar(&o.profile, "profile", "../../testdata/pprof/cpu.pb.gz", "what is uploaded")
	flag.IntVar(&o.rounds, "rounds", 6, "measurements of each route")
	flag.IntVar(&o.uploads, "uploads", 300, "uploads in one measurement")
	flag.IntVar(&o.senders, "senders", 16, "uploads under way at a time")
	flag.IntVar(&o.tenants, "tenants", 0, "values of the header X-Scope-OrgID, with -shipped")
	flag.DurationVar(&o.load, "load", 20*time.Second, "how long uploads begin at fixed times, for each load")
	flag.DurationVar(&o.steady, "steady", 0, "only measure the latency under a steady load for so long")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	profile, err := os.ReadFile(o.profile)
	if err != nil {
		return err
	}
	y, err := newYardsticks(profile, o.senders)
	if err != nil {
		return err
	}
	uploads, err := uploadsOf(y[0])
	if err != nil {
		return err
	}
	chosen, err := shippedOf(o.shipped, o.variants)
	if err != nil {
		return err
	}
	if o.base != "" {
		pairs := pairsOf(uploads, chosen)
		if o.shipped != "" {
			pairs = slices.DeleteFunc(pairs, func(p *pair) bool { return !p.shipped })
		}
		if err := measurePairs(o, pairs); err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(renderPairs(o, pairs))
		return errors.Join(err, checkPairs(pairs))
	}
	if o.steady > 0 {
		s, err := measureSteady(o, uploads[0])
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(renderSteady(o, len(profile), s))
		return err
	}
	if o.shipped != "" {
		results, err := measureShipped(o, y, uploads, chosen)
		if err != nil {
			return err
		}
		_, err = os.Stdout.WriteString(renderShipped(o, results))
		return err
	}
	results, of, err := measure(o, y, uploads)
	if err != nil {
		return err
	}
	configurations, err := measureShipped(o, y, uploads, chosen)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(render(o, len(profile), results) + renderShares(profiledOutputs, of) + renderShipped(o, configurations) +
		"\nMade by `go -C test/clients run ./speed`.\n")
	return err
}

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
