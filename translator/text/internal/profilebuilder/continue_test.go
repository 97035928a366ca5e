// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

func inForm(form collapsed.Form) texttest.Decode {
	return func(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
		return collapsed.Decode(payload, src, collapsed.Options{Form: form, Options: options})
	}
}

// TestContinue: while a payload is read, Reserve is called for every 512 KiB, also if no memory is needed. Its error ends the
// translation.
func TestContinue(t *testing.T) {
	const size, each = 8 << 20, 512 << 10
	of := func(head, token, tail string) []byte {
		return []byte(head + strings.Repeat(token, size/len(token)) + tail)
	}
	for name, test := range map[string]struct {
		decode  texttest.Decode
		payload []byte
	}{
		"empty lines":          {inForm(collapsed.Groups), of("", "\n", "")},
		"equal lines":          {inForm(collapsed.Groups), of("", "a;b 1\n", "")},
		"nodes without values": {inForm(collapsed.Tree), of("\x00\x00\xff\xff\xff\x7f", "\x01a\x00\x00", "")},
		"skipped JSON":         {speedscope.Decode, of(`{"a":[`, "1,", `1]}`)},
		"frames not used":      {speedscope.Decode, of(`{"shared":{"frames":[`, `"`+strings.Repeat("a", 1000)+`",`, `1]}}`)},
		"equal samples":        {cpuprofile.Decode, of(`{"nodes":[{"id":1,"callFrame":{}}],"startTime":1,"endTime":2,"timeDeltas":[],"samples":[`, "1,", `1]}`)},
		"comments":             {perfscript.Decode, of("", "#\n", "a 1 2.5: e:\n")},
		"words like times":     {perfscript.Decode, of(" ", "1.0: ", "")},
		"words":                {perfscript.Decode, of("a 1 2.5: e:\n ", "a ", "")},
	} {
		calls, last := 0, int64(0)
		_, _, _ = test.decode(test.payload, pprof.Source{Reserve: func(bytes int64) error {
			calls++
			assert.GreaterOrEqual(t, bytes, last, name)
			last = bytes
			return nil
		}}, text.Options{})
		assert.GreaterOrEqual(t, calls, size/each, name)

		ended := errors.New("the request has ended")
		left := 3
		_, _, err := test.decode(test.payload, pprof.Source{Reserve: func(int64) error {
			require.Positive(t, left, "%s: called after an error", name)
			if left--; left > 0 {
				return nil
			}
			return ended
		}}, text.Options{})
		assert.Same(t, ended, err, name)
	}
}

// repeated returns n pieces.
func repeated(n int, format string, args func(i int) []any) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, format, args(i)...)
	}
	return b.Bytes()
}

func number(i int) []any { return []any{i} }

// shaped has payloads with many entries of one kind.
func shaped() map[string]struct {
	decode  texttest.Decode
	payload []byte
} {
	const n = 20_000
	stacks := bytes.TrimSuffix(bytes.Repeat([]byte("[0,0],"), n), []byte(","))
	weights := bytes.TrimSuffix(bytes.Repeat([]byte("1,"), n), []byte(","))
	frames := bytes.TrimSuffix(repeated(n, `{"name":"\u0066%d","file":"x"},`, number), []byte(","))
	each := bytes.TrimSuffix(repeated(n, "[%d],", number), []byte(","))
	nodes := bytes.TrimSuffix(repeated(n, `{"id":%d,"callFrame":{"functionName":"\u0066%[1]d","url":"x"}},`, number), []byte(","))
	ids := bytes.TrimSuffix(repeated(n, "%d,", number), []byte(","))
	cpuProfile := func(start int64, nodes, samples []byte) []byte {
		return fmt.Appendf(nil, `{"nodes":[%s],"startTime":%d,"endTime":%[2]d,"samples":[%s],"timeDeltas":[%s]}`, nodes, start, samples, weights)
	}
	return map[string]struct {
		decode  texttest.Decode
		payload []byte
	}{
		"nodes":            {cpuprofile.Decode, cpuProfile(1, nodes, ids)},
		"nodes not used":   {cpuprofile.Decode, cpuProfile(1, nodes, weights)},
		"times of nodes":   {cpuprofile.Decode, cpuProfile(1_795_369_073_000_000, nodes[:bytes.IndexByte(nodes, 'x')+4], bytes.ReplaceAll(weights, []byte("1"), []byte("0")))},
		"one line":         {inForm(collapsed.Groups), []byte("a;b 1")},
		"functions":        {inForm(collapsed.Groups), repeated(n, "f%d 1\n", number)},
		"stacks":           {inForm(collapsed.Groups), repeated(n, "%d;%d;a;b;c;d 1\n", func(i int) []any { return []any{i % 150, i / 150} })},
		"equal stacks":     {inForm(collapsed.Lines), bytes.Repeat([]byte("a;b;c\n"), n)},
		"deep":             {inForm(collapsed.Groups), []byte(strings.Repeat("a;", 16_000) + "b 1")},
		"long names":       {inForm(collapsed.Groups), repeated(20, "%d"+strings.Repeat("x", 50_000)+" 1\n", number)},
		"invalid names":    {inForm(collapsed.Groups), repeated(20, "%d"+strings.Repeat("\xffa", 10_000)+" 1\n", number)},
		"tree":             {inForm(collapsed.Tree), []byte("\x00\x00\x01" + strings.Repeat("\x01a\x01\x01", 3000) + "\x01a\x01\x00")},
		"trie":             {inForm(collapsed.Trie), []byte("\x00\x00\x01" + strings.Repeat("\x01a\x01\x01", 3000) + "\x01a\x01\x00")},
		"frames":           {speedscope.Decode, fmt.Appendf(nil, `{"shared":{"frames":[%s]},"profiles":[{"type":"sampled","unit":"none","samples":[%s],"weights":[%s]}]}`, frames, each, weights)},
		"weighted samples": {speedscope.Decode, fmt.Appendf(nil, `{"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","unit":"none","samples":[%s],"weights":[%s]}]}`, stacks, weights)},
		"threads":          {perfscript.Decode, repeated(n/2, "a%d %d [000] 2.5: 1 e:\n\t1 f (x)\n", func(i int) []any { return []any{i, i} })},
		"times":            {perfscript.Decode, bytes.Repeat([]byte("a 1 [000] 1795369073.5: 1 e:\n\t1 f (x)\n"), n)},
		"addresses":        {perfscript.Decode, append([]byte("a 1 2.5: 1 e:\n"), repeated(16_000, "\t%x f (x)\n", number)...)},
		"files":            {perfscript.Decode, append([]byte("a 1 2.5: 1 e:\n"), repeated(16_000, "\t1 f (x%d)\n", number)...)},
		"events":           {perfscript.Decode, repeated(256, "a 1 2.5: 1 e%d:\n\t1 f (x)\n", number)},
	}
}

