// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/collector/processor/xprocessor"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/budgettest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/processor/profilededuplicator/internal/metadata"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// upload returns a canonical message with one profile of CPU time. It has a sample for each value, in the functions f0, f1
// and so on.
func upload(service string, id byte, values ...int64) pprofile.Profiles {
	pd := pprofile.NewProfiles()
	d := pd.Dictionary()
	d.StringTable().FromRaw([]string{"", "cpu", "nanoseconds"})
	d.FunctionTable().AppendEmpty()
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	resource := pd.ResourceProfiles().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", service)
	p := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SetProfileID(pprofile.ProfileID{id})
	p.SampleType().SetTypeStrindex(1)
	p.SampleType().SetUnitStrindex(2)
	p.SetTime(pcommon.Timestamp(1000 + int64(id)))
	p.SetDurationNano(10)
	for i, value := range values {
		d.StringTable().Append(fmt.Sprintf("f%d", i))
		d.FunctionTable().AppendEmpty().SetNameStrindex(int32(3 + i))
		location := d.LocationTable().AppendEmpty()
		location.Lines().AppendEmpty().SetFunctionIndex(int32(1 + i))
		d.StackTable().AppendEmpty().LocationIndices().Append(int32(1 + i))
		sample := p.Samples().AppendEmpty()
		sample.SetStackIndex(int32(1 + i))
		sample.Values().Append(value)
	}
	return pd
}

// spoil gives the first sample of each profile a stack that does not exist.
func spoil(pd pprofile.Profiles) pprofile.Profiles {
	for p := range walk.Profiles(pd) {
		p.Samples().At(0).SetStackIndex(1 << 20)
	}
	return pd
}

// together joins messages into one, as a client may send it.
func together(messages ...pprofile.Profiles) pprofile.Profiles { return dedup.Join(messages) }

func clone(pd pprofile.Profiles) pprofile.Profiles {
	result := pprofile.NewProfiles()
	pd.CopyTo(result)
	return result
}

// sink is a next consumer. Safe for concurrent use.
type sink struct {
	mutates bool
	// retains reports whether it retains the reservation of each message.
	retains bool
	// answer returns the error for each call, counted from 1. If it is nil, all calls succeed.
	answer func(call int, pd pprofile.Profiles) error

	mu     sync.Mutex
	called []time.Time
	kept   []pprofile.Profiles
	under  []context.Context
}

func (s *sink) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: s.mutates}
}

func (s *sink) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	s.mu.Lock()
	s.called = append(s.called, time.Now())
	call := len(s.called)
	s.mu.Unlock()
	if s.answer != nil {
		if err := s.answer(call, pd); err != nil {
			return err
		}
	}
	s.keep(ctx, pd)
	return nil
}

func (s *sink) keep(ctx context.Context, pd pprofile.Profiles) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, clone(pd))
	if s.retains {
		memory.FromContext(ctx).Retain()
	}
	s.under = append(s.under, ctx)
}

// calls returns the number of calls.
func (s *sink) calls() int { return len(s.times()) }

// times returns the time of each call.
func (s *sink) times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.called
}

// taken returns the accepted messages.
func (s *sink) taken() []pprofile.Profiles {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

// contexts returns the contexts of the accepted messages.
func (s *sink) contexts() []context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under
}

// forget removes all recorded calls.
func (s *sink) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.called, s.kept, s.under = nil, nil, nil
}

// totals returns the sums of the accepted values by service and profile id.
func (s *sink) totals() map[string]int64 { return totals(s.taken()...) }

func totals(messages ...pprofile.Profiles) map[string]int64 {
	sums := map[string]int64{}
	for _, pd := range messages {
		for resource, scope := range walk.Scopes(pd) {
			service, _ := resource.Resource().Attributes().Get("service.name")
			for _, p := range scope.Profiles().All() {
				for _, sample := range p.Samples().All() {
					for _, value := range sample.Values().All() {
						sums[fmt.Sprintf("%s/%d", service.Str(), p.ProfileID()[0])] += value
					}
				}
			}
		}
	}
	return sums
}

// fixture is a running processor.
type fixture struct {
	xprocessor.Profiles
	next      *sink
	telemetry *componenttest.Telemetry
	logs      *observer.ObservedLogs
	// budget is the memory budget. Nothing may be reserved after the shutdown.
	budget *memory.Budget
}

