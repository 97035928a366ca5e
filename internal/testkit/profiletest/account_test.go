// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// decoded is a profile of testdata as a message.
func decoded(t *testing.T, name string) pprofile.Profiles {
	t.Helper()
	content, err := os.ReadFile(profiletest.Testdata(t, "pprof", name))
	require.NoError(t, err)
	pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(content, pprof.Source{})
	require.NoError(t, err)
	return pd
}

func TestAccount(t *testing.T) {
	account := profiletest.NewAccount()
	account.Sent(decoded(t, "mutex.pb.gz"))
	account.Sent(decoded(t, "block.pb.gz"))
	account.Arrived(decoded(t, "mutex.pb.gz"))
	account.Arrived(decoded(t, "mutex.pb.gz"))
	account.Arrived(decoded(t, "cpu.pb.gz"))
	b := account.Balance()
	assert.False(t, b.Even())
	assert.Equal(t, "4 profiles sent, 4 arrived, 2 missing, 2 unknown, 0 changed, 2 arrived again", b.String())

	account.Arrived(decoded(t, "block.pb.gz"))
	assert.Empty(t, account.Balance().Missing)
}

// TestAccountSeesContent changes one thing in a profile that keeps its id.
func TestAccountSeesContent(t *testing.T) {
	for name, change := range map[string]func(pprofile.Profiles){
		"nothing": func(pprofile.Profiles) {},
		"a value": func(pd pprofile.Profiles) {
			values := firstProfile(pd).Samples().At(0).Values()
			values.SetAt(0, values.At(0)+1)
		},
		"a name": func(pd pprofile.Profiles) {
			pd.Dictionary().StringTable().SetAt(pd.Dictionary().StringTable().Len()-1, "x")
		},
		"a sample": func(pd pprofile.Profiles) { firstProfile(pd).Samples().AppendEmpty().Values().Append(1) },
		"the time": func(pd pprofile.Profiles) { firstProfile(pd).SetTime(1) },
		"the service": func(pd pprofile.Profiles) {
			pd.ResourceProfiles().At(0).Resource().Attributes().PutStr("service.name", "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			account := profiletest.NewAccount()
			account.Sent(decoded(t, "mutex.pb.gz"))
			pd := decoded(t, "mutex.pb.gz")
			change(pd)
			account.Arrived(pd)
			assert.Equal(t, name == "nothing", account.Balance().Even(), account.Balance())
		})
	}
}

func firstProfile(pd pprofile.Profiles) pprofile.Profile {
	return pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
}
