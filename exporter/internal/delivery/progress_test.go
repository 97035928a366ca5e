// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// TestNoMemoryForACopy: without memory for a copy, the whole request is retried.
func TestNoMemoryForACopy(t *testing.T) {
	const size = 8 << 20
	b := memory.New(size, time.Millisecond)
	full := budgettest.Hold(t, b, size)
	defer full.Release()
	ctx := memory.NewContext(t.Context(), full)
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"))
	_, _, err := deliverTo(ctx, pd, failing("b"))
	assert.Equal(t, errDisk, err)
	progress := Begin(ctx, pd)
	defer progress.Release()
	progress.Done(Position{})
	assert.Equal(t, errDisk, progress.End(ctx, silent, errDisk))
	taken, _ := b.Used()
	assert.Equal(t, int64(size), taken)
}

// TestLongServiceNames: the name of a service is read once for the refused profiles of a resource, and cut, also between characters.
func TestLongServiceNames(t *testing.T) {
	const maxServiceBytes = 1 << 10
	const refused = 1000
	pd := pprofile.NewProfiles()
	list := pd.ResourceProfiles().AppendEmpty().Resource().Attributes().PutEmptySlice("service.name")
	list.AppendEmpty().SetStr(strings.Repeat("a", 1<<20))
	pd.ResourceProfiles().AppendEmpty().Resource().Attributes().PutStr("service.name", "ab"+strings.Repeat("漢", maxServiceBytes))
	pd.ResourceProfiles().AppendEmpty().Resource().Attributes().PutStr("service.name", "short")
	progress := Begin(t.Context(), pd)
	defer progress.Release()
	used := memorytest.Allocated(func() {
		for i := range refused {
			progress.Refuse(&Refusal{}, Position{profile: i})
		}
	})
	assert.Less(t, used, int64(refused*maxServiceBytes))
	last := &Refusal{}
	progress.Refuse(last, Position{resource: 0}, Position{resource: 1}, Position{resource: 2}, Position{resource: 1})
	assert.Equal(t, map[string]int{
		`["` + strings.Repeat("a", maxServiceBytes-2):     1,
		"ab" + strings.Repeat("漢", (maxServiceBytes-2)/3): 2, "short": 1,
	}, last.services)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
