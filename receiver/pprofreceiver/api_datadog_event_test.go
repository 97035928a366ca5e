// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

func TestParseEvent(t *testing.T) {
	event, err := parseEvent([]byte(`{"start":"2026-11-21T05:54:31.565509375Z","end":"2026-11-21T05:54:34Z","attachments":["cpu.pprof"],
		"tags_profiler":"service:checkout, url:http://x:80 ,empty:,alone,:x,,runtime:go","family":"go","version":"4","info":{"a":[1]},
		"process_tags":"entrypoint.name:app"}`))
	require.NoError(t, err)
	assert.Equal(t, datadogEvent{
		times: times{start: time.Date(2026, 11, 21, 5, 54, 31, 565509375, time.UTC), end: time.Date(2026, 11, 21, 5, 54, 34, 0, time.UTC)},
		tags: []label{
			{name: "service", value: "checkout"},
			{name: "url", value: "http://x:80"},
			{name: "runtime", value: "go"},
			{name: "entrypoint.name", value: "app"},
		},
	}, event)

	event, err = parseEvent([]byte(`{}`))
	require.NoError(t, err)
	assert.Zero(t, event)
}

// TestTimesOfEvents: a time is not copied before its length is known, and an event uses what is reserved for it.
func TestTimesOfEvents(t *testing.T) {
	long := strings.Repeat("\x01\xff", 1<<20)
	var event datadogEvent
	memorytest.CheckCovered(t, func(reserve func(int64) error) error {
		require.NoError(t, reserve(0))
		return event.setField(fieldStart, long)
	})
	require.ErrorContains(t, event.setField(fieldEnd, long), "bytes of the field end: 2097152, the limit is 64")
	require.ErrorContains(t, event.setField(fieldEnd, "now"), "cannot read the field end")
	for _, field := range []string{"start", "tags_profiler", "unknown"} {
		for _, part := range []string{"a", "\xff", `\u0001\n`, `\n`} {
			text := []byte(`{"` + field + `":"\n` + strings.Repeat(part, 2<<20/len(part)) + `"}`)
			memorytest.CheckCovered(t, func(reserve func(int64) error) error {
				require.NoError(t, reserve(eventFactor*int64(len(text))))
				_, err := parseEvent(text)
				return err
			})
		}
	}
}

// FuzzParseEvent parses any event. The result is valid UTF-8 and within the limits.
func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"start":"2026-11-21T05:54:31Z","end":"2026-11-21T05:54:34Z","tags_profiler":"service:a,env:b"}`))
	f.Add([]byte(`{"tags_profiler":"\ud800:x,\u0000:y","process_tags":":,:"}`))
	f.Add([]byte(`{"start":"0000-00-00T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		event, err := parseEvent(text)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(event.tags), maxLabels)
		for _, tag := range event.tags {
			require.NotEmpty(t, tag.name)
			require.NotEmpty(t, tag.value)
			require.True(t, utf8.ValidString(tag.name) && utf8.ValidString(tag.value))
		}
	})
}

// TestEventLinearTime: the time grows linearly with the event and with its tags.
func TestEventLinearTime(t *testing.T) {
	for _, head := range []string{"{", `{"start":"`, `{"tags_profiler":"`, `{"a":[`} {
		profiletest.CheckLinear(t, head, `"}`, []string{" ", `\u0061`, "a:b,", ",", ":", "[", "{},", "1,", `"tags_profiler":"a:b",`, "\xff"}, func(event []byte) {
			_, _ = parseEvent(event)
			_, _ = appendTags(nil, string(event))
		})
	}
}
