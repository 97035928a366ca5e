// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
	"github.com/otelpprof/otelpprof/translator/text/cpuprofile"
	"github.com/otelpprof/otelpprof/translator/text/perfscript"
	"github.com/otelpprof/otelpprof/translator/text/speedscope"
)

// entries is the number of entries in the payloads of TestAmplification.
const entries = 40_000

// smallestEntries are pprofs with many entries of one kind, each as small as possible.
func smallestEntries() map[string]wire {
	start := wire{}.message(6, nil).message(1, nil)
	one := wire{}.message(2, wire{1})
	id := func(i uint64) wire { return wire{}.number(1, i+1) }
	labels := func(label func(i uint64) wire) wire {
		return each(2, entries/1000, func(sample uint64) wire {
			return one.with(each(3, 1000, func(i uint64) wire { return label(1000*sample + i) }))
		})
	}
	texts := start.with(each(6, entries, func(i uint64) wire { return wire(strconv.FormatUint(i, 36)) }))
	noText := start.with(each(6, entries, func(i uint64) wire { return append(wire{0xff}, strconv.FormatUint(i, 36)...) }))
	stacks := each(2, 10, func(i uint64) wire {
		return one.message(1, ids(entries)[len(ids(entries/10*int(i))):len(ids(entries/10*int(i+1)))])
	})
	return map[string]wire{
		"samples":        start.with(wire{}.message(2, nil).times(entries)),
		"values":         start.with(wire{}.message(1, nil).times(199)).with(wire{}.message(2, wire{}.message(2, wire{1}.times(200))).times(entries / 200)),
		"location ids":   start.message(4, id(0)).with(each(2, 10, func(i uint64) wire { return one.message(1, wire{1}.times(entries/10-int(i))) })),
		"locations":      start.with(each(4, entries, id)),
		"used locations": start.with(each(4, entries, id)).with(stacks),
		"lines":          start.with(each(4, entries/1000, func(i uint64) wire { return id(i).with(wire{}.message(4, nil).times(1000)) })),
		"functions":      start.with(each(5, entries, id)),
		"mappings":       start.with(each(3, entries, id)),
		"used mappings":  start.with(each(3, entries, func(i uint64) wire { return id(i).number(2, i) })).with(each(4, entries, func(i uint64) wire { return id(i).number(2, i+1) })).with(stacks),
		"strings":        start.with(wire{}.message(6, nil).times(entries)),
		"comments":       start.with(wire{}.message(13, wire{0}.times(entries))),
		"labels":         start.with(labels(func(uint64) wire { return nil })),
		"lists of labels": start.with(each(2, entries/1000, func(i uint64) wire {
			return one.message(3, wire{}.number(3, i)).with(wire{}.message(3, nil).times(999))
		})),
		"numbers":          start.with(labels(func(i uint64) wire { return wire{}.number(3, i) })),
		"keys":             texts.with(labels(func(i uint64) wire { return wire{}.number(1, i) })),
		"keys twice":       texts.with(labels(func(i uint64) wire { return wire{}.number(1, i/2) })),
		"values of labels": texts.with(labels(func(i uint64) wire { return wire{}.number(2, i) })),
		"units":            texts.with(labels(func(i uint64) wire { return wire{}.number(4, i) })),
		"no UTF-8":         noText.with(labels(func(i uint64) wire { return wire{}.number(2, i) })),
	}
}

// decodeSplunk translates a pprof in a log record.
func decodeSplunk(payload []byte, src pprof.Source) error {
	zipped, err := pprof.AppendGzip(nil, payload, 0)
	if err != nil {
		return err
	}
	logs := plog.NewLogs()
	record := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	record.Attributes().PutStr("com.splunk.sourcetype", "otel.profiling")
	record.Attributes().PutStr("profiling.data.format", "pprof-gzip-base64")
	record.Body().SetStr(base64.StdEncoding.EncodeToString(zipped))
	_, result := splunk.NewDecoder(splunk.Options{}).Decode(logs, 1, src.Reserve)
	for _, refused := range result.Refused {
		return refused.Err
	}
	return nil
}

