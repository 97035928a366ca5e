// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/exporter/internal/options"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// budgetHost is a host with an extension that provides the budget.
type budgetHost struct {
	*recorder
	budget *memory.Budget
}

func (h *budgetHost) GetExtensions() map[component.ID]component.Component {
	return budgettest.NewHost(h.budget).GetExtensions()
}

func newBudgetHost(size int64, wait time.Duration) *budgetHost {
	return &budgetHost{recorder: newRecorder(), budget: memory.New(size, wait)}
}

func used(b *memory.Budget) int64 {
	bytes, _ := b.Used()
	return bytes
}

// enough is more memory than a small request needs, compression included.
const enough = 8 << 20

// TestMemoryIsExhausted: other requests have the memory, so that the sender gets a retryable error.
func TestMemoryIsExhausted(t *testing.T) {
	for _, held := range []int64{enough, enough - 512<<10} { // nothing is left, or enough for all but the compression
		host := newBudgetHost(enough, time.Millisecond)
		f := newFixtureAt(t, host, nil)
		other := budgettest.Hold(t, host.budget, held)
		err := f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a"))
		require.ErrorIs(t, err, memory.ErrExhausted)
		assert.False(t, consumererror.IsPermanent(err))
		assert.Empty(t, host.statuses(), "the disk is well")
		assert.Equal(t, held, used(host.budget))
		other.Release()
		require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "a")))
		assert.Equal(t, map[string]int{"a": 1}, f.services(t))
	}
}

// TestMemoryIsNeverEnough: a profile that needs more than the whole budget is refused and counted.
func TestMemoryIsNeverEnough(t *testing.T) {
	for _, size := range []int64{1000, 1 << 20} { // too little for the encoder, and for the compression
		host := newBudgetHost(size, time.Millisecond)
		f := newFixtureAt(t, host, nil)
		pd := deliverytest.CPU(t, "a")
		err := f.ConsumeProfiles(t.Context(), pd)
		require.ErrorIs(t, err, memory.ErrTooLarge)
		assert.True(t, consumererror.IsPermanent(err))
		profiles := int64(pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().Len())
		f.assertPoints(t, "profiles_refused", points(profiles, because("too_large")))
		assert.Empty(t, host.statuses())
		assert.Zero(t, used(host.budget))
	}
}

// TestMemoryIsNeverEnoughBesideTheMessage: a profile is refused, and not retried for ever, if its message leaves too little of the
// budget for the work on it.
func TestMemoryIsNeverEnoughBesideTheMessage(t *testing.T) {
	for _, left := range []int64{1000, 512 << 10} { // too little for the encoder, and for the compression
		host := newBudgetHost(enough, time.Millisecond)
		f := newFixtureAt(t, host, nil)
		message := must.Get(budgettest.Reserve(t.Context(), host.budget, enough/8*7-left))(t)
		err := f.ConsumeProfiles(memory.NewContext(t.Context(), message), deliverytest.CPU(t, "a"))
		require.ErrorIs(t, err, memory.ErrTooLarge)
		assert.ErrorContains(t, err, "a request may have 7340032")
		assert.True(t, consumererror.IsPermanent(err))
		assert.Equal(t, message.Bytes(), used(host.budget))
	}
}

// TestMemoryOfTheCaller: without a queue the reservation of the request grows. A second reservation could wait for the first one
// forever.
func TestMemoryOfTheCaller(t *testing.T) {
	host := newBudgetHost(enough, time.Hour)
	f := newFixtureAt(t, host, nil)
	callers := must.Get(budgettest.Reserve(t.Context(), host.budget, 4<<20))(t)
	other := must.Get(budgettest.Reserve(t.Context(), host.budget, 3<<20))(t)
	time.AfterFunc(10*time.Millisecond, other.Release)
	require.NoError(t, f.ConsumeProfiles(memory.NewContext(t.Context(), callers), deliverytest.CPU(t, "a")))
	assert.Equal(t, int64(4<<20), callers.Bytes(), "it has what it had")
}

