// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package resourcemetadata

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest/gen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// arrival is one call of the next consumer.
type arrival struct {
	metadata client.Metadata
	profiles pprofile.Profiles
}

// recorder is a next consumer that records its calls and returns the error of answer.
type recorder struct {
	consumertest.Consumer
	mu       sync.Mutex
	arrivals []arrival
	answer   func(service string) error
}

func (*recorder) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (r *recorder) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	metadata := client.FromContext(ctx).Metadata
	if r.answer != nil {
		if err := r.answer(strings.Join(metadata.Get("service.name"), "")); err != nil {
			return err
		}
	}
	r.arrivals = append(r.arrivals, arrival{metadata, pd})
	return nil
}

func (r *recorder) services() []string {
	services := []string{}
	for _, a := range r.arrivals {
		services = append(services, strings.Join(a.metadata.Get("service.name"), ""))
	}
	return services
}

// message returns a message with one resource per service. Each has a function of its own, and one that all share.
func message(services ...string) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().FromRaw([]string{"", "cpu", "nanoseconds", "shared"})
	d.FunctionTable().AppendEmpty()
	d.FunctionTable().AppendEmpty().SetNameStrindex(3)
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1)
	d.StackTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	for i, service := range services {
		d.StringTable().Append("own of " + service + strconv.Itoa(i))
		d.FunctionTable().AppendEmpty().SetNameStrindex(int32(d.StringTable().Len() - 1))
		d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(int32(d.FunctionTable().Len() - 1))
		d.StackTable().AppendEmpty().LocationIndices().FromRaw([]int32{int32(d.LocationTable().Len() - 1), 1})
		resource := pd.ResourceProfiles().AppendEmpty()
		resource.Resource().Attributes().PutStr("service.name", service)
		resource.Resource().Attributes().PutInt("instance", int64(i))
		profile := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
		profile.SampleType().SetTypeStrindex(1)
		profile.SampleType().SetUnitStrindex(2)
		profile.SetProfileID(pprofile.ProfileID{byte(i + 1), byte((i + 1) >> 8)})
		sample := profile.Samples().AppendEmpty()
		sample.SetStackIndex(int32(d.StackTable().Len() - 1))
		sample.Values().Append(int64(i + 1))
	}
	return pd
}

func TestWithoutKeysNothingIsWrapped(t *testing.T) {
	var next xconsumer.Profiles = &recorder{}
	assert.Same(t, next, Wrap(next, nil))
}

func TestOneServiceIsNotSplit(t *testing.T) {
	next := &recorder{}
	pd := message("checkout", "checkout")
	pd.Dictionary().StringTable().Append("an orphan shows that nothing was written")
	pd.MarkReadOnly()
	require.NoError(t, Wrap(next, []string{"service.name"}).ConsumeProfiles(t.Context(), pd))
	require.Len(t, next.arrivals, 1)
	assert.Equal(t, []string{"checkout"}, next.arrivals[0].metadata.Get("service.name"))
	assert.Equal(t, pd, next.arrivals[0].profiles)
}

func TestSplitByService(t *testing.T) {
	next := &recorder{}
	pd := message("a", "b", "a", "c")
	whole := clone(pd)
	require.NoError(t, Wrap(next, []string{"Service.Name"}).ConsumeProfiles(t.Context(), pd))
	assert.Empty(t, next.services()[0], "keys of attributes are case-sensitive")

	next = &recorder{}
	pd = clone(whole)
	require.NoError(t, Wrap(next, []string{"service.name"}).ConsumeProfiles(t.Context(), pd))
	assert.Equal(t, []string{"a", "b", "c"}, next.services())
	joined := []pprofile.Profiles{}
	for i, a := range next.arrivals {
		require.NoError(t, profiletest.CheckOptions{}.Check(a.profiles), "references and zero entries")
		texts := strings.Join(a.profiles.Dictionary().StringTable().AsRaw(), "\n")
		for j, service := range []string{"a", "b", "c"} {
			assert.Equal(t, i == j, strings.Contains(texts, "own of "+service), "%s in the dictionary of part %d", service, i)
		}
		joined = append(joined, a.profiles)
	}
	assert.Empty(t, profiletest.Diff(whole, dedup.Join(joined), profiletest.IgnoreProfileOrder()))
}

func TestClientMetadataIsKept(t *testing.T) {
	next := &recorder{}
	ctx := client.NewContext(t.Context(), client.Info{Metadata: client.NewMetadata(map[string][]string{
		"X-Scope-OrgID": {"one", "two"}, "host.name": {"given"}, "service.name": {"of the header"},
	})})
	require.NoError(t, Wrap(next, []string{"service.name", "host.name"}).ConsumeProfiles(ctx, message("checkout")))
	metadata := next.arrivals[0].metadata
	assert.Equal(t, []string{"one", "two"}, metadata.Get("X-Scope-OrgID"))
	assert.Equal(t, []string{"given"}, metadata.Get("host.name"), "the resource does not have this attribute")
	assert.Equal(t, []string{"checkout"}, metadata.Get("service.name"))
}

