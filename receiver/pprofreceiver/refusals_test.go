// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// refused is a request that is refused.
type refused struct {
	// target is the path and query. In a table of one path it is what follows that path.
	target  string
	body    []byte
	headers []string
	status  int
	// reason is that of the metric.
	reason string
	// says is a part of the text.
	says string
}

// connectCodes are the codes of Connect and Pyroscope for the reasons of refusals.
var connectCodes = map[string]string{
	"bad_query": "invalid_argument", "malformed": "invalid_argument", "unknown_format": "invalid_argument", "not_pprof": "invalid_argument",
	"too_large": "resource_exhausted", "unknown_encoding": "unimplemented",
}

// checkRefusals sends requests that are refused. Each answer has the form of its API, the refusal is counted, and nothing is passed on.
func checkRefusals(t *testing.T, path string, change func(*Config, *ServerConfig), rows map[string]refused) {
	t.Helper()
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			r := run(t, change)
			got := r.post(t, path+c.target, c.body, c.headers...)
			assert.Equal(t, c.status, got.status, got.text)
			text := got.text
			if strings.HasPrefix(path+c.target, "/ingest") || strings.HasPrefix(path, pushPath) {
				assert.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
				answer := connectError(t, got)
				assert.Equal(t, connectCodes[c.reason], answer.Code)
				text = answer.Message
			} else {
				assert.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
			}
			assert.Contains(t, text, c.says)
			assert.NotEmpty(t, strings.TrimSpace(text))
			assert.Less(t, len(text), 2000)
			assert.Empty(t, r.sink.all())
			r.assertRefusals(t, map[string]int64{c.reason: 1})
		})
	}
}
