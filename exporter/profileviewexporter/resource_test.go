// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// atTimes returns a message of one resource with profiles of different times, each of which is a pprof, and the attributes of the resource.
func atTimes(profiles int) (pprofile.Profiles, pcommon.Map) {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().Append("", "cpu", "nanoseconds")
	d.LocationTable().AppendEmpty()
	d.MappingTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	resource := pd.ResourceProfiles().AppendEmpty()
	scope := resource.ScopeProfiles().AppendEmpty()
	for i := range profiles {
		p := scope.Profiles().AppendEmpty()
		p.SampleType().SetTypeStrindex(1)
		p.SampleType().SetUnitStrindex(2)
		p.SetTime(pcommon.NewTimestampFromTime(time.Now().Add(time.Duration(i))))
		p.Samples().AppendEmpty().Values().Append(1)
	}
	return pd, resource.Resource().Attributes()
}

// What pprofs need of the attributes of their resource is made once for all of them.
func TestResourceIsMadeOnce(t *testing.T) {
	const size, profiles = 4 << 20, 50
	h := newHolding(t, 1<<30)
	pd, attributes := atTimes(profiles)
	attributes.PutStr("a", strings.Repeat("\xff", size))
	assert.Less(t, memorytest.Allocated(func() { require.NoError(t, h.ConsumeProfiles(t.Context(), pd)) }), int64(profiles*size/2))
	held, _ := h.store.Held()
	assert.EqualValues(t, profiles, held)
}

// Profiles of several resources in a message keep their own.
func TestResourcesOfMessage(t *testing.T) {
	h := newHolding(t, 1<<30)
	pd, first := atTimes(2)
	first.PutStr("service.name", "a")
	second := pd.ResourceProfiles().AppendEmpty()
	pd.ResourceProfiles().At(0).CopyTo(second)
	second.Resource().Attributes().PutStr("service.name", "b")
	require.NoError(t, h.ConsumeProfiles(t.Context(), pd))
	for _, service := range []string{"a", "b"} {
		assert.Contains(t, h.get(t, "/profiles/"+service+"/cpu").Header().Get("Content-Type"), "octet", service)
	}
	held, _ := h.store.Held()
	assert.EqualValues(t, 4, held)
}

// The text of a file is not made if there is no memory for it. The profile is stored nevertheless.
func TestDescriptionIsReserved(t *testing.T) {
	const size, budget = 4 << 20, 48 << 20
	s := newHosted(t, budgettest.NewHost(memory.New(budget, time.Millisecond)), func(c *Config) { c.Directory = t.TempDir() })
	pd, attributes := atTimes(1)
	attributes.PutStr("service.name", "s")
	attributes.PutStr("a", strings.Repeat("\x01", size))
	assert.Less(t, memorytest.Allocated(func() { require.NoError(t, s.ConsumeProfiles(t.Context(), pd)) }), int64(budget))
	assert.EqualValues(t, 1, counted(t, s.telemetry, "storage_failures", "operation", operationWrite))
}

// The memory of descriptions is reserved before it is used, for all kinds of characters.
func TestDescriptionMemory(t *testing.T) {
	for _, character := range []string{"a", "\x01", "\xff", "é", "\u2028", `"`, "<", "\n", "\x7f", "\U0001F600"} {
		text := strings.Repeat(character, 1<<20)
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, jsonLength(text)+2, int64(len(encoded)), "%q", character)
		attributes := pcommon.NewMap()
		attributes.PutStr("a", text)
		resource := sharedResource{Resource: store.NewResource("", attributes)}
		memorytest.CheckCovered(t, func(reserve func(int64) error) error {
			_, err := (&message{resource: resource}).describe(&pprof.Payload{}, meter.New(0, reserve))
			return err
		})
	}
}

// Each attribute of a file that is restored is read once, within the budget.
func TestRestoredAttributesAreReserved(t *testing.T) {
	h := newHolding(t, 64<<20)
	h.cfg.Directory = t.TempDir()
	_, err := h.openDirectory(t.Context())
	require.NoError(t, err)
	pd, attributes := atTimes(1)
	many := map[string]any{}
	for i := range 40_000 {
		many[strconv.Itoa(i)] = ""
	}
	require.NoError(t, attributes.FromRaw(many))
	require.NoError(t, h.ConsumeProfiles(t.Context(), pd))
	files, err := h.files.Newest(t.Context())
	require.NoError(t, err)
	require.Len(t, files, 1)

	h.budget = memory.New(512<<20, time.Second)
	begin := time.Now()
	allocated := memorytest.Allocated(func() {
		_, err := h.restoreFile(t.Context(), files[0])
		assert.NoError(t, err)
	})
	assert.Less(t, time.Since(begin), 2*time.Second, "the time grows with the square of the number of attributes")
	_, reserved := h.budget.Used()
	assert.GreaterOrEqual(t, reserved, allocated)
}