func TestMissingAndEmptyAndLongValues(t *testing.T) {
	next := &recorder{}
	long := strings.Repeat("x", maxValueBytes-1)
	pd := message("gone", "", "kept", long+"äb", long+"äc")
	pd.ResourceProfiles().At(0).Resource().Attributes().Clear()
	pd.ResourceProfiles().At(2).Resource().Attributes().PutInt("service.name", 7)
	require.NoError(t, Wrap(next, []string{"service.name"}).ConsumeProfiles(t.Context(), pd))
	require.Len(t, next.arrivals, 4, "longer values are equal up to the limit")
	assert.Nil(t, next.arrivals[0].metadata.Get("service.name"))
	assert.Equal(t, []string{""}, next.arrivals[1].metadata.Get("service.name"))
	assert.Equal(t, []string{"7"}, next.arrivals[2].metadata.Get("service.name"))
	assert.Equal(t, []string{long + "\uFFFD"}, next.arrivals[3].metadata.Get("service.name"))
}

func TestRefusals(t *testing.T) {
	retryable, permanent := errors.New("full"), consumererror.NewPermanent(errors.New("never"))
	for name, c := range map[string]struct {
		answers   map[string]error
		accepted  []string
		permanent bool
		message   string
	}{
		"a retryable error ends the delivery": {map[string]error{"b": retryable}, []string{"a"}, false, "1 of 3 parts of the message were accepted: full"},
		"so does one of several consumers":    {map[string]error{"b": errors.Join(permanent, retryable)}, []string{"a"}, false, "1 of 3 parts of the message were accepted: Permanent error: never\nfull"},
		"permanent errors do not":             {map[string]error{"a": permanent, "b": permanent}, []string{"c"}, true, "2 of 3 parts of the message were refused"},
		"both":                                {map[string]error{"a": permanent, "b": retryable}, []string{}, false, "0 of 3 parts of the message were accepted: full"},
	} {
		t.Run(name, func(t *testing.T) {
			next := &recorder{answer: func(service string) error { return c.answers[service] }}
			err := Wrap(next, []string{"service.name"}).ConsumeProfiles(t.Context(), message("a", "b", "c"))
			require.ErrorContains(t, err, c.message)
			assert.Equal(t, c.permanent, consumererror.IsPermanent(err))
			assert.Equal(t, c.accepted, next.services())
		})
	}
}

func TestBrokenReferences(t *testing.T) {
	next := &recorder{}
	wrapped := Wrap(next, []string{"service.name"})
	pd := message("a", "b", "c")
	pd.ResourceProfiles().At(2).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0).SetStackIndex(1000)
	err := wrapped.ConsumeProfiles(t.Context(), pd)
	require.ErrorContains(t, err, "index 1000 of the stack table does not exist")
	assert.True(t, consumererror.IsPermanent(err))
	assert.Empty(t, next.arrivals, "all or nothing")

	alone := message("a")
	alone.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0).SetStackIndex(1000)
	require.NoError(t, wrapped.ConsumeProfiles(t.Context(), alone), "the references of a message that is not split are not checked")
}

func TestTooManyValues(t *testing.T) {
	services := make([]string, maxParts)
	for i := range services {
		services[i] = fmt.Sprint("service-", i)
	}
	next := &recorder{}
	require.NoError(t, Wrap(next, []string{"service.name"}).ConsumeProfiles(t.Context(), message(services...)))
	assert.Equal(t, services, next.services())

	err := Wrap(&recorder{}, []string{"service.name"}).ConsumeProfiles(t.Context(), message(append(services, "one more")...))
	require.ErrorContains(t, err, "1001 different values, at most 1000 are allowed")
	assert.True(t, consumererror.IsPermanent(err))
	assert.Equal(t, codes.InvalidArgument, status.Code(errors.Unwrap(err)))
}

// TestPartsHaveReservations: each part has a reservation of its own for its size and a copy, beside what is left of the message. The first
// parts take the bytes of the message.
func TestPartsHaveReservations(t *testing.T) {
	budget := memory.New(1<<20, time.Second)
	pd := message("a", "b", "c")
	left := int64(dictionary.MemoryOf(pd.Dictionary()))
	request := must.Get(budgettest.Reserve(t.Context(), budget, memory.MessageFactor*dictionary.MessageMemory(pd)))(t)
	all, parts := request.Bytes(), 0
	next := xconsumerFunc(func(ctx context.Context, part pprofile.Profiles) error {
		parts++
		needed := memory.MessageFactor * dictionary.MessageMemory(part)
		assert.Equal(t, needed, memory.FromContext(ctx).Bytes())
		assert.GreaterOrEqual(t, request.Bytes(), left)
		used, _ := budget.Used()
		assert.Equal(t, max(all, left+needed), used)
		return nil
	})
	require.NoError(t, Wrap(next, []string{"service.name"}).ConsumeProfiles(memory.NewContext(t.Context(), request), pd))
	assert.Equal(t, 3, parts)
	assert.Equal(t, all, request.Bytes())
	request.Release()
}