// TestMemoryBehindAQueue: the caller has its answer and has released its reservation, which the queue holds as well.
// The request is retried until there is memory, and is not lost.
func TestMemoryBehindAQueue(t *testing.T) {
	host := newBudgetHost(enough, time.Millisecond)
	f := newFixtureAt(t, host, func(cfg *Config) {
		cfg.QueueConfig = options.NewDefaultQueue()
		cfg.RetryConfig.Enabled = true
		cfg.RetryConfig.InitialInterval = time.Millisecond
	})
	others, message := budgettest.Hold(t, host.budget, enough-64<<10), budgettest.Hold(t, host.budget, 32<<10)
	require.NoError(t, f.ConsumeProfiles(memory.NewContext(t.Context(), message), deliverytest.CPU(t, "a")))
	message.Release()
	time.Sleep(20 * time.Millisecond)
	assert.Empty(t, f.files(t))
	others.Release()
	require.Eventually(t, func() bool { return len(f.files(t)) == 1 && used(host.budget) == 0 }, deliverytest.Patience, time.Millisecond)
}

// TestMaxPprofBytes: a small profile whose pprof is too large is refused and counted. The other profiles of the request are written.
func TestMaxPprofBytes(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.Encoding.MaxPprofBytes = 100_000 })
	pd := repeating(10_000, 50)
	small := pd.ResourceProfiles().AppendEmpty()
	small.Resource().Attributes().PutStr("service.name", "b")
	small.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	err := f.ConsumeProfiles(t.Context(), pd)
	require.ErrorContains(t, err, "the limit is 100000")
	assert.True(t, consumererror.IsPermanent(err))
	f.assertPoints(t, "profiles_refused", points(1, because("too_large")))
	assert.Equal(t, map[string]int{"b": 1}, f.services(t))
}

// repeating returns a message of which all samples have the same stack.
func repeating(locations, samples int) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().Append("", "n")
	d.MappingTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.LocationTable().AppendEmpty().SetAddress(1)
	d.StackTable().AppendEmpty()
	indices := make([]int32, locations)
	for i := range indices {
		indices[i] = 1
	}
	d.StackTable().AppendEmpty().LocationIndices().FromRaw(indices)
	p := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	for i := range samples {
		a := d.AttributeTable().AppendEmpty()
		a.SetKeyStrindex(1)
		a.Value().SetInt(int64(i))
		s := p.Samples().AppendEmpty()
		s.SetStackIndex(1)
		s.Values().Append(1)
		s.AttributeIndices().Append(int32(i + 1))
	}
	return pd
}

// TestQueueOfBytes: a request that is larger than the queue is rejected permanently.
func TestQueueOfBytes(t *testing.T) {
	f := newFixture(t, func(cfg *Config) {
		cfg.QueueConfig = options.NewDefaultQueue()
		cfg.QueueConfig.Get().QueueSize = options.LeastQueueBytes
	})
	large := deliverytest.CPU(t, "a")
	large.Dictionary().StringTable().Append(string(make([]byte, options.LeastQueueBytes)))
	err := f.ConsumeProfiles(t.Context(), large)
	require.ErrorContains(t, err, "sending_queue::queue_size is 1048576")
	assert.True(t, consumererror.IsPermanent(err))
	require.NoError(t, f.ConsumeProfiles(t.Context(), deliverytest.CPU(t, "b")))
	require.Eventually(t, func() bool { return len(f.files(t)) == 1 }, deliverytest.Patience, time.Millisecond)
}

// TestMemoryOfHTTP: profiles that do not fit into the memory are retried.
func TestMemoryOfHTTP(t *testing.T) {
	for _, format := range []string{FormatRaw, FormatPyroscope, FormatPyroscopePush, FormatParca} {
		t.Run(format, func(t *testing.T) {
			s := newSink(t, nil)
			host := newBudgetHost(enough, time.Millisecond)
			p := newPushingAt(t, host, s.URL, func(cfg *Config) { cfg.HTTP.Get().Format = format })
			other := budgettest.Hold(t, host.budget, enough-512<<10)
			pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"))
			err := p.ConsumeProfiles(t.Context(), pd)
			require.ErrorIs(t, err, memory.ErrExhausted)
			assert.False(t, consumererror.IsPermanent(err))
			assert.Empty(t, s.requests())
			other.Release()
			require.NoError(t, p.ConsumeProfiles(t.Context(), pd))
			bodies := 0
			for _, request := range s.requests() {
				bodies += bytes.Count(request.body, []byte{0x1f, 0x8b, 0x08}) + bytes.Count(request.body, []byte("H4sI")) // and in base64
			}
			assert.Equal(t, 2, bodies)
			assert.Zero(t, used(host.budget))
		})
	}
}

