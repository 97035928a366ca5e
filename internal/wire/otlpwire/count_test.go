// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// entriesEach is the number of entries of one kind in a hostile message.
const entriesEach = 10_000

// TestEachField: the count of messages with many empty entries of one field, for each field of each message, in the schema or not.
func TestEachField(t *testing.T) {
	for _, signal := range signals {
		for id, path := range pathsTo(roots[signal]) {
			for n := 1; n <= 20; n++ {
				body := wrap(path, repeat(bytesField(n, nil), entriesEach))
				if newRequest(signal).UnmarshalProto(body) != nil {
					continue // The field has another wire type.
				}
				checkField(t, signal, id, n, body)
			}
		}
	}
}

// checkField checks the count of many entries of a field.
func checkField(t *testing.T, signal Signal, id messageID, field int, body []byte) {
	t.Helper()
	t.Run(fmt.Sprintf("signal %d, message %d, field %d", signal, id, field), func(t *testing.T) {
		most := int64(memorytest.Most)
		switch {
		case id == scopeProfiles && field == 2:
			most = 120 // A profile counts with its handling after unmarshalling.
		case id == anyValue:
			most = 4 // Each value replaces the one before.
		}
		checkCount(t, most, signal, body)
	})
}

// TestEachScalar does the same for numbers, packed and unpacked.
func TestEachScalar(t *testing.T) {
	for _, signal := range signals {
		for id, path := range pathsTo(roots[signal]) {
			for n := 1; n <= 20; n++ {
				number := protowire.Number(n)
				for _, content := range [][]byte{
					repeat(append(protowire.AppendTag(nil, number, protowire.VarintType), 1), entriesEach),
					repeat(protowire.AppendFixed64(protowire.AppendTag(nil, number, protowire.Fixed64Type), 1), entriesEach),
					bytesField(n, repeat([]byte{1}, 8*entriesEach)),
					append(bytesField(n, repeat([]byte{1}, 8*entriesEach)),
						protowire.AppendFixed64(protowire.AppendTag(nil, number, protowire.Fixed64Type), 1)...),
				} {
					body := wrap(path, content)
					if newRequest(signal).UnmarshalProto(body) != nil {
						continue
					}
					checkField(t, signal, id, n, body)
				}
			}
		}
	}
}

// TestStrings: strings of every length need at most the memory that is counted for them.
func TestStrings(t *testing.T) {
	for length := 1; length < 100_000; length = length*5/4 + 1 {
		times := max(1, 4<<20/length)
		body := wrap([]step{{2, profilesDictionary}}, repeat(bytesField(5, make([]byte, length)), times))
		t.Run(fmt.Sprintf("%d strings of %d bytes", times, length), func(t *testing.T) {
			checkCount(t, 5, Profiles, body) // The shortest strings use a quarter of what counts for them: that is for a list that grows.
		})
	}
}

func TestNesting(t *testing.T) {
	for name, field := range map[string]int{"array": 5, "list": 6} {
		for signal, path := range map[Signal][]step{
			Logs:     {{1, resourceLogs}, {2, scopeLogs}, {2, logRecord}, {5, anyValue}},
			Profiles: {{2, profilesDictionary}, {6, keyValueAndUnit}, {2, anyValue}},
			Traces:   {{1, resourceSpans}, {1, resource}, {1, keyValue}, {2, anyValue}},
		} {
			_, err := Count(signal, wrap(path, nested(32, field)))
			require.NoError(t, err, name)
			_, err = Count(signal, wrap(path, nested(33, field)))
			require.ErrorIs(t, err, ErrTooDeep, name)
			// Siblings are not nested in each other.
			_, err = Count(signal, repeat(wrap(path, nested(32, field)), 3))
			require.NoError(t, err, name)
		}
	}
	_, err := Count(Logs, wrap([]step{{1, resourceLogs}, {1, resource}, {1, keyValue}, {2, anyValue}}, deep(300_000)))
	require.ErrorIs(t, err, ErrTooDeep)
}

