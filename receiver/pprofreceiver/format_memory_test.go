// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

func exampleFormats() *formats {
	return newFormats(pprof.DecodeOptions{Limits: pprof.DefaultLimits()}, false, zap.NewNop())
}

// TestRecordingMemory: memory is reserved before it is allocated, also for containers.
func TestRecordingMemory(t *testing.T) {
	recording := bytes.Repeat(jfrtest.Example().Bytes(), 100)
	formats := newFormats(pprof.DecodeOptions{Limits: pprof.Limits{InflatedBytes: 1 << 20}}, false, zap.NewNop())
	for name, payload := range map[string][]byte{
		"plain": recording, "gzip": gz(t, recording), "lz4": lz4Of(t, bytes.NewReader(recording)),
		"zip": zipOf(t, func() io.Reader { return bytes.NewReader(recording) }, "a.jfr"),
	} {
		t.Run(name, func(t *testing.T) {
			memorytest.Check(t, func(reserve func(int64) error) error {
				_, _, err := formats.jfr(nil, 0)(payload, pprof.Source{Reserve: reserve})
				return err
			})
		})
	}
}

// TestRecordingSkipped: the types of events without a profile are logged once.
func TestRecordingSkipped(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	f := newFormats(pprof.DecodeOptions{Limits: pprof.DefaultLimits()}, false, zap.New(core)).jfr(nil, 0)
	recording := jfrtest.Example()
	recording.Classes = append(recording.Classes, jfrtest.Class{ID: 900, Name: "jdk.CPULoad"})
	for range 2 {
		recording.Event(900, 1)
		_, _, err := f(recording.Bytes(), pprof.Source{})
		require.NoError(t, err)
	}
	require.Equal(t, 1, logs.Len())
	assert.Equal(t, map[string]any{"type": "jdk.CPULoad", "events": int64(1)}, logs.All()[0].ContextMap())
}

// TestNotRecognizedMemory: if there is no memory for reading the first lines, the sender can send the payload again.
func TestNotRecognizedMemory(t *testing.T) {
	f := exampleFormats().unnamed(func([]byte, pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error) {
		return pprofile.Profiles{}, pprof.DecodeStats{Begin: []byte("main;work 5\n")}, pprof.ErrMalformed
	})
	_, _, err := f(nil, pprof.Source{Reserve: func(int64) error { return memory.ErrExhausted }})
	assert.Equal(t, outOfMemory, classOf(err))
}

// TestPprofsAreNotCompared: reading a pprof never looks for another format.
func TestPprofsAreNotCompared(t *testing.T) {
	formats := exampleFormats()
	for _, payload := range profiletest.ClientPayloads(t) {
		if payload.Legacy {
			continue
		}
		_, stats, err := formats.unnamed(formats.pprof(false, ""))(payload.Data, pprof.Source{})
		require.NoError(t, err, payload.File)
		assert.Empty(t, stats.Begin, payload.File)
	}
}

// TestLegacyMaps: variables in the mappings are replaced, but they cannot multiply the text or the time.
func TestLegacyMaps(t *testing.T) {
	const maps = heapText + "MAPPED_LIBRARIES:\nbuild=/app\n00001000-00002000 r-xp 00000000 00:00 0 $build/shop\n"
	binary := "\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00\x00" +
		strings.Repeat("\x00", 16) + "\x01" + strings.Repeat("\x00", 15)
	unlimited := &meter.Meter{}
	converted, _, err := convertLegacy([]byte(maps), 1<<20, unlimited)
	require.NoError(t, err)
	assert.Contains(t, string(converted), "/app/shop")
	for name, payload := range map[string]string{
		"many variables":     maps + strings.Repeat("a=b\n", 1000),
		"variables of a CPU": binary + strings.Repeat("a=b\n", 1000),
		"a long variable":    maps + "a=" + strings.Repeat("b", 5000) + "\n",
		"nested variables":   maps + "b=$build$build\nc=$b$b\n",
		"many references":    maps + strings.Repeat("$build", 20_000),
		"many comparisons":   strings.Repeat("1: 2 [1: 2] @ 0x1 0x2\n", 20_000) + maps + strings.Repeat("\n", 200_000),
	} {
		_, _, err := convertLegacy([]byte(payload), 1<<20, unlimited)
		require.ErrorContains(t, err, "of the mappings", name)
		assert.Equal(t, tooLarge, classOf(err), name)
	}
}

// TestLegacyRefusedSize: a payload that is too large for an older format was decompressed to see that it is one.
func TestLegacyRefusedSize(t *testing.T) {
	content := []byte(heapText + strings.Repeat("# padding\n", maxLegacyBytes/10))
	f := exampleFormats().pprof(true, "")
	for name, payload := range map[string][]byte{"plain": content, "gzip": gz(t, content)} {
		_, stats, err := f(payload, pprof.Source{})
		require.ErrorContains(t, err, "more than 16777216 bytes", name)
		assert.Equal(t, len(content), stats.InflatedBytes, name)
	}
}

// TestLegacyLinearTime: the time grows linearly with a text in one of the older formats.
func TestLegacyLinearTime(t *testing.T) {
	unlimited := &meter.Meter{}
	const maps = "00400000-00401000 r-xp 00000000 00:00 0 /bin/a\n"
	const heap = "heap profile: 1: 2 [3: 4] @ heapz_v2/1\n"
	for head, tokens := range map[string][]string{
		heap:                           {" ", "1: 2 [1: 2] @ 0x400001 0x400002\n", "MAPPED_LIBRARIES:\n" + maps},
		heap + "MAPPED_LIBRARIES:\n":   {maps, "a = b\n", "$a"},
		"goroutine profile: total 7\n": {"7 @ 0x1 0x2\n", "#\t0x1\tmain+0x1\ta.go:1\n"},
		"--- contentionz 1 ---\n":      {"a = b\n", "1 2 @ 0x1\n"},
		"--- threadz 1 ---\n\n":        {"--- Thread 1 (name: a/1) stack: ---\n", "  0x1 main\n"},
		"--- heapz 1 ---\nf = java\nresolution = bytes\n": {"1: 2 [1: 2] @ 1\n", "0x1 ", "  0x1 a (b:1)\n"},
	} {
		profiletest.CheckLinear(t, head, maps, tokens, func(text []byte) { _, _, _ = convertLegacy(text, 1<<20, unlimited) })
	}
}
