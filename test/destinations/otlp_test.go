// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/testkit/jfrtest"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/translator/jfr"
)

// checkOTLP holds the messages of OTLP against the rules of Parca, and against what docs/destinations.md says of Pyroscope.
func checkOTLP(t *testing.T, b *backends) {
	t.Helper()
	var want []string
	for _, payload := range profiletest.ClientPayloads(t) {
		if _, uploaded := profileNames[payload.File+" "+payload.Part]; uploaded {
			for i, sampleType := range payload.SampleTypes {
				want = append(want, totalsOf([]string{sampleType}, payload.ValueSums[i:]))
			}
		}
	}
	var got []string
	assert.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		got = got[:0]
		for _, pd := range b.messages {
			for p := range walk.Profiles(pd) {
				got = append(got, totalOf(pd.Dictionary(), p))
			}
		}
		return len(got) >= len(want) && len(b.encoded) >= len(b.messages)
	}, within, pollEvery)
	assert.ElementsMatch(t, want, got)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pd := range b.messages {
		require.NoError(t, parcaRefuses(pd))
	}
	for _, message := range b.encoded {
		requireReferences(t, message)
	}
}

// totalOf shows the sum of all values of a profile.
func totalOf(d pprofile.ProfilesDictionary, p pprofile.Profile) string {
	sum := int64(0)
	for _, sample := range p.Samples().All() {
		for _, value := range sample.Values().All() {
			sum += value
		}
	}
	names := d.StringTable()
	return totalsOf([]string{names.At(int(p.SampleType().TypeStrindex())) + "/" + names.At(int(p.SampleType().UnitStrindex()))}, []int64{sum})
}

// parcaRefuses tells what Parca refuses a whole message for.
func parcaRefuses(pd pprofile.Profiles) error {
	d := pd.Dictionary()
	for i, link := range d.LinkTable().All() {
		if i > 0 && (link.TraceID().IsEmpty() || link.SpanID().IsEmpty()) {
			return fmt.Errorf("link %d has trace id %q and span id %q", i, link.TraceID(), link.SpanID())
		}
	}
	if link := d.LinkTable().At(0); !link.TraceID().IsEmpty() || !link.SpanID().IsEmpty() {
		return errors.New("link 0 is not empty")
	}
	for _, resource := range pd.ResourceProfiles().All() {
		keys := slices.Sorted(keysOf(resource.Resource().Attributes()))
		if len(slices.Compact(keys)) != resource.Resource().Attributes().Len() {
			return fmt.Errorf("the resource has a key twice: %q", keys)
		}
	}
	for p := range walk.Profiles(pd) {
		if p.Samples().Len() == 0 || p.ProfileID().IsEmpty() || p.PeriodType().TypeStrindex() == 0 {
			return fmt.Errorf("the profile %s has %d samples and period type %d", p.ProfileID(), p.Samples().Len(), p.PeriodType().TypeStrindex())
		}
		end := p.Time() + pcommon.Timestamp(p.DurationNano())
		for _, sample := range p.Samples().All() {
			values, times := sample.Values().Len(), sample.TimestampsUnixNano()
			if times.Len() == 0 && values != 1 || times.Len() > 0 && values > 0 && values != times.Len() {
				return fmt.Errorf("a sample has %d values and %d timestamps", values, times.Len())
			}
			for _, at := range times.All() {
				if pcommon.Timestamp(at) < p.Time() || pcommon.Timestamp(at) >= end {
					return fmt.Errorf("a sample of the time %d is outside of its profile", at)
				}
			}
		}
	}
	return nil
}

// pyroscopeRefuses tells what Pyroscope refuses a whole message for.
func pyroscopeRefuses(pd pprofile.Profiles) error {
	for p := range walk.Profiles(pd) {
		if p.PeriodType().TypeStrindex() == 0 {
			return errors.New("a profile has no period type")
		}
		for _, sample := range p.Samples().All() {
			if values := sample.Values().Len(); p.Period() != 0 && values > 1 {
				return fmt.Errorf("a sample has %d values, and its profile has a period", values)
			}
		}
	}
	return nil
}

