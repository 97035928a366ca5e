// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
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

// splunk tells whether only the receiver splunk_log_profile takes it: log records, spans and data points.
func (b body) splunk() bool {
	return slices.Contains([]string{logsPath, tracesPath, metricsPath, logsCall, tracesCall, metricsCall}, b.path)
}

// ownProcess tells whether no other body can be sent to the same process.
func (b body) ownProcess() bool { return b.alone || b.settings != "" || b.away }

// bodies are all of them, by intake.
func bodies() []body {
	return slices.Concat(pprofTables(), pprofSizes(), pprofWrappings(), ingestBodies(), formatBodies(), jfrBodies(), pushBodies(), parcaBodies(),
		datadogBodies(), otlpTables(), otlpSizes(), sharedParts(), otlpGroups(), otlpDeep(), splunkRecords(), splunkSignals(), behaviours(), stalledBodies(), largeHeaders(), openStreams(), scrapedBodies(), recordBodies(), discoveredBodies(), binaryBodies())
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
		require.False(t, b.splunk() && b.to == pprofServer, b.name)
		if b.wire == nil {
			require.NotNil(t, b.attack, b.name)
		} else if i%8 == 0 { // All of them take a minute.
			assert.True(t, bytes.Equal(b.wire(), b.wire()), "%s differs", b.name)
		}
	}
}

// measuredBodies has the row of each body.
const measuredBodies = "measured.csv"

var bodyColumns = []string{"body", "to", "bytes on the wire", "MiB at most in 512 MiB", "MiB at most in 2 GiB", "answers to 8 at once"}

// bodyRow is what was measured of a body: the largest peak of all configurations, by container, and the answers to the first
// configuration that was measured.
type bodyRow struct {
	name, to   string
	wireBytes  int
	small, big int
	answers    string
}

// bodyRows are the rows of what was measured, over earlier ones.
func bodyRows(all []measurement, earlier []bodyRow) (rows []bodyRow) {
	for _, b := range bodies() {
		row := bodyRow{name: b.name, to: string(b.to)}
		if i := slices.IndexFunc(earlier, func(r bodyRow) bool { return r.name == b.name }); i >= 0 {
			row = earlier[i]
		}
		var one *measurement
		for i := range all {
			m := &all[i]
			if m.Body != b.name {
				continue
			}
			if m.ContainerMiB == 512 {
				row.small = max(row.small, m.PeakMiB)
			} else {
				row.big = max(row.big, m.PeakMiB)
			}
			if one == nil || one.Times != hostileTargets && m.Times == hostileTargets {
				one = m
			}
		}
		if one != nil {
			row.wireBytes, row.answers = one.WireBytes, one.Answers
		}
		if row.answers != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

func writeBodyRows(t *testing.T, rows []bodyRow) {
	t.Helper()
	var out strings.Builder
	w := csv.NewWriter(&out)
	require.NoError(t, w.Write(bodyColumns))
	for _, r := range rows {
		require.NoError(t, w.Write([]string{r.name, r.to, strconv.Itoa(r.wireBytes), strconv.Itoa(r.small), strconv.Itoa(r.big), r.answers}))
	}
	w.Flush()
	require.NoError(t, w.Error())
	require.NoError(t, os.WriteFile(measuredBodies, []byte(out.String()), 0o644))
}

func readBodyRows(t *testing.T) (rows []bodyRow) {
	t.Helper()
	file, err := os.Open(measuredBodies)
	require.NoError(t, err)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	require.Equal(t, bodyColumns, records[0])
	for _, r := range records[1:] {
		row := bodyRow{name: r[0], to: r[1], answers: r[5]}
		for i, n := range []*int{&row.wireBytes, &row.small, &row.big} {
			*n, err = strconv.Atoi(r[2+i])
			require.NoError(t, err, row.name)
		}
		rows = append(rows, row)
	}
	return rows
}

// english groups the digits of numbers.
var english = message.NewPrinter(language.English)

// targetTable has a row for all bodies that go to the same listener.
func targetTable(rows []bodyRow) string {
	targets := map[string][]bodyRow{}
	var order []string
	for _, r := range rows {
		if targets[r.to] == nil {
			order = append(order, r.to)
		}
		targets[r.to] = append(targets[r.to], r)
	}
	var out strings.Builder
	out.WriteString("| to | bodies | largest on the wire, bytes | largest peak in 512 MiB | in 2 GiB |\n|---|---:|---:|---:|---:|\n")
	for _, to := range order {
		var all bodyRow
		for _, r := range targets[to] {
			all.wireBytes, all.small, all.big = max(all.wireBytes, r.wireBytes), max(all.small, r.small), max(all.big, r.big)
		}
		fmt.Fprintf(&out, "| %s | %d | %s | %d MiB | %d MiB |\n", to, len(targets[to]), english.Sprint(all.wireBytes), all.small, all.big)
	}
	return out.String()
}
