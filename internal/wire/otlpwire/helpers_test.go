// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/protobuf/encoding/protowire"
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

// taken is the memory that unmarshalling needed, in bytes.
type taken struct {
	// live is the growth of the live heap, total includes garbage.
	live, total int64
}

// unmarshalled measures the memory that pdata needs for a body.
func unmarshalled(signal Signal, body []byte, unmarshal func(request, []byte) error) (taken, error) {
	r := newRequest(signal)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := unmarshal(r, body)
	runtime.ReadMemStats(&after)
	total := int64(after.TotalAlloc - before.TotalAlloc)
	runtime.GC()
	runtime.ReadMemStats(&after)
	live := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	runtime.KeepAlive(r)
	runtime.KeepAlive(body)
	return taken{live, total}, err
}

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

func requireBound(t *testing.T, signal Signal, body []byte, what string, args ...any) {
	t.Helper()
	name := fmt.Sprintf(what, args...)
	estimate, err := Count(signal, body)
	require.NoError(t, err, name)
	total, err := totalTaken(newRequest(signal), body, proto)
	require.NoError(t, err, name)
	if total <= estimate {
		return // The live memory is a part of the total.
	}
	// The total includes garbage: the old arrays of lists that grew.
	require.LessOrEqual(t, total, 3*estimate+noise, name)
	got, err := unmarshalled(signal, body, proto)
	require.NoError(t, err, name)
	require.LessOrEqual(t, got.live, estimate+noise, name)
}

// noise is an upper bound for allocations of the rest of the process.
const noise = 40 << 10
