// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/datadog"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestQueryLinearTime: the time grows linearly with the query and with the labels in it.
func TestQueryLinearTime(t *testing.T) {
	profiletest.CheckLinear(t, "", "=b", []string{"&", "=", "%41", "%", "a=b&", "resource.a=b&", "service.name=a&", "+"}, func(query []byte) {
		_ = setFromQuery(&pprof.Source{Resource: pcommon.NewMap()}, string(query))
	})
	profiletest.CheckLinear(t, "", "a:b", []string{"a:b,", "a:c,", ",", ":", "a"}, func(tags []byte) {
		source := pprof.Source{Resource: pcommon.NewMap()}
		list, _ := datadog.AppendTags(nil, string(tags))
		setFromLabels(&source, list, nil)
	})
}

// TestLegacyLinearTime: the time grows linearly with a text in one of the older formats.
func TestLegacyLinearTime(t *testing.T) {
	formats := newLegacyFormats(true, "", 1<<20)
	unlimited := &meter.Meter{}
	const maps = "00400000-00401000 r-xp 00000000 00:00 0 /bin/a\n"
	const heap = "heap profile: 1: 2 [3: 4] @ heapz_v2/1\n"
	for head, tokens := range map[string][]string{
		heap:                           {" ", "1: 2 [1: 2] @ 0x400001 0x400002\n", "MAPPED_LIBRARIES:\n" + maps},
		heap + "MAPPED_LIBRARIES:\n":   {maps, "a = b\n", "$a"},
		"goroutine profile: total 7\n": {"7 @ 0x1 0x2\n", "#\t0x1\tmain+0x1\ta.go:1\n"},
		"--- contentionz 1 ---\n":      {"a = b\n", "1 2 @ 0x1\n"},
		"--- threadz 1 ---\n\n":        {"--- Thread 1 (name: a/1) stack: ---\n", "  0x1 main\n"},
		"--- heapz 1 ---\nformat = java\nresolution = bytes\n": {"1: 2 [1: 2] @ 1\n", "0x1 ", "  0x1 a (b:1)\n"},
	} {
		profiletest.CheckLinear(t, head, maps, tokens, func(text []byte) { _, _, _ = formats.convert(text, unlimited) })
	}
}
