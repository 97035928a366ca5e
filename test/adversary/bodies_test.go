// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listener is what a body is sent to.
type listener string

const (
	pprofServer listener = "pprof"     // the receiver pprof
	otlpGRPC    listener = "OTLP/gRPC" // of the receivers otlp and splunk_log_profile
	otlpHTTP    listener = "OTLP/HTTP"
	pages       listener = "pages" // of the exporter profile_view
	scraped     listener = "scrape"
	discovered  listener = "discovery" // of the extension target_discovery
)

// body is one kind of attack.
type body struct {
	name string
	to   listener
	// splunk says that only the receiver splunk_log_profile takes it: log records, spans and data points.
	splunk bool
	// path and header are those of the request, wire its body. headers are pairs.
	path    string
	headers []string
	wire    func() []byte
	// attack replaces the sending of the request so many times at once.
	attack attack
	// times replaces how often it is sent.
	times int
	// busy says that the process is stopped while it works on it.
	busy bool
	// only names the one configuration that it is for, settings are values on top of it, and away says that the backend takes
	// nothing until the process has been started again. These need a process of their own, and so does what is alone.
	only, settings string
	away, alone    bool
	// reload says that honest clients are not served while it is sent.
	reload bool
}

// ownProcess tells whether no other body can be sent to the same process.
func (b body) ownProcess() bool { return b.alone || b.settings != "" || b.away }

// bodies are all of them, by intake.
func bodies() []body {
	return slices.Concat(pprofTables(), pprofSizes(), pprofWrappings(), ingestBodies(), formatBodies(), jfrBodies(), pushBodies(), parcaBodies(),
		datadogBodies(), otlpTables(), otlpSizes(), otlpGroups(), otlpDeep(), splunkRecords(), splunkSignals(), behaviours(), stalledBodies(), largeHeaders(), scrapedBodies(), recordBodies(), discoveredBodies())
}

// keptBytes is the size of a body on the wire up to which it is made once.
const keptBytes = 1 << 20

var (
	keptMutex sync.Mutex
	kept      = map[string][]byte{}
)

// bytes are those on the wire.
func (b body) bytes() []byte {
	if b.wire == nil {
		return nil
	}
	keptMutex.Lock()
	defer keptMutex.Unlock()
	if wire, made := kept[b.name]; made {
		return wire
	}
	wire := b.wire()
	if len(wire) <= keptBytes {
		kept[b.name] = wire
	}
	return wire
}

func atPprof(name string, wire func() []byte) body {
	return body{name: name, to: pprofServer, path: "/v1/pprof?service.name=hostile", wire: wire}
}

// grpcMessage frames a message, compressed or not.
func grpcMessage(compressed bool, message []byte) []byte {
	frame := make([]byte, 5, 5+len(message))
	if compressed {
		frame[0] = 1
	}
	binary.BigEndian.PutUint32(frame[1:], uint32(len(message)))
	return append(frame, message...)
}

func grpcHeaders(encoding string) []string {
	headers := []string{"Content-Type", "application/grpc", "Te", "trailers"}
	if encoding != "" {
		headers = append(headers, "Grpc-Encoding", encoding)
	}
	return headers
}

// TestBodies: there are as many as there must be, and what is made is the same each time.
func TestBodies(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bodies() {
		assert.Regexp(t, `^[a-z0-9-]+$`, b.name)
		assert.False(t, seen[b.name], "%s twice", b.name)
		seen[b.name] = true
	}
	assert.GreaterOrEqual(t, len(seen), 60)
	for i, b := range bodies() {
		require.False(t, b.splunk && b.to == pprofServer, b.name)
		if b.wire == nil {
			require.NotNil(t, b.attack, b.name)
		} else if i%8 == 0 { // All of them take a minute.
			assert.True(t, bytes.Equal(b.wire(), b.wire()), "%s differs", b.name)
		}
	}
}
