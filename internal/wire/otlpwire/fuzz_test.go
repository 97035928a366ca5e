// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"bytes"
	"errors"
	"testing"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// FuzzCount: a body that pdata can unmarshal is counted without an error, and needs at most the counted memory.
func FuzzCount(f *testing.F) {
	for _, signal := range signals {
		f.Add(uint8(signal), []byte{})
		for id, path := range pathsTo(roots[signal]) {
			for n := range messages[id] {
				if n > 0 && n < 20 {
					f.Add(uint8(signal), wrap(path, repeat(bytesField(n, []byte{8, 1}), 3)))
				}
			}
		}
	}
	f.Add(uint8(Logs), []byte("\n\x0e\n\f100000000C00")) // a value in a group
	f.Add(uint8(Logs), wrap([]step{{1, resourceLogs}, {1, resource}, {1, keyValue}, {2, anyValue}}, nested(40, 6)))
	f.Fuzz(func(t *testing.T, number uint8, body []byte) {
		signal := Signal(number % uint8(len(signals)))
		estimate, err := Count(signal, body)
		if errors.Is(err, ErrTooDeep) {
			return
		}
		var failed error
		total := memorytest.Allocated(func() { failed = proto(newRequest(signal), body) })
		if failed == nil && err != nil {
			t.Fatalf("pdata unmarshals it: %v", err)
		}
		if err == nil && total > 3*estimate+noise {
			t.Fatalf("takes %d bytes, counted %d", total, estimate)
		}
	})
}

// FuzzClearKeyReferences: what pdata unmarshals, it unmarshals to the same message after references were cleared. A second time
// changes nothing.
func FuzzClearKeyReferences(f *testing.F) {
	text := []byte{0xa, 1, 'a'}
	f.Add(attributesOf(attribute("service.name", 200, text), attribute("", 1, text)))
	f.Add([]byte("\n\x04\n\x02\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00")) // a negative number of a field
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := Count(Profiles, body); err != nil {
			return
		}
		before, refused := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(body)
		cleared := bytes.Clone(body)
		ClearKeyReferences(cleared)
		again := bytes.Clone(cleared)
		ClearKeyReferences(again)
		if !bytes.Equal(cleared, again) {
			t.Fatal("clearing twice is not clearing once")
		}
		after, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(cleared)
		if refused != nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(marshaled(t, before), marshaled(t, after)) {
			t.Fatal("another message than before")
		}
	})
}

func marshaled(t *testing.T, pd pprofile.Profiles) []byte {
	t.Helper()
	wire, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

// FuzzCountJSON: whatever pdata unmarshals from the body needs at most the counted memory.
func FuzzCountJSON(f *testing.F) {
	for _, seed := range []string{
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a\"b\\"}}]}]}]}`,
		`{"dictionary":{"stringTable":["","a"],"stackTable":[{"locationIndices":[0,1]}]}}`,
		`{"a":[[[]]],"b":"\u0000"} "`,
		`{"resourceSpans":[{},{},{}`,
	} {
		for _, signal := range signals {
			f.Add(uint8(signal), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, number uint8, body []byte) {
		signal := Signal(number % uint8(len(signals)))
		estimate, err := CountJSON(body)
		if err != nil {
			return
		}
		total := memorytest.Allocated(func() { _ = jsonBody(newRequest(signal), body) })
		if total > 3*estimate+noise {
			t.Fatalf("takes %d bytes, counted %d", total, estimate)
		}
	})
}
