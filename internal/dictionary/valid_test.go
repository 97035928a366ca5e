// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

func FuzzValidText(f *testing.F) {
	for _, text := range []string{"", "größer 価格", "a\xff\xfeb", "\xe4\xbe", "\xff", "\uFFFDa\xff\uFFFD", "\xed\xa0\x80"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		assert.Equal(t, string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), string(ValidText(text)))
		assert.LessOrEqual(t, len(ValidText(text)), ValidFactor*len(text))
	})
}

func TestValidTextMemory(t *testing.T) {
	text := []byte(strings.Repeat("\xffa", 1<<20))
	memorytest.CheckCovered(t, func(reserve func(int64) error) error {
		ValidText(text)
		return reserve(2 * int64(len(text)))
	})
}
