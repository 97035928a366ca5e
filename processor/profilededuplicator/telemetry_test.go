// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/testkit/metrictest"
)

func attributesOf(more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(more, attribute.String("processor", "profile_deduplicator"))...)
}

// points has the data points of a metric of one number, with at most one more attribute.
func points(value int64, more ...attribute.KeyValue) []metricdata.DataPoint[int64] {
	return []metricdata.DataPoint[int64]{{Value: value, Attributes: attributesOf(more...)}}
}

// assertPoints compares the data points of a counter or gauge.
func (f *fixture) assertPoints(t *testing.T, name string, want []metricdata.DataPoint[int64]) {
	t.Helper()
	metrictest.AssertPoints(t, f.telemetry, "otelcol_processor_profile_deduplicator_"+name, want)
}

func because(reason string) attribute.KeyValue { return attribute.String("reason", reason) }

// tables has the data points of a metric of dictionary entries.
func tables(counts [len(dictionary.TableNames)]int) []metricdata.DataPoint[int64] {
	var all []metricdata.DataPoint[int64]
	for i, name := range dictionary.TableNames {
		all = append(all, points(int64(counts[i]), attribute.String("table", name))...)
	}
	return all
}

func (f *fixture) requireUnset(tb testing.TB, metrics ...string) {
	tb.Helper()
	for _, name := range metrics {
		_, err := f.telemetry.GetMetric("otelcol_processor_profile_deduplicator_" + name)
		assert.Error(tb, err, name)
	}
}

// doubled returns the message of upload with each table entry and each sample twice.
func doubled() (pd pprofile.Profiles, in, out content) {
	single := upload("checkout", 1, 3, 4)
	pd = together(upload("checkout", 1, 3, 4), upload("checkout", 1, 3, 4))
	profiles := pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	pd.ResourceProfiles().At(1).ScopeProfiles().At(0).Profiles().At(0).Samples().MoveAndAppendTo(profiles.At(0).Samples())
	pd.ResourceProfiles().At(1).ScopeProfiles().At(0).Profiles().RemoveIf(func(pprofile.Profile) bool { return true })
	in, out = contentOf(pd), contentOf(single)
	// The values are sums: 6 and 8 take as many bytes as 3 and 4.
	return pd, in, out
}

func TestMetricsOfMessages(t *testing.T) {
	f := start(t, &sink{}, nil)
	pd, in, out := doubled()
	assert.Equal(t, content{profiles: 1, samples: 4, entries: [...]int{10, 6, 2, 6, 6, 2, 2}, bytes: in.bytes}, in)
	assert.Equal(t, content{profiles: 1, samples: 2, entries: [...]int{5, 3, 1, 3, 3, 1, 1}, bytes: out.bytes}, out)
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd))

	f.assertPoints(t, "incoming_profiles", points(1))
	f.assertPoints(t, "incoming_samples", points(4))
	f.assertPoints(t, "incoming_bytes", points(int64(in.bytes)))
	f.assertPoints(t, "incoming_dictionary_entries", tables(in.entries))
	f.assertPoints(t, "outgoing_profiles", points(1))
	f.assertPoints(t, "outgoing_samples", points(2))
	f.assertPoints(t, "outgoing_dictionary_entries", tables(out.entries))
	f.assertPoints(t, "saved_bytes", points(int64(in.bytes-out.bytes)))
	f.requireUnset(t, "repeated_profiles", "remembered_ids", "held_bytes", "held_tenants", "batch_messages", "retries", "lost_profiles")

	// A canonical message does not change.
	require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 3, 4)))
	f.assertPoints(t, "outgoing_samples", points(4))
	f.assertPoints(t, "saved_bytes", points(int64(in.bytes-out.bytes)))
}

// A message that the next consumer refuses counts as incoming, but not as outgoing.
func TestMetricsOfRefusedMessages(t *testing.T) {
	f := start(t, &sink{answer: refuse(1, errNotNow)}, nil)
	pd, in, _ := doubled()
	require.Error(t, f.ConsumeProfiles(t.Context(), pd))
	f.assertPoints(t, "incoming_bytes", points(int64(in.bytes)))
	f.requireUnset(t, "outgoing_profiles", "outgoing_samples", "outgoing_dictionary_entries", "saved_bytes", "refused_messages")
}