// TestPartsOfALargeMessage: a message that was admitted is passed on, also if a part does not fit into the budget beside the message.
func TestPartsOfALargeMessage(t *testing.T) {
	for _, percent := range []int64{50, 70, 87} {
		pd := message("a", "b")
		pd.Dictionary().StringTable().SetAt(3, strings.Repeat("shared", 10_000))
		needed := memory.MessageFactor * dictionary.MessageMemory(pd)
		budget := memory.New(needed*100/percent, time.Second)
		request := must.Get(budgettest.Reserve(t.Context(), budget, needed))(t)
		next := &recorder{}
		require.NoError(t, Wrap(next, []string{"service.name"}).ConsumeProfiles(memory.NewContext(t.Context(), request), pd))
		assert.Equal(t, []string{"a", "b"}, next.services(), "%d %% of the budget", percent)
		request.Release()
		used, _ := budget.Used()
		assert.Zero(t, used)
	}
}

// TestSenderLeavesBetweenParts: the rest of a message is not split.
func TestSenderLeavesBetweenParts(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	parts := 0
	next := xconsumerFunc(func(context.Context, pprofile.Profiles) error {
		parts++
		leave()
		return nil
	})
	err := Wrap(next, []string{"service.name"}).ConsumeProfiles(ctx, message("a", "b", "c"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "1 of 3 parts of the message were accepted")
	assert.False(t, consumererror.IsPermanent(err))
	assert.Equal(t, 1, parts)
}

// xconsumerFunc is a next consumer.
type xconsumerFunc func(ctx context.Context, pd pprofile.Profiles) error

func (xconsumerFunc) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (f xconsumerFunc) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	return f(ctx, pd)
}

// TestNothingIsLost splits random messages and checks that their parts together are equal to the message.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pd := gen.Profiles().Draw(t, "message")
		for i, resource := range pd.ResourceProfiles().All() {
			if name := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "service"); name != "" {
				resource.Resource().Attributes().PutStr("part.by", name)
			}
			resource.Resource().Attributes().PutInt("position", int64(i))
		}
		whole := clone(pd)
		next := &recorder{}
		require.NoError(t, Wrap(next, []string{"part.by"}).ConsumeProfiles(context.Background(), pd))
		parts := []pprofile.Profiles{}
		for _, a := range next.arrivals {
			for _, resource := range a.profiles.ResourceProfiles().All() {
				want := []string(nil)
				if value, found := resource.Resource().Attributes().Get("part.by"); found {
					want = []string{value.AsString()}
				}
				require.Equal(t, want, a.metadata.Get("part.by"))
			}
			parts = append(parts, a.profiles)
		}
		require.Empty(t, profiletest.Diff(whole, dedup.Join(parts), profiletest.IgnoreProfileOrder()))
	})
}

// TestConcurrentMessages splits messages concurrently. One of them is shared and must not be changed.
func TestConcurrentMessages(t *testing.T) {
	next := &recorder{}
	wrapped := Wrap(next, []string{"service.name"})
	shared := message("a", "b")
	shared.MarkReadOnly()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { assert.NoError(t, wrapped.ConsumeProfiles(t.Context(), shared)) })
		all.Go(func() { assert.NoError(t, wrapped.ConsumeProfiles(t.Context(), message("a", "b"))) })
	}
	all.Wait()
	assert.Len(t, next.arrivals, 32)
	for _, a := range next.arrivals {
		assert.Equal(t, 1, a.profiles.ResourceProfiles().Len())
		assert.Equal(t, 1, a.profiles.SampleCount())
	}
}

func clone(pd pprofile.Profiles) pprofile.Profiles {
	own := pprofile.NewProfiles()
	pd.CopyTo(own)
	return own
}

// TestDeepValues: a value of a million levels does not overflow a stack of 1 MiB.
func TestDeepValues(t *testing.T) {
	profiletest.LimitStack(t, 1<<20)
	next := &recorder{}
	pd := message("a", "b")
	profiletest.Nest(pd.ResourceProfiles().At(0).Resource().Attributes().PutEmpty("service.name"), 1_000_000)
	require.NoError(t, Wrap(next, []string{"service.name"}).ConsumeProfiles(t.Context(), pd))
	require.Len(t, next.arrivals, 2)
	value := next.arrivals[0].metadata.Get("service.name")[0]
	assert.True(t, strings.HasPrefix(value, `[{"k":[{"k":`))
	assert.Contains(t, value, `{"k":"…"}`)
}
