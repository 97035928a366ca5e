// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// fuzzAPI sends requests to the path. Messages conform to OTLP, the answer is a success or a defined error, and nothing
// is passed on twice.
func fuzzAPI(f *testing.F, path string) {
	f.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.Limits.InflatedBytes = 1 << 20
	cfg.Server.Get().LegacyFormats = true
	cfg.Server.Get().ResourceHeaders = map[string]string{"Content-Type": "service.name"}
	next := &sink{}
	r, err := newReceiver(receivertest.NewNopSettings(metadata.Type), cfg, next)
	require.NoError(f, err)
	handler := r.sections[0].(*server).handler()

	f.Fuzz(func(t *testing.T, body []byte, query, contentType, encoding string) {
		next.got, next.ctx = nil, nil
		request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		request.URL = &url.URL{Path: path, RawQuery: query}
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("Content-Encoding", encoding)
		request.Header.Set("X-Datadog-Additional-Tags", query)
		request.ProtoMajor = 2
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		require.NotEqual(t, http.StatusInternalServerError, response.Code, response.Body)
		require.LessOrEqual(t, len(next.got), 1)
		if status := response.Header().Get("Grpc-Status"); response.Code >= 300 || status != "" && status != "0" {
			require.True(t, response.Code == http.StatusOK || response.Code == http.StatusUnprocessableEntity || inTable(response.Code), "status %d", response.Code)
			require.NotEmpty(t, response.Body.String()+response.Header().Get("Grpc-Message"))
		}
		for _, message := range next.got {
			require.NoError(t, asInPprof.Check(message))
		}
	})
}

// inTable reports whether an answer has this status.
func inTable(status int) bool {
	for _, answer := range answers {
		if answer.status == status {
			return true
		}
	}
	return false
}

// addCaptures adds the captures of a client to the seeds, and a part of each.
func addCaptures(f *testing.F, client string) {
	f.Helper()
	for _, c := range profiletest.Captures(f) {
		if len(c.Body) > 0 && bytes.HasPrefix([]byte(c.Name), []byte(client)) {
			request, err := url.ParseRequestURI(string(bytes.Fields([]byte(c.StartLine))[1]))
			require.NoError(f, err)
			contentType := c.Header.Get("Content-Type")
			f.Add(c.Body, request.RawQuery, contentType, "")
			f.Add(c.Body[:len(c.Body)/2], request.RawQuery, contentType, "")
			f.Add(gz(f, c.Body), request.RawQuery, contentType, "gzip")
		}
	}
}

// addFormats adds a payload of each format to the seeds. query ends with the name of the parameter.
func addFormats(f *testing.F, query string) {
	f.Helper()
	for file, name := range map[string]string{
		"groups.txt": "folded", "lines.txt": "lines", "trie.bin": "trie", "tree.bin": "tree",
		"speedscope.json": "speedscope", "node.cpuprofile": "cpuprofile", "perf_wall.txt": "perf_script",
	} {
		f.Add(profiletest.Format(f, file), query+name, "", "")
	}
}

func FuzzHandler(f *testing.F) {
	valid := plain(f, cpuProfile(2))
	for _, body := range [][]byte{
		nil, valid, gz(f, valid), zs(f, gz(f, valid)), valid[:len(valid)/2], []byte(heapText), []byte("--- threadz 1 ---\n"),
		plain(f, cpuProfile(0)), append(bytes.Clone(valid), valid...),
	} {
		f.Add(body, "service.name=a&resource.b=c&profile.name=d", "", "")
		f.Add(body, "resource.=%zz&&=", "", "gzip")
	}
	addFormats(f, "sample_type=a/b&format=")
	for _, payload := range profiletest.ClientPayloads(f) {
		if len(payload.Data) < 4<<10 {
			f.Add(payload.Data, "", "", "")
		}
	}
	fuzzAPI(f, "/v1/pprof")
}

func FuzzIngest(f *testing.F) {
	addCaptures(f, "pyroscope-")
	valid := string(plain(f, cpuProfile(1)))
	f.Add(formOf("b", "profile", valid, "sample_type_config", `{"samples":{"display-name":"x"}}`), "name=a{b=c}&from=now-1h", multipartType, "")
	f.Add([]byte(valid), "name=a&format=pprof&from=20261121", "", "")
	f.Add([]byte("main;work 10\n"), "name=a", "binary/octet-stream+trie", "")
	addFormats(f, "name=a.cpu&format=")
	fuzzAPI(f, "/ingest")
}

func FuzzPush(f *testing.F) {
	addCaptures(f, "push-v1-")
	message := pushRequest(false, map[string]string{"service_name": "a"}, plain(f, cpuProfile(1)), []byte("bad"), nil)
	f.Add(message, "", "application/proto", "")
	f.Add(grpcFrame(0, message), "", "application/grpc+proto", "")
	fuzzAPI(f, pushPath)
}

func FuzzParca(f *testing.F) {
	message := pushRequest(true, map[string]string{"job": "a"}, plain(f, cpuProfile(1)), gz(f, plain(f, cpuProfile(2))))
	f.Add(message, "", "application/proto", "")
	f.Add(gz(f, message), "", "application/proto", "gzip")
	f.Add([]byte(`{"series":[{"labels":{"labels":[{"name":"a","value":"b"}]},"samples":[{"rawProfile":"CgA="}]}]}`), "", "application/json", "")
	fuzzAPI(f, parcaPath)
}

func FuzzDatadog(f *testing.F) {
	addCaptures(f, "dd-trace-go")
	valid := string(plain(f, cpuProfile(1)))
	f.Add(formOf("b", "cpu.pprof", valid, "x.json", "{}", "delta-mutex.pprof", string(zs(f, []byte(valid))), "event", event), "host:a", multipartType, "")
	f.Add(formOf("b", "main.jfr", "x", "event", `{"tags_profiler":"a:b"}`), "", multipartType, "")
	f.Add(formOf("b", "auto.jfr", string(jfrtest.Example().Bytes()), "event", event), "", multipartType, "")
	fuzzAPI(f, "/profiling/v1/input")
}

// TestQueryLinearTime: the time grows linearly with the query and with the labels in it.
func TestQueryLinearTime(t *testing.T) {
	profiletest.CheckLinear(t, "", "=b", []string{"&", "=", "%41", "%", "a=b&", "resource.a=b&", "service.name=a&", "+"}, func(query []byte) {
		_ = setFromQuery(&pprof.Source{Resource: pcommon.NewMap()}, string(query), nil)
	})
	profiletest.CheckLinear(t, "", "a:b", []string{"a:b,", "a:c,", ",", ":", "a"}, func(tags []byte) {
		source := pprof.Source{Resource: pcommon.NewMap()}
		list, _ := appendTags(nil, string(tags))
		setFromLabels(&source, list, nil)
	})
}
