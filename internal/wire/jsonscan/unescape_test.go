// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// FuzzUnescape compares with encoding/json.
func FuzzUnescape(f *testing.F) {
	for _, text := range []string{
		``, `größer`, `\"\\\/\b\f\n\r\t`, `\u00e9\u4fa1`, `\ud83d\ude00`, `\ud83d`, `\ud83dx`, `\ud83d\n`, `\ud83d\u0061`, `\ud83d\ud83d\ude00`, `\ude00\ud83d`, `\u0000`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Scanner{Text: []byte(`"` + text + `"`), Malformed: errors.New("malformed")}
		raw, err := s.Literal()
		if err != nil || len(raw) != len(text) || !utf8.ValidString(text) {
			return
		}
		var want string
		require.NoError(t, json.Unmarshal(s.Text, &want))
		assert.Equal(t, want, string(Unescape(raw)))
	})
}

func TestUnescapeMemory(t *testing.T) {
	for _, part := range []string{`\n`, `\u4fa1`, "\xff", "a"} {
		raw := []byte(`\n` + strings.Repeat(part, 4<<20/len(part)))
		memorytest.CheckCovered(t, func(reserve func(int64) error) error {
			Unescape(raw)
			return reserve(int64(len(raw)))
		})
	}
}