func TestProcessingDurationIsWithoutTheNextConsumer(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{answer: func(int, pprofile.Profiles) error {
			time.Sleep(time.Minute)
			return nil
		}}
		for _, change := range []func(*Config){nil, batchOf(nil)} {
			f := start(t, next, change)
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
			require.NoError(t, f.Shutdown(t.Context()))
			metric, err := f.telemetry.GetMetric("otelcol_processor_profile_deduplicator_processing_duration")
			require.NoError(t, err)
			point := metric.Data.(metricdata.Histogram[float64]).DataPoints[0]
			assert.EqualValues(t, 1, point.Count)
			assert.Zero(t, point.Sum, "no time passes here but in the next consumer")
		}
	})
}

func TestMetricsOfRepairs(t *testing.T) {
	f := start(t, &sink{}, func(cfg *Config) {
		cfg.DropZeroSamples, cfg.DropEmptyProfiles, cfg.DropAttributes = true, true, []string{"thread.id"}
	})
	unequal := upload("unequal", 2, 1)
	sampleOf(unequal).TimestampsUnixNano().FromRaw([]uint64{1003, 1004})
	twice := upload("twice", 3, 1)
	addAttribute(twice, "key", "a")
	addAttribute(twice, "key", "b")
	thread := upload("thread", 4, 1, 0)
	addAttribute(thread, "thread.id", "12")
	mixed := upload("mixed", 5, 1, 2)
	samples := mixed.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples()
	samples.At(1).SetStackIndex(1)
	samples.At(1).TimestampsUnixNano().FromRaw([]uint64{1006})
	mixed.Dictionary().StringTable().SetAt(3, "f\xff")
	code := thread.Dictionary()
	code.LocationTable().At(1).Lines().At(0).SetLine(-1)
	code.FunctionTable().AppendEmpty().SetStartLine(5)
	code.LocationTable().At(1).Lines().AppendEmpty().SetFunctionIndex(int32(code.FunctionTable().Len() - 1))
	partial := upload("partial", 6, 1)
	partial.Dictionary().LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{1})
	sampleOf(partial).SetLinkIndex(int32(partial.Dictionary().LinkTable().Len() - 1))
	require.NoError(t, f.ConsumeProfiles(t.Context(),
		together(spoil(upload("index", 1, 1)), unequal, twice, thread, mixed, partial, upload("empty", 7))))

	f.assertPoints(t, "invalid_profiles", append(append(
		points(1, because("index_out_of_range")), points(1, because("unequal_lengths"))...),
		points(1, because("duplicate_key"))...))
	f.assertPoints(t, "dropped_attributes", points(1))
	f.assertPoints(t, "dropped_zero_samples", points(1))
	f.assertPoints(t, "dropped_links", points(1))
	f.assertPoints(t, "dropped_empty_profiles", points(1))
	f.assertPoints(t, "mixed_shape_samples", points(1))
	f.assertPoints(t, "cleared_lines", points(1))
	f.assertPoints(t, "named_functions", points(1))
	f.assertPoints(t, "mended_texts", points(1))
	f.assertPoints(t, "outgoing_profiles", points(3))
	var dropped []string
	for _, entry := range f.logs.FilterMessageSnippet("Dropped profiles").All() {
		fields := entry.ContextMap()
		dropped = append(dropped, fmt.Sprint(entry.Level, " ", fields["service"], " ", fields["reason"], " ", fields["profiles"]))
	}
	assert.ElementsMatch(t, []string{"warn index index_out_of_range 1", "warn unequal unequal_lengths 1", "warn twice duplicate_key 1"}, dropped)
}

func sampleOf(pd pprofile.Profiles) pprofile.Sample {
	return pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0)
}

