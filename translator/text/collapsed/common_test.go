// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package collapsed_test

import (
	"bytes"
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/texttest"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/text"
	"github.com/otelpprof/otelpprof/translator/text/collapsed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forms has the golden files. trie and tree contain the same stacks.
var forms = map[string]collapsed.Form{
	"groups.txt": collapsed.Groups, "lines.txt": collapsed.Lines, "trie.bin": collapsed.Trie, "tree.bin": collapsed.Tree,
}

// of returns the translation of a form, with a period.
func of(form collapsed.Form, period int64) texttest.Decode {
	return func(payload []byte, src pprof.Source, options text.Options) (pprofile.Profiles, pprof.DecodeStats, error) {
		return collapsed.Decode(payload, src, collapsed.Options{Form: form, Period: period, Options: options})
	}
}

func TestGolden(t *testing.T) {
	src := pprof.Source{
		Resource: pcommon.NewMap(), ScopeName: "scope", ScopeVersion: "1", SampleTypes: []pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}},
		ProfileName: "itimer",
	}
	src.Resource.PutStr("service.name", "shop")
	for name, form := range forms {
		t.Run(name, func(t *testing.T) { of(form, 10_000_000).Golden(t, name, src) })
	}
}

func TestRoundTrip(t *testing.T) {
	for name, want := range map[string]int64{"groups.txt": 58, "lines.txt": 4} {
		of(forms[name], 0).RoundTrip(t, profiletest.Format(t, name), map[string]int64{"samples/count": want})
	}
}

func TestOriginalPayload(t *testing.T) { of(collapsed.Groups, 0).Original(t, "a\xff;b 1", "collapsed") }

func FuzzDecode(f *testing.F) {
	for name, form := range forms {
		f.Add(profiletest.Format(f, name), int(form), int64(0))
		f.Add(profiletest.Format(f, name), int(form), int64(10_000_000))
	}
	f.Add([]byte("a;;b 1"), 0, int64(1))
	f.Add([]byte("\x00\x00\xff\xff\xff\xff\x0f"), 3, int64(1))
	f.Fuzz(func(t *testing.T, payload []byte, form int, period int64) {
		of(collapsed.Form(form&3), period).Fuzz(t, payload)
	})
}

func TestLinearTime(t *testing.T) {
	lines := []string{"a", ";", " ", "\t", "1", "a;", "a;b ", "\r", "\v", "\xff", "\n", "a;b 1\n", "a 1\r\n", "# a: 1\n", "# "}
	nodes := []string{"\x01a\x00\x01", "\x01a\x00\x00", "\x01a\x01\x01", "\x01a\x01\x00", "\x02a;\x01\x01", "\x02a;\x00\x02", "\x01;\x01\x01"}
	for form, tokens := range map[collapsed.Form][]string{collapsed.Groups: lines, collapsed.Lines: lines, collapsed.Trie: nodes, collapsed.Tree: nodes} {
		head := ""
		if form == collapsed.Trie || form == collapsed.Tree {
			head = "\x00\x00\xff\xff\x03" // The root has many children.
		}
		of(form, 0).Linear(t, head, " 1", tokens)
	}
	profiletest.CheckLinear(t, "", " 1", []string{"a", " ", "1", "\t", "\r", "\n", "\x00"}, func(payload []byte) { collapsed.IsText(payload) })
}

// BenchmarkFormat reads 20,000 lines.
func BenchmarkFormat(b *testing.B) {
	var payload bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&payload, "main;server.handle;shop.checkout;shop.total%d;runtime.growslice %d\n", i%1000, i)
	}
	of(collapsed.Groups, 0).Benchmark(b, "folded", payload.Bytes())
}