// TestRecordingToPyroscope: Pyroscope accepts a recording by OTLP with the sample_shape that docs/destinations.md recommends.
func TestRecordingToPyroscope(t *testing.T) {
	recording := jfrtest.New()
	stack := recording.Stack(false)
	for i := range uint64(3) {
		recording.ExecutionSample(1000+i, 0, stack, 0, jfrtest.Context{})
		recording.Event(jfrtest.ClassLiveObject, 1000+i, 0, stack, 1, 64, 1)
		recording.Event(jfrtest.ClassThreadPark, 1000+i, 5, 0, stack, 1, 0)
	}
	for shape, accepted := range map[dedup.Shape]bool{dedup.ShapeCombined: false, dedup.ShapeTotal: true} {
		pd, _, err := jfr.NewDecoder(jfr.Options{}).Decode(recording.Bytes(), jfr.Source{Period: time.Millisecond})
		require.NoError(t, err)
		pd, _, err = dedup.New(dedup.Options{Shape: shape}).Deduplicate(pd)
		require.NoError(t, err)
		assert.Equal(t, accepted, pyroscopeRefuses(pd) == nil, shape)
	}
}

func keysOf(attributes pcommon.Map) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range attributes.All() {
			if !yield(key) {
				return
			}
		}
	}
}

// requireReferences: the attributes of a resource are references to the dictionary, as the protocol allows. That is why
// Pyroscope knows no service by this route. When this fails, docs/destinations.md has to say something else.
func requireReferences(t *testing.T, message []byte) {
	t.Helper()
	attributes := 0
	for _, resourceProfiles := range bytesOf(t, message, 1) {
		for _, resource := range bytesOf(t, resourceProfiles, 1) {
			for _, attribute := range bytesOf(t, resource, 1) {
				attributes++
				require.Empty(t, bytesOf(t, attribute, 1), "a key")
			}
		}
	}
	require.Positive(t, attributes)
}

// bytesOf returns the fields of a message that have this number and hold bytes.
func bytesOf(t *testing.T, message []byte, wanted protowire.Number) (found [][]byte) {
	t.Helper()
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		require.Positive(t, n)
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		require.GreaterOrEqual(t, size, 0)
		if number == wanted && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[n:])
			found = append(found, value)
		}
		message = message[n+size:]
	}
	return found
}

var prometheusName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// readWriteRaw reads a WriteRawRequest in JSON by Parca's rules.
func readWriteRaw(r *http.Request, body []byte) (took []series, err error) {
	var request struct {
		Series []struct {
			Labels struct {
				Labels []struct{ Name, Value string }
			}
			Samples []struct{ RawProfile []byte }
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return nil, err
	}
	for _, given := range request.Series {
		one := series{request: line(r), labels: map[string]string{}}
		for _, l := range given.Labels.Labels {
			if one.labels[l.Name] != "" || !prometheusName.MatchString(l.Name) {
				return nil, fmt.Errorf("label %q", l.Name)
			}
			one.labels[l.Name] = l.Value
		}
		if one.name = one.labels["__name__"]; one.name == "" || len(given.Samples) != 1 {
			return nil, fmt.Errorf("name %q, %d samples", one.name, len(given.Samples))
		}
		p, err := one.read(given.Samples[0].RawProfile)
		if err != nil {
			return nil, err
		}
		if err := sequential(p); err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	return took, nil
}

// sequential tells which ids do not count from 1, which Parca wants.
func sequential(p *profile.Profile) error {
	for i, m := range p.Mapping {
		if m.ID != uint64(i+1) {
			return fmt.Errorf("mapping %d has id %d", i, m.ID)
		}
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) {
			return fmt.Errorf("location %d has id %d", i, l.ID)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) {
			return fmt.Errorf("function %d has id %d", i, f.ID)
		}
	}
	return nil
}
