// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilebuilder_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

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