// TestAmplification: the memory of a payload is at most as many times its size as the documentation of Limits says.
func TestAmplification(t *testing.T) {
	type decode func(payload []byte, src pprof.Source) error
	check := func(factor int, name string, payload []byte, decode decode) {
		most := int64(0)
		require.NoError(t, decode(payload, pprof.Source{Reserve: func(bytes int64) error { most = max(most, bytes); return nil }}), name)
		assert.LessOrEqual(t, most, int64(factor*len(payload)), name)
	}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{KeepUnreferencedMappings: true, KeepZeroValues: true})
	for name, raw := range smallestEntries() {
		check(128, name, raw, func(payload []byte, src pprof.Source) error {
			_, _, err := decoder.Decode(payload, src)
			return err
		})
		check(384, "splunk "+name, raw, decodeSplunk)
	}
	var groups, chain, tree, script, frames, nodes, ids strings.Builder
	recording := jfrtest.New()
	tree.Write(protowire.AppendVarint([]byte{0, 0}, entries))
	var stack []jfrtest.Frame
	for i := range entries {
		text := strconv.FormatInt(int64(i), 36)
		fmt.Fprintf(&groups, "%s 1\n", text)
		fmt.Fprintf(&chain, "%s;", text)
		if i%10_000 == 0 {
			fmt.Fprint(&chain, "z 1\n")
		}
		fmt.Fprintf(&script, "a 1 2.5: e:\n\t%x %s\n", i, text)
		fmt.Fprintf(&frames, `,{"name":%q}`, text)
		fmt.Fprintf(&nodes, `,{"id":%d,"callFrame":{"functionName":%q}}`, i, text)
		fmt.Fprintf(&ids, ",%d", i)
		fmt.Fprintf(&tree, "%c%s\x01\x00", len(text), text)
		stack = append(stack, jfrtest.Frame{Method: recording.Method("", text), Line: 1})
		if len(stack) == entries/10 {
			recording.ExecutionSample(1000, 0, recording.Stack(false, stack...), 0, jfrtest.Context{})
			stack = stack[:0]
		}
	}
	chain.WriteString("z 1\n")
	for form, payload := range map[collapsed.Form]string{collapsed.Groups: groups.String(), collapsed.Lines: chain.String(), collapsed.Tree: tree.String(), collapsed.Trie: tree.String()} {
		check(384, fmt.Sprint("form ", form), []byte(payload), func(payload []byte, src pprof.Source) error {
			_, _, err := collapsed.Decode(payload, src, collapsed.Options{Form: form})
			return err
		})
	}
	check(384, "perf script", []byte(script.String()), func(payload []byte, src pprof.Source) error {
		_, _, err := perfscript.Decode(payload, src, text.Options{})
		return err
	})
	check(384, "speedscope", []byte(`{"shared":{"frames":[`+frames.String()[1:]+`]},"profiles":[{"type":"sampled","unit":"none","samples":[[0]],"weights":[1]}]}`), func(payload []byte, src pprof.Source) error {
		_, _, err := speedscope.Decode(payload, src, text.Options{})
		return err
	})
	deltas := strings.Repeat(",0", entries)
	check(384, "CPU profile", []byte(`{"nodes":[`+nodes.String()[1:]+`],"samples":[`+ids.String()[1:]+`],"timeDeltas":[`+deltas[1:]+`],"startTime":1795369073000000,"endTime":1795369073000000}`), func(payload []byte, src pprof.Source) error {
		_, _, err := cpuprofile.Decode(payload, src, text.Options{})
		return err
	})
	check(384, "recording", recording.Bytes(), func(payload []byte, src pprof.Source) error {
		_, _, err := jfr.NewDecoder(jfr.Options{}).Decode(payload, jfr.Source{Source: src})
		return err
	})
}
