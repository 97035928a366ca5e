// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

var errMalformed = errors.New("malformed")

func scan(text string) error {
	s := Scanner{Text: []byte(text), Malformed: errMalformed}
	if err := s.Skip(); err != nil {
		return err
	}
	return s.End()
}

func TestSkip(t *testing.T) {
	for _, text := range []string{`{}`, ` { "a" : [ 1 , -2.5e+3, true, null, false, "\u00e9\n" ] } `, `""`, `0`, strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		require.NoError(t, scan(text), text)
	}
	for text, want := range map[string]string{
		``:                       "byte 0: the message ends, want a value",
		`{"a"}`:                  "want a colon",
		`[1 2]`:                  "want a comma",
		`[1,]`:                   "want a value",
		`{"a":1,}`:               "want a string",
		`"a`:                     "want a quote",
		`"\x"`:                   "want an escape that exists",
		"\"\n\"":                 "want an escape",
		`01`:                     "want the end",
		`-`:                      "want a value",
		`1.`:                     "want a value",
		strings.Repeat("[", 101): "nested deeper than 100",
	} {
		err := scan(text)
		require.ErrorIs(t, err, errMalformed, text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestObject(t *testing.T) {
	s := Scanner{Text: []byte(`{"a":[1,2],"b":"x\ty"}`), Malformed: errMalformed}
	var keys, texts []string
	require.NoError(t, s.Object(func(key []byte) error {
		keys = append(keys, string(key))
		if s.Peek() != '"' {
			return s.Skip()
		}
		text, err := s.Literal()
		texts = append(texts, string(text))
		return err
	}))
	assert.Equal(t, []string{"a", "b"}, keys)
	assert.Equal(t, []string{`x\ty`}, texts)
}

// TestContinue: Continue is called for every 64 KiB, wherever the caller sets the position, and its error is returned unchanged.
func TestContinue(t *testing.T) {
	const size = 10 * continueBytes
	calls := 0
	s := Scanner{Text: []byte("[" + strings.Repeat("1,", size/2) + "1]"), Malformed: errMalformed, Continue: func() error {
		calls++
		return nil
	}}
	require.NoError(t, s.Skip())
	assert.InDelta(t, size/continueBytes, calls, 1)
	s.At = 0
	require.NoError(t, s.Skip())
	assert.InDelta(t, 2*size/continueBytes, calls, 2)

	ended := errors.New("the request has ended")
	s.At, s.Continue = 0, func() error { return ended }
	assert.Same(t, ended, s.Skip())
	assert.Less(t, s.At, 2*continueBytes)
}

// FuzzSkip accepts what encoding/json does, but for depth and bytes that are no UTF-8.
func FuzzSkip(f *testing.F) {
	f.Add(`{"a":[1,-2.5e+3,true,null,"\u00e9"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if err := scan(text); err == nil {
			require.True(t, json.Valid([]byte(text)))
		} else if json.Valid([]byte(text)) {
			require.ErrorContains(t, err, "nested deeper")
		}
	})
}

// BenchmarkSkip goes over what a hostile sender repeats.
func BenchmarkSkip(b *testing.B) {
	for _, element := range []string{"1,", "-1.5e3,", "[0,0,0],", `{"name":"a"},`, "null,"} {
		b.Run(element, func(b *testing.B) {
			text := []byte("[" + strings.Repeat(element, 1<<20/len(element)) + "0]")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s := Scanner{Text: text, Malformed: errMalformed}
				require.NoError(b, s.Skip())
			}
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLinearTime: the time grows linearly with the text.
func TestLinearTime(t *testing.T) {
	tokens := []string{" ", "\n", "1,", "1", "-1.5e3,", "null,", "[],", "[[[]]],", "{},", `{"a":[{}]},`, `"a",`, `"\\\"",`, "a", `\`, `\\`, `"`, "["}
	for _, head := range []string{"", "[", `"`, `{"a":`, "[1.", "[1e"} {
		profiletest.CheckLinear(t, head, `"]`, tokens, func(text []byte) {
			s := Scanner{Text: text, Malformed: errMalformed}
			_ = s.Skip()
		})
	}
}
