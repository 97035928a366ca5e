// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/otelpprof/otelpprof/internal/testkit/gatewaytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// hostile is a text that moves the cursor, begins a line, leaves a directory, ends an element and is not UTF-8.
const hostile = "../x\n2026-01-01T00:00:00Z\terror\tforged\r\x1b[2J\x00\u202e\u2028<script>alert(1)</script>\"'&\xff"

// TestNothingRaw sends that text wherever a sender may put one, and looks at all that the gateway makes of it.
func TestNothingRaw(t *testing.T) {
	g := start(t, nil)
	p := must.Get(profile.ParseData(sample(t)))(t)
	p.SampleType[0].Type = hostile
	p.DefaultSampleType = hostile
	for _, f := range p.Function {
		f.Name, f.Filename = hostile, hostile
	}
	for _, s := range p.Sample {
		s.Label = map[string][]string{hostile: {hostile}}
	}
	var upload bytes.Buffer
	require.NoError(t, p.Write(&upload))

	query := url.Values{"service.name": {hostile}, "resource." + hostile: {hostile}, "profile.name": {hostile}}
	for path, body := range map[string][]byte{
		"/v1/pprof?" + query.Encode():                               upload.Bytes(),
		"/v1/pprof?service.name=plain":                              upload.Bytes(),
		"/v1/pprof?a;b&" + url.QueryEscape(hostile):                 upload.Bytes(),
		"/v1/pprof?service.name=broken":                             []byte(hostile),
		"/" + url.PathEscape(hostile):                               []byte(hostile),
		"/ingest?name=" + url.QueryEscape(hostile):                  upload.Bytes(),
		"/ingest?format=" + url.QueryEscape(hostile) + "&name=a":    upload.Bytes(),
		"/push.v1.PusherService/Push":                               []byte(hostile),
		"/profiling/v1/input":                                       []byte(hostile),
		"/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw": []byte(hostile),
	} {
		answer := g.send(t, http.MethodPost, g.pprof+path, body)
		assertTame(t, "the answer at "+path, strings.TrimSuffix(answer, "\n"))
	}
	g.send(t, http.MethodPost, g.http+"/v1/logs", splunkRecord(t))

	var list string
	require.Eventually(t, func() bool { // The profiles were accepted, and are on the pages soon after that.
		list = g.send(t, http.MethodGet, g.pages+"/plain?from=all", nil)
		return strings.Contains(list, "&lt;script&gt;") && strings.Contains(list, ">plain<")
	}, patience, 20*time.Millisecond, "the text is there, as a text")
	assert.NotContains(t, list, "<script>alert")
	links := regexp.MustCompile(`href="(plain/functions[^"]*)"`).FindAllStringSubmatch(list, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		path := "/" + strings.ReplaceAll(link[1], "&amp;", "&")
		page := g.send(t, http.MethodGet, g.pages+path, nil)
		assert.Contains(t, page, "Total ", path)
		assert.NotContains(t, page, "<script>alert", path)
		assert.NotContains(t, g.send(t, http.MethodGet, g.pages+strings.Replace(path, "plain/functions", "download/svg", 1), nil), "<script>alert", path)
	}
	require.NoError(t, g.Stop(patience)) // all files are written then
	assertPlain(t, g.directory)
	assert.Contains(t, g.Log(), "Refused a request")
	assert.Contains(t, g.Log(), "Refused profiling records")
	assertTameLog(t, g.Log())
}

// assertTameLog looks at each line of a log, and for one that a sender wrote.
func assertTameLog(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		assertTame(t, "the log", strings.TrimSuffix(line, "\n"))
		assert.NotRegexp(t, `^2026-01-01T`, line, "a line of the log that is not ours")
	}
}

// TestHostileBackend: what a backend answers reaches the log in the same way.
func TestHostileBackend(t *testing.T) {
	var listen net.ListenConfig
	backend := must.Get(listen.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer backend.Close()
	go func() {
		for {
			connection, err := backend.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(connection))
			_, _ = io.WriteString(connection, "HTTP/1.1 400 \x1b[2J\u202e\xff\r\nConnection: close\r\n\r\n"+hostile)
			connection.Close()
		}
	}()
	g := start(t, nil, "yaml:exporters: {pprof/push: {http: {endpoint: 'http://"+backend.Addr().String()+"'}}}",
		"yaml:service: {pipelines: {profiles: {exporters: [pprof/push]}}}")
	g.send(t, http.MethodPost, g.pprof+"/v1/pprof?service.name="+url.QueryEscape(hostile), sample(t))
	require.Eventually(t, func() bool { return strings.Contains(g.Log(), "Dropped profiles") }, patience, 50*time.Millisecond)
	require.NoError(t, g.Stop(patience))
	assertTameLog(t, g.Log())
}

// splunkRecord is a profiling record that cannot be read, of a resource that the warning names.
func splunkRecord(t *testing.T) []byte {
	t.Helper()
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	text := strings.ToValidUTF8(hostile, "")
	for _, key := range []string{"service.name", "host.name", "telemetry.sdk.name", "telemetry.distro.name", "telemetry.distro.version", text} {
		resource.Resource().Attributes().PutStr(key, text)
	}
	scope := resource.ScopeLogs().AppendEmpty()
	scope.Scope().SetName("otel.profiling")
	record := scope.LogRecords().AppendEmpty()
	record.Attributes().PutStr("profiling.data.format", "pprof-gzip-base64")
	record.Attributes().PutStr("profiling.data.type", "cpu")
	record.Body().SetStr(text)
	request := must.Get(plogotlp.NewExportRequestFromLogs(logs).MarshalProto())(t)
	return request
}

func (g *tester) send(t *testing.T, method, address string, body []byte) string {
	t.Helper()
	return gatewaytest.Send(t, method, "http://"+address, body, "Content-Type", "application/x-protobuf", "User-Agent", "\x80<script>").Text
}

// assertTame: UTF-8 without anything that a terminal obeys or that begins a line. Tabs part the columns of the log.
func assertTame(t *testing.T, what, text string) {
	t.Helper()
	assert.True(t, utf8.ValidString(text), "%s is not UTF-8: %q", what, text)
	for _, r := range text {
		if r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			assert.Fail(t, "an unprintable character", "%s has %U: %q", what, r, text)
			return
		}
	}
}

var plainName = regexp.MustCompile(`^[^\x00-\x1f\x7f\\/<>:"|?*]+$`)

// assertPlain: every name below a directory is one that every file system and shell takes.
func assertPlain(t *testing.T, directory string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == directory {
			return err
		}
		if !entry.IsDir() {
			files++
		}
		assert.Regexp(t, plainName, entry.Name())
		assert.NotEqual(t, byte('.'), entry.Name()[0], entry.Name())
		assertTame(t, "the name of a file", entry.Name())
		return nil
	}))
	assert.NotZero(t, files)
}