// TestMemoryOfLongAttributes: no server takes a URL or a header with a very long attribute, so it is not made.
func TestMemoryOfLongAttributes(t *testing.T) {
	const size = 8 << 20
	for name, set := range map[string]func(http *HTTPConfig){
		"query_resource":   func(http *HTTPConfig) { http.QueryResource = true },
		"query":            func(http *HTTPConfig) { http.Query = map[string]string{"k": "{k}"} },
		"endpoint":         func(http *HTTPConfig) { http.Client.Endpoint += "/{k}" },
		"resource_headers": func(http *HTTPConfig) { http.ResourceHeaders = map[string]string{"k": "{k}"} },
		"pyroscope": func(http *HTTPConfig) {
			http.Format, http.ResourceHeaders = FormatPyroscope, map[string]string{"k": "{k}"}
		},
		"pyroscope_push": func(http *HTTPConfig) {
			http.Format, http.ResourceHeaders = FormatPyroscopePush, map[string]string{"k": "{k}"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink(t, nil)
			p := newPushing(t, s.URL, func(cfg *Config) { set(cfg.HTTP.Get()) })
			pd := deliverytest.CPU(t, "a")
			attributes := pd.ResourceProfiles().At(0).Resource().Attributes()
			attributes.PutStr("k", strings.Repeat("\x01", size))
			allocated := memorytest.Allocated(func() {
				err := p.ConsumeProfiles(t.Context(), pd)
				assert.True(t, consumererror.IsPermanent(err))
				assert.ErrorContains(t, err, "query_resource")
			})
			assert.Less(t, allocated, int64(size))
			assert.Empty(t, s.requests())
			profiles := int64(pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().Len())
			p.assertPoints(t, "profiles_refused", points(profiles, because("too_large")))
			attributes.PutStr("k", strings.Repeat("k", 512))
			require.NoError(t, p.ConsumeProfiles(t.Context(), pd))
			assert.Len(t, s.requests(), 1)
		})
	}
}

// TestMemoryOfLongTypes: no server takes a very long unit, which the configuration for Pyroscope has for each type.
func TestMemoryOfLongTypes(t *testing.T) {
	const size, types = 8 << 20, 8
	p := newPushing(t, newSink(t, nil).URL, func(cfg *Config) { cfg.HTTP.Get().Format = FormatPyroscope })
	pd := pprofile.NewProfiles()
	profiles, table := pd.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles(), pd.Dictionary().StringTable()
	table.Append("", strings.Repeat("\x01", size))
	for i := range types {
		table.Append("t" + strconv.Itoa(i))
		sampleType := profiles.AppendEmpty().SampleType()
		sampleType.SetTypeStrindex(int32(i + 2))
		sampleType.SetUnitStrindex(1)
	}
	allocated := memorytest.Allocated(func() {
		err := p.ConsumeProfiles(t.Context(), pd)
		assert.True(t, consumererror.IsPermanent(err))
		assert.ErrorContains(t, err, "sample types")
	})
	assert.Less(t, allocated, int64(4*size))
	p.assertPoints(t, "profiles_refused", points(types, because("too_large")))
}

