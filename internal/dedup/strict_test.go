// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/jfr"
	"github.com/otelpprof/otelpprof/translator/pprof"
	"github.com/otelpprof/otelpprof/translator/splunk"
)

// TestCorpusForStrictReaders: profiles of real profilers become messages that keep all rules of strict readers.
func TestCorpusForStrictReaders(t *testing.T) {
	for name, messages := range map[string]func(testing.TB) []profiletest.Message{
		"pprof": pprofMessages, "JFR": jfrMessages, "Splunk": splunkMessages, "OTLP": profiletest.CorpusMessages,
	} {
		t.Run(name, func(t *testing.T) {
			d := dedup.New(dedup.Options{DropPartialLinks: true, ClearNegativeLines: true, NameFunctions: true, WidenTimes: true})
			cleared, widened := 0, 0
			for _, message := range messages(t) {
				after, stats, err := d.Deduplicate(message.Profiles)
				require.NoError(t, err, message.Name)
				assert.NoError(t, profiletest.CheckOptions{Deduplicated: true}.Check(after), message.Name)
				cleared += stats.ClearedLines
				widened += stats.WidenedProfiles
			}
			if name == "pprof" {
				assert.Positive(t, cleared, "Julia writes start lines of -1")
			}
			if name == "OTLP" {
				assert.Positive(t, widened, "the eBPF profiler ends a profile at its last timestamp")
			}
		})
	}
}

func pprofMessages(tb testing.TB) (messages []profiletest.Message) {
	tb.Helper()
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, file := range profiletest.CorpusPprofs(tb, "real", "edge", "synth", "scrapes-of-one-app") {
		pd, _, err := decoder.Decode(file.Bytes(tb), pprof.Source{})
		if err != nil {
			continue // not a pprof
		}
		messages = append(messages, profiletest.Message{Name: file.Name, Profiles: pd})
	}
	return messages
}

func jfrMessages(tb testing.TB) (messages []profiletest.Message) {
	tb.Helper()
	decoder := jfr.NewDecoder(jfr.Options{})
	for name, recording := range filesOf(tb, filepath.Join(profiletest.Corpus(tb), "jfr", "*.jfr.gz")) {
		labels, err := os.ReadFile(strings.TrimSuffix(name, ".jfr.gz") + ".labels.pb.gz")
		if err != nil {
			require.ErrorIs(tb, err, os.ErrNotExist)
		}
		pd, _, err := decoder.Decode(recording, jfr.Source{Labels: labels})
		require.NoError(tb, err, name)
		messages = append(messages, profiletest.Message{Name: filepath.Base(name), Profiles: pd})
	}
	return messages
}

func splunkMessages(tb testing.TB) (messages []profiletest.Message) {
	tb.Helper()
	decoder := splunk.NewDecoder(splunk.Options{})
	for name, request := range filesOf(tb, profiletest.Testdata(tb, "splunk", "*", "*.pb")) {
		logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(request)
		require.NoError(tb, err, name)
		pd, _ := decoder.Decode(logs, 1_800_000_000_000_000_000, nil)
		messages = append(messages, profiletest.Message{Name: name, Profiles: pd})
	}
	return messages
}

// filesOf returns the content of files by their path.
func filesOf(tb testing.TB, pattern string) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(tb, err)
	require.NotEmpty(tb, paths, pattern)
	files := map[string][]byte{}
	for _, path := range paths {
		files[path], err = os.ReadFile(path)
		require.NoError(tb, err)
	}
	return files
}
