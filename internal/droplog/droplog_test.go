// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package droplog

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

// newLog returns a Log, and a function that returns its new lines as "level: reason/service number error".
func newLog() (l *Log, take func() []string) {
	core, logs := observer.New(zap.InfoLevel)
	return New(zap.New(core)), func() (lines []string) {
		for _, entry := range logs.TakeAll() {
			fields := entry.ContextMap()
			lines = append(lines, fmt.Sprintf("%s: %s/%s %d %s", entry.Level, fields["reason"], fields["service"], fields["profiles"], fields["error"]))
		}
		return lines
	}
}

func TestOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, take := newLog()
		l.Dropped("invalid", "checkout", 2, errBroken)
		assert.Equal(t, []string{"warn: invalid/checkout 2 broken"}, take())
		for range 100 {
			l.Dropped("invalid", "checkout", 3, errBroken)
		}
		assert.Empty(t, take())
		l.Dropped("rejected", "checkout", 1, errBroken)
		l.Dropped("invalid", "cart", 1, errBroken)
		assert.Equal(t, []string{"warn: rejected/checkout 1 broken", "warn: invalid/cart 1 broken"}, take(), "other reasons and services")
		time.Sleep(interval)
		l.Dropped("invalid", "checkout", 1, errBroken)
		assert.Equal(t, []string{"warn: invalid/checkout 301 broken"}, take(), "including those that were not logged")
	})
}

func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, take := newLog()
		for i := range 3 * maxKeys {
			l.Dropped("invalid", strconv.Itoa(i), 1, errBroken)
		}
		lines := take()
		require.Len(t, lines, maxKeys+1)
		assert.Equal(t, "warn: invalid/(other services) 1 broken", lines[maxKeys])
		assert.Len(t, l.keys, maxKeys+1, "one more for each reason")
		time.Sleep(interval)
		l.Dropped("invalid", "new", 1, errBroken)
		assert.Equal(t, []string{"warn: invalid/new 1 broken"}, take())
		assert.Len(t, l.keys, 1, "old entries are removed")
	})
}

func TestServicesAreText(t *testing.T) {
	l, take := newLog()
	l.Dropped("invalid", "a\nb\x1b[2J", 1, errBroken)
	assert.Equal(t, []string{"warn: invalid/a b\uFFFD[2J 1 broken"}, take())
}
