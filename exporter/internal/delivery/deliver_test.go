// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelpprof/otelpprof/exporter/internal/deliverytest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

var errDisk = errors.New("disk trouble")

// deliverTo delivers a request and returns the services for which write was called. fail returns the error of write.
func deliverTo(ctx context.Context, pd pprofile.Profiles, fail func(service string) error) ([]string, []*Refusal, error) {
	var services []string
	p := Begin(ctx, pd)
	defer p.Release()
	err := p.Each(ctx, pprof.NewEncoder(pprof.EncodeOptions{}).All(pd), func(payload *pprof.Payload) error {
		service, _ := payload.Resource.Attributes().Get("service.name")
		services = append(services, service.Str())
		err := fail(service.Str())
		if err == nil {
			p.Done(PositionsOf(payload)...)
		}
		return err
	})
	return services, p.refusals, p.End(ctx, silent, err)
}

// silent is a telemetry that counts nothing.
var silent = NewTelemetry(exportertest.NewNopSettings(component.MustNewType("pprof")), Counters{
	noop.Int64Counter{}, noop.Int64Counter{}, noop.Int64Counter{}, noop.Int64Counter{},
})

func failing(services ...string) func(string) error {
	return func(service string) error {
		if slices.Contains(services, service) {
			return errDisk
		}
		return nil
	}
}

func servicesOf(pd pprofile.Profiles) []string {
	var services []string
	for _, resource := range pd.ResourceProfiles().All() {
		service, _ := resource.Resource().Attributes().Get("service.name")
		services = append(services, service.Str())
	}
	return services
}