// addAttribute gives the first sample an attribute.
func addAttribute(pd pprofile.Profiles, key, value string) {
	d := pd.Dictionary()
	d.StringTable().Append(key)
	attribute := d.AttributeTable().AppendEmpty()
	attribute.SetKeyStrindex(int32(d.StringTable().Len() - 1))
	attribute.Value().SetStr(value)
	sampleOf(pd).AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
}

func TestMetricsOfRepeatedProfiles(t *testing.T) {
	f := start(t, &sink{}, repeatedOf(func(cfg *Config) { cfg.DropRepeated.Get().MaxEntries = 2 }))
	pd := func() pprofile.Profiles { return together(upload("checkout", 1, 1), upload("checkout", 2, 1)) }
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd()))
	require.NoError(t, f.ConsumeProfiles(t.Context(), pd()))
	f.assertPoints(t, "repeated_profiles", points(2))
	f.assertPoints(t, "remembered_ids", points(2))
	f.assertPoints(t, "incoming_profiles", points(4))
	f.assertPoints(t, "outgoing_profiles", points(2))
	f.requireUnset(t, "evicted_ids")
	require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 3, 1)))
	f.assertPoints(t, "evicted_ids", points(1))
	f.assertPoints(t, "remembered_ids", points(2))
}

func TestMetricsOfRefusals(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f := start(t, &sink{}, repeatedOf(func(cfg *Config) {
			cfg.OnInvalid = dedup.Reject
			batchOf(func(cfg *BatchConfig) {
				cfg.MetadataKeys, cfg.MetadataCardinalityLimit = []string{"x-tenant"}, 1
				cfg.MaxBytes, cfg.MaxHeldBytes = 0, 2*dictionary.MessageMemory(upload("checkout", 1, 1))+2*messageOverhead+100
			})(cfg)
		}))
		require.Error(t, f.ConsumeProfiles(t.Context(), spoil(upload("checkout", 1, 1))))
		require.Error(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, make([]int64, 1000)...)))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 3, 1)))
		require.Error(t, f.ConsumeProfiles(memory.NewContext(t.Context(), exhausted(t)), upload("checkout", 8, 1)))
		synctest.Wait()
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 9, 1)))
		require.Error(t, f.ConsumeProfiles(from(t.Context(), "x-tenant", "b"), upload("checkout", 4, 1)))
		synctest.Wait()
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 5, 1)))
		require.Error(t, f.ConsumeProfiles(t.Context(), upload("checkout", 6, make([]int64, 8)...)))
		require.NoError(t, f.Profiles.(*deduplicator).batching.stop(t.Context()))
		require.Error(t, f.ConsumeProfiles(t.Context(), upload("checkout", 7, 1)))

		var want []metricdata.DataPoint[int64]
		for _, reason := range []string{"invalid", "too_large", "held_bytes", "memory_budget", "tenants", "stopped"} {
			want = append(want, points(1, because(reason))...)
		}
		f.assertPoints(t, "refused_messages", want)
	})
}

// histogram returns the count and the sum of a histogram for batches with this trigger.
func (f *fixture) histogram(t *testing.T, name, trigger string) (count uint64, sum int64) {
	t.Helper()
	metric, err := f.telemetry.GetMetric("otelcol_processor_profile_deduplicator_" + name)
	require.NoError(t, err)
	for _, point := range metric.Data.(metricdata.Histogram[int64]).DataPoints {
		if value, _ := point.Attributes.Value("trigger"); value.AsString() == trigger {
			return point.Count, point.Sum
		}
	}
	return 0, 0
}

