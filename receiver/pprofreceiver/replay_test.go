// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bufio"
	"bytes"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// capture returns the recorded bytes of a request.
func capture(tb testing.TB, name string) []byte {
	tb.Helper()
	head, err := os.ReadFile(profiletest.Testdata(tb, "clients", name+".headers.txt"))
	require.NoError(tb, err)
	body, err := os.ReadFile(profiletest.Testdata(tb, "clients", name+".body"))
	require.NoError(tb, err)
	lines := strings.ReplaceAll(strings.TrimRight(string(head), "\n")+"\n\n", "\n", "\r\n")
	return append([]byte(lines), body...)
}

// replay sends the bytes of a request over a new connection.
func (r *running) replay(tb testing.TB, request []byte) reply {
	tb.Helper()
	conn, err := net.Dial("tcp", r.address)
	require.NoError(tb, err)
	defer conn.Close()
	require.NoError(tb, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = conn.Write(request)
	require.NoError(tb, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(tb, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(tb, err)
	return reply{status: response.StatusCode, header: response.Header, text: string(text)}
}

// payloadsOf returns the pprofs of the captures with this prefix, by name and part.
func payloadsOf(tb testing.TB, prefix string) []profiletest.ClientPayload {
	tb.Helper()
	var all []profiletest.ClientPayload
	for _, payload := range profiletest.ClientPayloads(tb) {
		if strings.HasPrefix(payload.File, prefix) {
			all = append(all, payload)
		}
	}
	require.NotEmpty(tb, all)
	return all
}

// assertPayload compares the profiles of a payload with the known facts about it.
func assertPayload(t *testing.T, want profiletest.ClientPayload, dictionary pprofile.ProfilesDictionary, scope pprofile.ScopeProfiles) {
	t.Helper()
	sumsWanted := map[string]int64{}
	for i, sampleType := range want.SampleTypes {
		sumsWanted[sampleType] = want.ValueSums[i]
	}
	assert.Equal(t, sumsWanted, sumsOf(dictionary, scope))
	for _, profile := range scope.Profiles().All() {
		assert.EqualValues(t, want.Time, profile.Time())
		assert.EqualValues(t, want.Duration, profile.DurationNano())
		assert.Equal(t, want.Period, profile.Period())
	}
}

// sumsOf returns the sum of the values of each profile, by type/unit.
func sumsOf(dictionary pprofile.ProfilesDictionary, scope pprofile.ScopeProfiles) map[string]int64 {
	all := map[string]int64{}
	text := dictionary.StringTable()
	for _, profile := range scope.Profiles().All() {
		key := text.At(int(profile.SampleType().TypeStrindex())) + "/" + text.At(int(profile.SampleType().UnitStrindex()))
		all[key] += 0
		for _, sample := range profile.Samples().All() {
			for _, value := range sample.Values().All() {
				all[key] += value
			}
		}
	}
	return all
}

// profileNames returns the attribute profile.name of each profile.
func profileNames(dictionary pprofile.ProfilesDictionary, scope pprofile.ScopeProfiles) []string {
	var names []string
	for _, profile := range scope.Profiles().All() {
		name := ""
		for _, index := range profile.AttributeIndices().All() {
			attribute := dictionary.AttributeTable().At(int(index))
			if dictionary.StringTable().At(int(attribute.KeyStrindex())) == "profile.name" {
				name = attribute.Value().Str()
			}
		}
		names = append(names, name)
	}
	return names
}

// formOf returns a form with these fields: names and contents.
func formOf(boundary string, fields ...string) []byte {
	var body bytes.Buffer
	for i := 0; i < len(fields); i += 2 {
		body.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + fields[i] + "\"; filename=\"" + fields[i] +
			"\"\r\n\r\n" + fields[i+1] + "\r\n")
	}
	body.WriteString("--" + boundary + "--\r\n")
	return body.Bytes()
}

// formParts reads a form with the boundary b.
func formParts(tb testing.TB, body []byte, maxParts int) (parts []formPart, err error) {
	tb.Helper()
	s := &server{intake: &intake{limits: LimitsConfig{InflatedBytes: 1 << 20}}}
	return s.readForm(&requestMemory{Meter: &meter.Meter{}}, body, "b", maxParts)
}

// TestFormParts: the contents of the parts are whole, although they are moved within the body.
func TestFormParts(t *testing.T) {
	for _, size := range []int{0, 1, 100, 5_000, 100_000} {
		var body bytes.Buffer
		writer := multipart.NewWriter(&body)
		require.NoError(t, writer.SetBoundary("b"))
		var want []formPart
		for i, content := range []string{strings.Repeat("\r\n--b", size/5), strings.Repeat("x", size), strings.Repeat("--bb", size/4)} {
			name, file := string(rune('a'+i)), "cpu.pprof"
			to, err := writer.CreateFormFile(name, file)
			require.NoError(t, err)
			content = strings.ReplaceAll(content, "--b\r", "--b_\r") // This would be a delimiter.
			content = strings.TrimSuffix(content, "\r\n--b")
			_, err = to.Write([]byte(content))
			require.NoError(t, err)
			want = append(want, formPart{name: name, fileName: file, content: []byte(content)})
		}
		require.NoError(t, writer.Close())
		got, err := formParts(t, body.Bytes(), 3)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestFormRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want refusalClass
		says string
	}{
		"nothing":           {want: malformed, says: `boundary "b"`},
		"another boundary":  {text: "--c\n\n1\n--c--", want: malformed, says: `boundary "b"`},
		"truncated content": {text: "--b\nContent-Disposition: form-data; name=profile\n\n1", want: malformed, says: `part 1 of the form, "profile"`},
		"truncated header":  {text: "--b\nContent-Disposition: form-data", want: malformed, says: "part 1"},
		"no header line":    {text: "--b\nnonsense\n\n1\n--b--", want: malformed, says: "part 1"},
		"long header":       {text: "--b\n\n1\n--b\nX: " + strings.Repeat("x", 3*maxPartHeader) + "\n\n1\n--b--", want: tooLarge, says: "the header of a part of the form is larger than 8192 bytes"},
		"many parts":        {text: strings.Repeat("--b\n\n1\n", 11) + "--b--", want: tooLarge, says: "more than 10 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := formParts(t, []byte(strings.ReplaceAll(c.text, "\n", "\r\n")), 10)
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, c.want, classOf(err))
		})
	}
}