// TestMemoryOfSomeProfiles: the profiles that fit into the memory are sent, and the error has only the others, for a retry. From little
// memory to more, there is a size that is enough for the small profile and not for the large one.
func TestMemoryOfSomeProfiles(t *testing.T) {
	const size = 64 << 20
	large := repeating(10_000, 100) // Its pprof is much larger than the message: the copy of the rest needs little.
	large.ResourceProfiles().At(0).Resource().Attributes().PutStr("service.name", "large")
	pd := deliverytest.Request(t, commented(t, "small", 0), large)
	for _, format := range []string{FormatRaw, FormatPyroscope, FormatPyroscopePush, FormatParca} {
		t.Run(format, func(t *testing.T) {
			divided := 0
			for free := int64(1 << 20); divided == 0 && free < size; free += 1 << 20 {
				s := newSink(t, nil)
				host := newBudgetHost(size, time.Millisecond)
				p := newPushingAt(t, host, s.URL, func(cfg *Config) { cfg.HTTP.Get().Format = format })
				other := budgettest.Hold(t, host.budget, size-free)
				err := p.ConsumeProfiles(t.Context(), pd)
				other.Release()
				if err == nil {
					break
				}
				require.ErrorIs(t, err, memory.ErrExhausted)
				rest, isRest := errors.AsType[xconsumererror.Profiles](err)
				if !isRest {
					continue
				}
				divided++
				require.Len(t, s.requests(), 1)
				require.Equal(t, 1, rest.Data().ResourceProfiles().Len())
				assert.Equal(t, "large", attributevalue.Service(rest.Data().ResourceProfiles().At(0).Resource().Attributes()))
				require.NoError(t, p.ConsumeProfiles(t.Context(), rest.Data()))
				assert.Len(t, s.requests(), 2)
				assert.Zero(t, used(host.budget))
			}
			assert.Positive(t, divided)
		})
	}
}

// TestMemoryWhileSending: a destination may be slow. Meanwhile the memory of the encoder is free.
func TestMemoryWhileSending(t *testing.T) {
	host := newBudgetHost(64<<20, time.Millisecond)
	sending := int64(0)
	s := newSink(t, func(int) int { sending = used(host.budget); return http.StatusOK })
	p := newPushingAt(t, host, s.URL, func(cfg *Config) { cfg.HTTP.Get().Format = FormatPyroscopePush })
	require.NoError(t, p.ConsumeProfiles(t.Context(), repeating(100, 10_000)))
	_, peak := host.budget.Used()
	assert.Less(t, sending, peak/2)
	assert.Greater(t, sending, int64(len(s.requests()[0].body)))
}

// TestMemoryOfEarlierPayloads: the body of earlier payloads takes no memory from a payload that fits alone. It is sent first, and
// does not count after that.
func TestMemoryOfEarlierPayloads(t *testing.T) {
	const small = 8
	var parts []pprofile.Profiles
	for i := range small {
		parts = append(parts, commented(t, "a-small-service-"+strconv.Itoa(i), 200<<10))
	}
	// The random comments may have a short name in base64.
	pd := deliverytest.Request(t, append(parts, commented(t, "the-large-service", 800<<10))...)
	for _, format := range []string{FormatPyroscopePush, FormatParca} {
		for name, most := range map[string]int{"sent before": small, "still in the batch": small + 1} {
			t.Run(format+"/"+name, func(t *testing.T) {
				s := newSink(t, nil)
				host := newBudgetHost(24<<20, time.Millisecond)
				p := newPushingAt(t, host, s.URL, func(cfg *Config) {
					cfg.HTTP.Get().Format = format
					cfg.HTTP.Get().MaxSeriesPerRequest = most
				})
				require.NoError(t, p.ConsumeProfiles(t.Context(), pd))
				var bodies strings.Builder
				for _, request := range s.requests() {
					bodies.Write(request.body)
				}
				for _, resource := range pd.ResourceProfiles().All() {
					assert.Equal(t, 1, strings.Count(bodies.String(), attributevalue.Service(resource.Resource().Attributes())))
				}
				assert.Zero(t, used(host.budget))
			})
		}
	}
}

// commented returns a message with a profile of a service that has this many bytes of comments, which gzip cannot make smaller.
func commented(t *testing.T, service string, bytes int) pprofile.Profiles {
	t.Helper()
	const commentBytes = 100 << 10
	p := deliverytest.Parsed(t, deliverytest.SmallCPU(t))
	for range bytes / commentBytes {
		random := make([]byte, commentBytes)
		_, _ = rand.Read(random)
		p.Comments = append(p.Comments, base64.StdEncoding.EncodeToString(random))
	}
	var payload strings.Builder
	require.NoError(t, p.Write(&payload))
	return deliverytest.Decode(t, []byte(payload.String()), map[string]any{"service.name": service})
}
