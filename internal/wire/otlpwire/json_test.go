// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJSON: bodies of many small entries need at most the counted memory. The count does not know the types of fields, so it
// is up to five times as much.
func TestJSON(t *testing.T) {
	times := func(entry string) string {
		return strings.TrimSuffix(strings.Repeat(entry+",", entriesEach), ",")
	}
	for name, test := range map[string]struct {
		signal Signal
		body   string
	}{
		"resources":    {Logs, `{"resourceLogs":[` + times(`{}`) + `]}`},
		"spans":        {Traces, `{"resourceSpans":[{"scopeSpans":[{"spans":[` + times(`{}`) + `]}]}]}`},
		"attributes":   {Traces, `{"resourceSpans":[{"resource":{"attributes":[` + times(`{}`) + `]}}]}`},
		"values":       {Logs, `{"resourceLogs":[{"resource":{"attributes":[` + times(`{"key":"a","value":{"intValue":"1"}}`) + `]}}]}`},
		"exponentials": {Metrics, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"exponentialHistogram":{"dataPoints":[` + times(`{}`) + `]}}]}]}]}`},
		"metrics":      {Metrics, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[` + times(`{"exponentialHistogram":{}}`) + `]}]}]}`},
		"strings":      {Profiles, `{"dictionary":{"stringTable":[` + times(`""`) + `]}}`},
		"words":        {Profiles, `{"dictionary":{"stringTable":[` + times(`"some word"`) + `]}}`},
		"escapes":      {Profiles, `{"dictionary":{"stringTable":["` + strings.Repeat(`\u0041`, entriesEach) + `"]}}`},
		"quotes":       {Profiles, `{"dictionary":{"stringTable":[` + times(`"\""`) + `]}}`},
		"indices":      {Profiles, `{"dictionary":{"stackTable":[{"locationIndices":[` + times(`1`) + `]}]}}`},
		"counts":       {Metrics, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"histogram":{"dataPoints":[{"bucketCounts":[` + times(`"1"`) + `]}]}}]}]}]}`},
		"base64":       {Profiles, `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"originalPayload":"` + strings.Repeat("AAAA", 20*entriesEach) + `"}]}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			counted, err := CountJSON(body)
			require.NoError(t, err)
			checkHeld(t, 5, test.signal, body, counted, jsonBody)
		})
	}
}

func TestJSONNesting(t *testing.T) {
	body := func(levels int, begin, end string) []byte {
		return []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"key":"a","value":` +
			strings.Repeat(begin, levels) + `{"stringValue":"x"}` + strings.Repeat(end, levels) + `}]}]}]}]}`)
	}
	list, listEnd := `{"kvlistValue":{"values":[{"key":"k","value":`, `}]}}`
	array, arrayEnd := `{"arrayValue":{"values":[`, `]}}`
	for _, good := range [][]byte{
		body(32, list, listEnd), body(32, array, arrayEnd), []byte(`{"a":"` + strings.Repeat(`[{\"`, 1000) + `"}`),
		[]byte(`[` + strings.Repeat(`{"key":"arrayValue"},{"arrayValue":[{}]},`, 40) + `{}]`), []byte(strings.Repeat(`]`, 1000)),
	} {
		_, err := CountJSON(good)
		require.NoError(t, err)
	}
	for _, bad := range [][]byte{body(33, list, listEnd), body(33, array, arrayEnd), body(33, strings.ReplaceAll(array, "arrayValue", "array_value"), arrayEnd), []byte(strings.Repeat("[", 1<<20))} {
		_, err := CountJSON(bad)
		require.ErrorIs(t, err, ErrTooDeep)
	}
}