func TestFormBoundary(t *testing.T) {
	for contentType, want := range map[string]string{
		"multipart/form-data; boundary=b":                          "b",
		`Multipart/Form-Data; charset=utf-8; boundary="a b"`:       "a b",
		"multipart/form-data":                                      "error",
		"multipart/form-data; boundary=" + strings.Repeat("b", 71): "error",
		"multipart/form-data; boundary":                            "error",
		"multipart/mixed; boundary=b":                              "no form",
		"":                                                         "no form",
		"binary/octet-stream+trie":                                 "no form",
	} {
		got, isForm, err := formBoundary(contentType)
		switch {
		case err != nil:
			got = "error"
			assert.True(t, isForm, contentType)
		case !isForm:
			got = "no form"
		}
		assert.Equal(t, want, got, contentType)
	}
}

// TestFormHeaderMemory: a large header is not read to its end.
func TestFormHeaderMemory(t *testing.T) {
	body := []byte("--b\r\n" + strings.Repeat("X: 1\r\n", 100_000))
	assert.Less(t, memorytest.Allocated(func() {
		_, err := formParts(t, body, 1)
		assert.ErrorIs(t, err, errPartHeader)
	}), int64(1<<20))
}

func TestFormLinearTime(t *testing.T) {
	tokens := []string{" ", "\r\n", "\r\n--b", "--b", "--b ", "\r\n--b\t", "--b\r\n\r\n", "\r\n--b\r\n\r\na", "\r\n--b\r\nA: b\r\n\r\n", "\r\n--b\r\n\r\n\r\n", "-", "a"}
	for _, head := range []string{"", "--b\r\n\r\n", "--b\r\nContent-Disposition: form-data; name=\""} {
		profiletest.CheckLinear(t, head, "\r\n--b--", tokens, func(body []byte) { _, _ = formParts(t, body, len(body)) })
	}
}