func TestMetricsOfBatches(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		next := &sink{}
		f := start(t, next, batchOf(func(cfg *BatchConfig) { cfg.MaxSamples, cfg.MaxBytes = 20, 3000 }))
		in := contentOf(upload("checkout", 1, 3, 4))
		consume := func(n int, id byte) {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", id, make([]int64, n)...)))
			synctest.Wait()
		}
		for range 3 {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 3, 4)))
		}
		memory, _ := f.Profiles.(*deduplicator).batching.usage()
		assert.Equal(t, 3*(dictionary.MessageMemory(upload("checkout", 1, 3, 4))+messageOverhead), memory)
		f.assertPoints(t, "held_bytes", points(memory))
		f.assertPoints(t, "held_tenants", points(1))
		pass(time.Second)
		f.assertPoints(t, "held_bytes", points(0))
		f.assertPoints(t, "held_tenants", points(0))
		out := contentOf(next.taken()[0])
		f.assertPoints(t, "incoming_dictionary_entries", tables([...]int{15, 9, 3, 9, 9, 3, 3}))
		f.assertPoints(t, "outgoing_dictionary_entries", tables([...]int{5, 3, 1, 3, 3, 1, 1}))
		f.assertPoints(t, "saved_bytes", points(int64(3*in.bytes-out.bytes)))

		consume(25, 2)
		large := upload("checkout", 3, 1, 2, 3, 4, 5, 6)
		large.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).OriginalPayload().FromRaw(make([]byte, 2800))
		require.NoError(t, f.ConsumeProfiles(t.Context(), large))
		synctest.Wait()
		consume(1, 4)
		require.NoError(t, f.Profiles.(*deduplicator).batching.stop(t.Context()))

		for trigger, want := range map[string][4]int64{
			"timeout":  {1, 3, 6, int64(out.bytes)},
			"samples":  {1, 1, 25, int64(contentOf(next.taken()[1]).bytes + contentOf(next.taken()[2]).bytes)},
			"bytes":    {1, 1, 6, int64(contentOf(next.taken()[3]).bytes + contentOf(next.taken()[4]).bytes)},
			"shutdown": {1, 1, 1, int64(contentOf(next.taken()[5]).bytes)},
			"full":     {},
		} {
			for i, name := range []string{"batch_messages", "batch_samples", "batch_bytes"} {
				count, sum := f.histogram(t, name, trigger)
				assert.EqualValues(t, want[0], count, trigger)
				assert.Equal(t, want[i+1], sum, "%s %s", name, trigger)
			}
		}
	})
}

func TestMetricsOfFullBatches(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		f := start(t, &sink{}, batchOf(func(cfg *BatchConfig) {
			cfg.MaxBytes, cfg.MaxHeldBytes = 0, dictionary.MessageMemory(upload("checkout", 1, 1))+messageOverhead
		}))
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 1, 1)))
		require.Error(t, f.ConsumeProfiles(t.Context(), upload("checkout", 2, 1)))
		synctest.Wait()
		count, sum := f.histogram(t, "batch_messages", "full")
		assert.EqualValues(t, 1, count)
		assert.EqualValues(t, 1, sum)
	})
}

func TestMetricsOfLosses(t *testing.T) {
	eachPooling(t, func(t *testing.T) {
		permanent := consumererror.NewPermanent(errNotNow)
		next := &sink{answer: func(call int, _ pprofile.Profiles) error {
			if call == 1 {
				return permanent
			}
			return errNotNow
		}}
		f := start(t, next, batchOf(func(cfg *BatchConfig) {
			cfg.RetryConfig.MaxInterval, cfg.RetryConfig.MaxElapsedTime = time.Second, 2500*time.Millisecond
		}))
		for id := range byte(2) {
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", id+1, 1, 2)))
			require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", id+3, 1, 2, 3)))
			pass(10 * time.Second)
		}
		require.NoError(t, f.ConsumeProfiles(t.Context(), upload("checkout", 9, 1)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.Error(t, f.Profiles.(*deduplicator).batching.stop(ctx))

		f.assertPoints(t, "lost_profiles", append(append(
			points(2, because("permanent")), points(2, because("retries"))...), points(1, because("shutdown"))...))
		f.assertPoints(t, "lost_samples", append(append(
			points(5, because("permanent")), points(5, because("retries"))...), points(1, because("shutdown"))...))
		f.assertPoints(t, "retries", points(3))
		f.requireUnset(t, "outgoing_profiles", "merged_profiles")
	})
}