// TestMemory: a translation and its message use what is reserved for them.
func TestMemory(t *testing.T) {
	for name, test := range shaped() {
		t.Run(name, func(t *testing.T) {
			memorytest.Check(t, func(reserve func(int64) error) error {
				_, _, err := test.decode(test.payload, pprof.Source{Reserve: reserve}, text.Options{})
				return err
			})
			memorytest.CheckHeld(t, memorytest.Most, 1, func() (pprofile.Profiles, int64) {
				pd, stats, err := test.decode(test.payload, pprof.Source{}, text.Options{})
				require.NoError(t, err)
				return pd, memory.MessageFactor * stats.MessageBytes
			})
		})
	}
}

// TestMemoryOfLongTexts: the same where a text or number is long, at any place, whether the payload is valid then or not.
func TestMemoryOfLongTexts(t *testing.T) {
	const length = 512 << 10
	for name, test := range map[string]struct {
		decode  texttest.Decode
		payload string
	}{
		"groups":      {inForm(collapsed.Groups), "# austin: 3\n# mode: wall\na;b 1\nc 2.0\n"},
		"lines":       {inForm(collapsed.Lines), "a;b\nc\n"},
		"speedscope":  {speedscope.Decode, `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a","file":"b","line":1}]},"profiles":[{"type":"sampled","name":"n","unit":"none","startValue":0,"endValue":1.5,"samples":[[0]],"weights":[1]},{"type":"evented","name":"n","unit":"none","startValue":0,"endValue":1,"events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":0,"at":1}]}]}`},
		"cpuprofile":  {cpuprofile.Decode, `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"a","lineNumber":1,"columnNumber":1},"children":[2]},{"id":2,"callFrame":{"functionName":"b"}}],"startTime":1,"endTime":9,"samples":[2],"timeDeltas":[1]}`},
		"perf script": {perfscript.Decode, "a 1/2 PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0x3 <0a>]: r-xp x\nb 1/2 [003] 4.5: 6 e:u:\n\t7 f+0x8 (x)\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for at := range len(test.payload) + 1 {
				for _, one := range []string{"a", "0", " ", "\xff", "\xffa", "\\n", "\\n\xff", "["} {
					payload := []byte(test.payload[:at] + strings.Repeat(one, length/len(one)) + test.payload[at:])
					memorytest.CheckCovered(t, func(reserve func(int64) error) error {
						_, _, err := test.decode(payload, pprof.Source{Reserve: reserve}, text.Options{})
						return err
					})
					if t.Failed() {
						t.Fatalf("%q of 512 KiB before %q", one, test.payload[at:])
					}
				}
			}
		})
	}
}

// TestGeneratedNames: frames of a lambda are equal in all formats, whatever the addresses of their classes are, unless the option keeps
// the addresses.
func TestGeneratedNames(t *testing.T) {
	const first, second = "App$$Lambda$75.0x00007ff44c0c4208.call", "App$$Lambda$9/0x000000080157a000.call"
	for name, test := range map[string]struct {
		decode  texttest.Decode
		payload string
	}{
		"collapsed":  {inForm(collapsed.Groups), first + " 1\n" + second + " 2\n"},
		"speedscope": {speedscope.Decode, `{"shared":{"frames":[{"name":"` + first + `"},{"name":"` + second + `"}]},"profiles":[{"type":"sampled","unit":"none","samples":[[0],[1]],"weights":[1,2]}]}`},
		"cpuprofile": {cpuprofile.Decode, `{"nodes":[{"id":1,"callFrame":{"functionName":"` + first + `"}},{"id":2,"callFrame":{"functionName":"` + second + `"}}],"startTime":1,"endTime":2,"samples":[1,2],"timeDeltas":[0,0]}`},
		"perfscript": {perfscript.Decode, "java 1 2.5: 1 e:\n\t1 " + first + " (/tmp/perf-1.map)\n\njava 1 2.6: 2 e:\n\t1 " + second + " (/tmp/perf-1.map)\n"},
	} {
		pd, stats, err := test.decode([]byte(test.payload), pprof.Source{}, text.Options{})
		require.NoError(t, err, name)
		assert.Equal(t, 1, stats.OTLPSamples, name)
		assert.Contains(t, pd.Dictionary().StringTable().AsRaw(), "App$$Lambda_.call", name)
		pd, stats, err = test.decode([]byte(test.payload), pprof.Source{}, text.Options{KeepGeneratedNames: true})
		require.NoError(t, err, name)
		assert.Equal(t, 2, stats.OTLPSamples, name)
		assert.Subset(t, pd.Dictionary().StringTable().AsRaw(), []string{first, second}, name)
	}
}
