// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

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