func TestDeliverAll(t *testing.T) {
	services, refusals, err := deliverTo(t.Context(), deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b")), failing())
	require.NoError(t, err)
	assert.Empty(t, refusals)
	assert.Equal(t, []string{"a", "b"}, services)
	_, _, err = deliverTo(t.Context(), pprofile.NewProfiles(), failing())
	require.NoError(t, err)
}

// TestDeliverBadProfiles: an invalid profile does not affect the other profiles.
func TestDeliverBadProfiles(t *testing.T) {
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"), deliverytest.CPU(t, "c"), deliverytest.CPU(t, "d"))
	bad := deliverytest.Spoil(pd, 0) + deliverytest.Spoil(pd, 2)
	services, refusals, err := deliverTo(t.Context(), pd, failing())
	require.Error(t, err)
	assert.True(t, consumererror.IsPermanent(err))
	assert.Equal(t, codes.InvalidArgument, status.Code(err), "the sender is the cause")
	assert.Equal(t, []string{"b", "d"}, services)
	require.Len(t, refusals, bad)
	for i, r := range refusals {
		assert.Equal(t, ReasonInvalid, r.Reason)
		assert.Equal(t, map[string]int{[]string{"a", "c"}[i/(bad/2)]: 1}, r.services)
		assert.ErrorContains(t, err, r.Error())
	}
	assert.ErrorContains(t, err, "1073741824")
}

// TestDeliverEndsAmongBadProfiles: a request that is canceled ends also if all of its profiles are invalid.
func TestDeliverEndsAmongBadProfiles(t *testing.T) {
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"))
	deliverytest.Spoil(pd, 0)
	deliverytest.Spoil(pd, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	services, refusals, err := deliverTo(ctx, pd, failing())
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, consumererror.IsPermanent(err))
	assert.Empty(t, services)
	assert.Empty(t, refusals)
}

// TestDeliverRetriesTheRest: after a failure, the error contains only the profiles that were not delivered.
func TestDeliverRetriesTheRest(t *testing.T) {
	parts := []string{"a", "b", "c"}
	for i, service := range parts {
		pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"), deliverytest.CPU(t, "c"))
		services, refusals, err := deliverTo(t.Context(), pd, failing(service))
		require.ErrorIs(t, err, errDisk)
		assert.False(t, consumererror.IsPermanent(err))
		assert.Empty(t, refusals)
		assert.Equal(t, parts[:i+1], services, "it stops there")
		rest, found := errors.AsType[xconsumererror.Profiles](err)
		assert.Equal(t, i > 0, found, "the whole request needs no copy")
		if found {
			assert.Equal(t, parts[i:], servicesOf(rest.Data()))
			assert.Empty(t, profiletest.Diff(deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"), deliverytest.CPU(t, "c")), pd), "the request itself does not change")
			again, _, err := deliverTo(t.Context(), rest.Data(), failing())
			require.NoError(t, err)
			assert.Equal(t, parts[i:], again)
		}
	}
}

// TestDeliverBadProfilesAndFailure: an invalid profile before the failure is counted as refused. One after it is not counted
// yet. The error is retryable.
func TestDeliverBadProfilesAndFailure(t *testing.T) {
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"), deliverytest.CPU(t, "c"), deliverytest.CPU(t, "d"))
	addBad := func(pd pprofile.Profiles, resource int) {
		profiles := pd.ResourceProfiles().At(resource).ScopeProfiles().At(0).Profiles()
		added := profiles.AppendEmpty()
		profiles.At(0).CopyTo(added)
		added.Samples().At(0).SetStackIndex(1 << 30)
	}
	scopes := pd.ResourceProfiles().At(2).ScopeProfiles()
	second := scopes.AppendEmpty()
	scopes.At(0).CopyTo(second)
	addBad(pd, 0)
	addBad(pd, 2)
	addBad(pd, 3)
	payloads := 0
	_, refusals, err := deliverTo(t.Context(), pd, func(service string) error {
		if service == "c" {
			payloads++
		}
		if payloads == 2 { // after the invalid profile
			return errDisk
		}
		return nil
	})
	require.ErrorIs(t, err, errDisk)
	assert.False(t, consumererror.IsPermanent(err))
	require.Len(t, refusals, 2)
	assert.Equal(t, map[string]int{"a": 1}, refusals[0].services)
	assert.Equal(t, map[string]int{"c": 1}, refusals[1].services)

	rest, found := errors.AsType[xconsumererror.Profiles](err)
	require.True(t, found)
	_, refusals, err = deliverTo(t.Context(), rest.Data(), failing())
	assert.True(t, consumererror.IsPermanent(err))
	assert.Len(t, refusals, 1)
}

// TestDeliverRefusalOfTheDestination: after a refusal by write, the delivery continues. The refusal has the number of profiles.
func TestDeliverRefusalOfTheDestination(t *testing.T) {
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"))
	services, refusals, err := deliverTo(t.Context(), pd, func(service string) error {
		if service == "a" {
			return &Refusal{Reason: "blocked", Err: errDisk}
		}
		return nil
	})
	assert.True(t, consumererror.IsPermanent(err))
	require.ErrorIs(t, err, errDisk)
	assert.Equal(t, codes.Unknown, status.Code(err), "the sender is not the cause")
	assert.Equal(t, []string{"a", "b"}, services)
	require.Len(t, refusals, 1)
	assert.Equal(t, map[string]int{"a": 2}, refusals[0].services)
}

func TestDeliverUntilTheTimeout(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	pd := deliverytest.Request(t, deliverytest.CPU(t, "a"), deliverytest.CPU(t, "b"), deliverytest.CPU(t, "c"))
	services, _, err := deliverTo(ctx, pd, func(string) error { cancel(errDisk); return nil })
	require.ErrorIs(t, err, errDisk)
	assert.False(t, consumererror.IsPermanent(err))
	assert.Equal(t, []string{"a"}, services)
	rest, found := errors.AsType[xconsumererror.Profiles](err)
	require.True(t, found)
	assert.Equal(t, []string{"b", "c"}, servicesOf(rest.Data()))
}

func TestDeliverManyBadProfiles(t *testing.T) {
	parts := make([]pprofile.Profiles, maxErrors+5)
	for i := range parts {
		parts[i] = deliverytest.CPU(t, string(rune('a'+i)))
	}
	_, refusals, err := deliverTo(t.Context(), deliverytest.Request(t, parts...), func(string) error {
		return &Refusal{Reason: "blocked", Err: errDisk}
	})
	assert.Len(t, refusals, maxErrors+5)
	assert.ErrorContains(t, err, "and 5 more")
}
