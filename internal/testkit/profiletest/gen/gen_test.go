// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package gen_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPprofsAreValid: what is generated can be written and read, and is still the same.
func TestPprofsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := gen.Pprof().Draw(t, "pprof")
		require.NoError(t, p.CheckValid())
		written := rewritten(t, p)
		require.Empty(t, profiletest.DiffPprof(written, rewritten(t, written)))
	})
}

func rewritten(t *rapid.T, p *profile.Profile) *profile.Profile {
	var buffer bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&buffer))
	again, form := profiletest.ParsePprof(buffer.Bytes())
	require.Equal(t, profiletest.Proto, form)
	return again
}

func TestProfilesKeepTheRules(t *testing.T) {
	untidy := profiletest.CheckOptions{Untidy: true, AllowNegativeLines: true, AllowNamelessFunctions: true}
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, untidy.Check(gen.Profiles().Draw(t, "profiles")))
	})
}

// TestDisarrangeKeepsTheMeaning is a test of the comparison too: it must see through every index.
func TestDisarrangeKeepsTheMeaning(t *testing.T) {
	untidy := profiletest.CheckOptions{Untidy: true, AllowNegativeLines: true, AllowNamelessFunctions: true}
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "profiles")
		before := profiletest.Marshal(t, pd)
		other := gen.Disarrange(pd, random(t))
		require.NoError(t, untidy.Check(other))
		require.Empty(t, profiletest.Diff(pd, other))
		require.Equal(t, before, profiletest.Marshal(t, pd), "the argument was changed")
		if !other.Dictionary().StringTable().Equal(pd.Dictionary().StringTable()) {
			changed++
		}
	})
	require.Positive(t, changed)
}

// TestBreakIsNoticed: each fault breaks a rule that the check knows, in the message it was applied to.
func TestBreakIsNoticed(t *testing.T) {
	untidy := profiletest.CheckOptions{Untidy: true, AllowNegativeLines: true, AllowNamelessFunctions: true}
	for _, fault := range gen.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			applied := 0
			rapid.Check(t, func(t *rapid.T) {
				pd := gen.Profiles().Draw(t, "profiles")
				if _, ok := gen.Break(pd, fault, random(t)); !ok {
					return
				}
				applied++
				require.Error(t, untidy.Check(pd))
				require.Error(t, profiletest.Check(pd))
				require.Empty(t, profiletest.Diff(pd, pd))
			})
			require.Positive(t, applied)
		})
	}
}

func random(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) }