// ConsumeProfiles passes a message to the processor as the Collector's service does.
func (f *fixture) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	return service{f.Profiles}.ConsumeProfiles(ctx, pd)
}

// exhausted returns a reservation of one byte, from a budget of which others hold the rest.
func exhausted(tb testing.TB) *memory.Reservation {
	tb.Helper()
	budget := memory.New(1<<30, time.Second)
	tb.Cleanup(budgettest.Hold(tb, budget, 1<<30-1).Release)
	rest, err := budgettest.Reserve(tb.Context(), budget, 1)
	require.NoError(tb, err)
	return rest
}

// start starts a processor in front of next. The processor is shut down at the end of the test.
func start(tb testing.TB, next *sink, change func(*Config)) *fixture {
	tb.Helper()
	return startWithin(tb, 1<<30, next, change)
}

// startWithin starts the processor with a memory budget of so many bytes.
func startWithin(tb testing.TB, bytes int64, next *sink, change func(*Config)) *fixture {
	tb.Helper()
	cfg := createDefaultConfig().(*Config)
	if change != nil {
		change(cfg)
	}
	f := &fixture{next: next, telemetry: componenttest.NewTelemetry(), budget: memory.New(bytes, time.Second)}
	set := processortest.NewNopSettings(metadata.Type)
	set.ID, set.TelemetrySettings = component.NewID(metadata.Type), f.telemetry.NewTelemetrySettings()
	core, logs := observer.New(zap.InfoLevel)
	set.Logger, f.logs = zap.New(core), logs
	var err error
	f.Profiles, err = NewFactory().CreateProfiles(tb.Context(), set, cfg, service{next})
	require.NoError(tb, err)
	require.NoError(tb, f.Start(tb.Context(), budgettest.NewHost(f.budget)))
	tb.Cleanup(func() {
		// The context of the test has ended by now.
		assert.NoError(tb, f.Shutdown(context.Background()))
		used, _ := f.budget.Used()
		assert.Zero(tb, used, "what is not held is not charged")
		assert.NoError(tb, f.telemetry.Shutdown(context.Background()))
	})
	return f
}

// batchOf enables batches with a timeout of one second, without waiting for the result, and with retries at fixed intervals.
func batchOf(change func(*BatchConfig)) func(*Config) {
	return waitOf(func(section *BatchConfig) {
		section.WaitForResult, section.Timeout = false, time.Second
		section.RetryConfig.Enabled, section.RetryConfig.RandomizationFactor = true, 0
		if change != nil {
			change(section)
		}
	})
}

// waitOf enables batches whose senders wait for the result.
func waitOf(change func(*BatchConfig)) func(*Config) {
	return func(cfg *Config) {
		section := cfg.Batch.GetOrInsertDefault()
		if change != nil {
			change(section)
		}
	}
}

// keepAll keeps what is dropped because strict readers refuse it.
func keepAll(cfg *Config) {
	cfg.LinksWithoutSpan = "keep"
	cfg.TimestampsOutside = "keep"
}

// repeatedOf enables drop_repeated, in addition to change.
func repeatedOf(change func(*Config)) func(*Config) {
	return func(cfg *Config) {
		cfg.DropRepeated = configoptional.Some(defaultDropRepeatedConfig())
		if change != nil {
			change(cfg)
		}
	}
}

// pass advances the time by d and waits until all goroutines are blocked.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func from(ctx context.Context, key, value string) context.Context {
	return client.NewContext(ctx, client.Info{Metadata: client.NewMetadata(map[string][]string{key: {value}})})
}

func requireCanonical(tb testing.TB, pd pprofile.Profiles) {
	tb.Helper()
	require.NoError(tb, profiletest.CheckOptions{Deduplicated: true}.Check(pd))
}

// ownMessages returns the profiles of testdata/pprof as OTLP bytes.
func ownMessages(tb testing.TB) map[string][]byte {
	tb.Helper()
	messages := map[string][]byte{}
	decoder := pprof.NewDecoder(pprof.DecodeOptions{})
	for _, file := range profiletest.OwnPprofs(tb) {
		pd, _, err := decoder.Decode(file.Bytes(tb), pprof.Source{})
		require.NoError(tb, err)
		messages[file.Name] = profiletest.Marshal(tb, pd)
	}
	return messages
}
