// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/internal/load"
	"github.com/otelpprof/otelpprof/internal/profiletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newResult(report string) *result {
	return &result{
		options:  &options{duration: time.Minute, report: report},
		outcomes: []load.Outcome{{Number: 0, Attempts: 3, Busy: 2, Seconds: 0.25}, {Number: 9, Attempts: 1, Refused: "400"}},
		took:     time.Second,
		balance:  profiletest.Balance{Sent: 1, Arrived: 1},
	}
}

// TestReport holds that an even account is written between the marks, and nothing else is touched.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+beginMark+"previous figures\n"+endMark+"after\n"), 0o600))
	require.NoError(t, newResult(path).write())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Regexp(t, "(?s)^before\n.*\\| \\*\\*lost\\*\\* \\| \\*\\*0\\*\\* \\|.*after\n$", string(content))
	assert.Contains(t, string(content), "| told to come again (503, Unavailable) | 2 of 4 attempts |")
	assert.NotContains(t, string(content), "previous figures")
}

// TestUnevenAccount holds that what is lost, or answered wrongly, fails the run and is in no report.
func TestUnevenAccount(t *testing.T) {
	for name, change := range map[string]func(*result){
		"lost":             func(r *result) { r.balance.Missing = []string{"id"} },
		"changed":          func(r *result) { r.balance.Changed = []string{"id"} },
		"unknown":          func(r *result) { r.balance.Unknown = []string{"id"} },
		"answered wrongly": func(r *result) { r.wrong = r.outcomes[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			r := newResult(filepath.Join(t.TempDir(), "there is none"))
			change(r)
			require.ErrorContains(t, r.write(), "the account is not even")
		})
	}
}

func TestQuantile(t *testing.T) {
	assert.Zero(t, quantile(nil, 0.5))
	assert.InDelta(t, 2, quantile([]float64{1, 2, 3}, 0.5), 0)
	assert.InDelta(t, 2, quantile([]float64{1, 2, 3}, 0.99), 0)
}