// deep returns nested arrays. It writes them from the outside to the inside, which takes linear time.
func deep(levels int) []byte {
	const each = 5 // bytes of a tag and of a length
	value := make([]byte, 0, 2*each*levels)
	for inside := 2*each*levels - each; inside >= 0; inside -= each {
		tag := byte(0x0a)
		if inside/each%2 == 1 {
			tag = 0x2a
		}
		value = append(value, tag, byte(inside)|0x80, byte(inside>>7)|0x80, byte(inside>>14)|0x80, byte(inside>>21))
	}
	return value
}

func TestMalformed(t *testing.T) {
	for name, body := range map[string][]byte{
		"no length":         {0x0a},
		"length too large":  {0x0a, 5, 0},
		"length of 2^63":    {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"field 0":           {0x02, 0},
		"endless varint":    {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
		"wire type 7":       {0x0f},
		"number for a list": {0x08, 1},
		"end of no group":   {0x7c},
		"open group":        {0x7b},
		"inner length":      {0x0a, 2, 0x12, 9},
		"short number":      {0x7d, 0, 0},
	} {
		_, err := Count(Logs, body)
		require.ErrorIs(t, err, ErrMalformed, name)
		require.Error(t, newRequest(Logs).UnmarshalProto(body), name)
	}
}

// TestGroups: pdata skips an unknown group only up to the first value in it, at any depth. It reads the bytes after that as
// fields, and so does Count.
func TestGroups(t *testing.T) {
	groups := repeat([]byte{0x7b}, 1000)
	for _, body := range [][]byte{
		append(append(groups, repeat([]byte{0x7c}, 1000)...), 0x78, 1),
		append(append(groups, 0x78, 1), repeat(bytesField(1, nil), entriesEach)...),
	} {
		checkCount(t, memorytest.Most, Metrics, body)
	}
}

func TestCountAllocatesNothing(t *testing.T) {
	body := wrap([]step{{1, resourceLogs}, {2, scopeLogs}}, repeat(bytesField(2, bytesField(6, bytesField(1, []byte("key")))), 1000))
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		if _, err := Count(Logs, body); err != nil {
			t.Error(err)
		}
	}))
}

// TestCorpus: the count of real messages.
func TestCorpus(t *testing.T) {
	for _, m := range profiletest.CorpusMessages(t) {
		t.Run(m.Name, func(t *testing.T) {
			body, err := pprofileotlp.NewExportRequestFromProfiles(m.Profiles).MarshalProto()
			require.NoError(t, err)
			checkCount(t, memorytest.Most, Profiles, body)
		})
	}
}

func logs(records int) []byte {
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "checkout")
	all := resource.ScopeLogs().AppendEmpty().LogRecords()
	for range records {
		record := all.AppendEmpty()
		record.Body().SetStr("GET /cart took longer than it should have, and here is some more about it")
		record.Attributes().PutStr("http.request.method", "GET")
		record.Attributes().PutInt("http.response.status_code", 200)
	}
	body, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	if err != nil {
		panic(err)
	}
	return body
}

func TestLogs(t *testing.T) { checkCount(t, memorytest.Most, Logs, logs(10_000)) }

// BenchmarkCount compares the time of the count with the time of unmarshalling.
func BenchmarkCount(b *testing.B) {
	bodies := map[string]struct {
		signal Signal
		body   []byte
	}{"logs": {Logs, logs(10_000)}}
	if message := largest(b); message != nil {
		bodies["profiles"] = struct {
			signal Signal
			body   []byte
		}{Profiles, message}
	}
	for name, test := range bodies {
		for op, do := range map[string]func() error{
			"count": func() error { _, err := Count(test.signal, test.body); return err },
			"pdata": func() error { return newRequest(test.signal).UnmarshalProto(test.body) },
		} {
			b.Run("body="+name+"/op="+op, func(b *testing.B) {
				b.SetBytes(int64(len(test.body)))
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// largest returns the largest message of the corpus.
func largest(tb testing.TB) (largest []byte) {
	tb.Helper()
	for _, m := range profiletest.CorpusMessages(tb) {
		body, err := pprofileotlp.NewExportRequestFromProfiles(m.Profiles).MarshalProto()
		require.NoError(tb, err)
		if len(body) > len(largest) {
			largest = body
		}
	}
	return largest
}
