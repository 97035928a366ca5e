// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// request is the type to which pdata unmarshals a body.
type request interface {
	UnmarshalProto(body []byte) error
	UnmarshalJSON(body []byte) error
}

func newRequest(signal Signal) request {
	switch signal {
	case Logs:
		return plogotlp.NewExportRequest()
	case Traces:
		return ptraceotlp.NewExportRequest()
	case Metrics:
		return pmetricotlp.NewExportRequest()
	default:
		return pprofileotlp.NewExportRequest()
	}
}

var signals = []Signal{Logs, Traces, Metrics, Profiles}

func proto(r request, body []byte) error { return r.UnmarshalProto(body) }

func jsonBody(r request, body []byte) error { return r.UnmarshalJSON(body) }

// step is a field that leads to a message.
type step struct {
	number  int
	message messageID
}

// pathsTo returns a path from root to each message type that root can contain.
func pathsTo(root messageID) map[messageID][]step {
	paths := map[messageID][]step{root: nil}
	for todo := []messageID{root}; len(todo) > 0; todo = todo[1:] {
		for n, f := range messages[todo[0]] {
			if _, known := paths[f.message]; f.kind != message || known {
				continue
			}
			path := append([]step(nil), paths[todo[0]]...)
			paths[f.message] = append(path, step{n, f.message})
			todo = append(todo, f.message)
		}
	}
	return paths
}

// wrap puts content into the messages of a path.
func wrap(path []step, content []byte) []byte {
	for _, step := range slices.Backward(path) {
		content = bytesField(step.number, content)
	}
	return content
}

func bytesField(n int, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, protowire.Number(n), protowire.BytesType), content)
}

func repeat(entry []byte, times int) []byte {
	all := make([]byte, 0, len(entry)*times)
	for range times {
		all = append(all, entry...)
	}
	return all
}

// nested returns a string within this many lists or maps.
func nested(levels int, field int) []byte {
	value := bytesField(1, []byte("x"))
	for range levels {
		if field == 6 {
			value = bytesField(2, value)
		}
		value = bytesField(field, bytesField(1, value))
	}
	return value
}

// checkCount compares the count of a body with the memory of the message that pdata makes of it.
func checkCount(t *testing.T, most int64, signal Signal, body []byte) {
	t.Helper()
	counted, err := Count(signal, body)
	require.NoError(t, err)
	checkHeld(t, most, signal, body, counted, proto)
}

// checkHeld does so for a message that unmarshal makes. If it also leaves garbage, the old arrays of lists that grew, the count is only
// for what stays.
func checkHeld(t *testing.T, most int64, signal Signal, body []byte, counted int64, unmarshal func(request, []byte) error) {
	t.Helper()
	total := totalTaken(t, newRequest(signal), body, unmarshal)
	if total <= counted {
		require.LessOrEqual(t, counted, most*memorytest.Words*total+noise)
		return
	}
	require.LessOrEqual(t, total, 3*counted+noise)
	memorytest.CheckHeld(t, most, 1, func() (request, int64) {
		r := newRequest(signal)
		require.NoError(t, unmarshal(r, body))
		return r, counted
	})
}

// totalTaken returns the memory that unmarshalling needs, with garbage.
func totalTaken(t *testing.T, r request, body []byte, unmarshal func(request, []byte) error) int64 {
	t.Helper()
	var err error
	total := memorytest.Allocated(func() { err = unmarshal(r, body) })
	require.NoError(t, err)
	return total
}

// noise is an upper bound for allocations of the rest of the process.
const noise = 40 << 10

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
