// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestSizeIsKnownBeforehand: a stack that many samples share is refused before it is written for each of them.
func TestSizeIsKnownBeforehand(t *testing.T) {
	m, stack := longStack(900_000)
	p := m.profile("a/1")
	for i := range 1000 {
		m.sample(p, stack, []int64{1}, m.attribute("n", i, ""))
	}
	pd := m.done()
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	var err error
	bytes := memorytest.Allocated(func() {
		for _, err = range encoder.All(pd) {
		}
	})
	require.ErrorIs(t, err, pprof.ErrTooLarge)
	assert.ErrorContains(t, err, fmt.Sprintf("the limit is %d", 64<<20))
	assert.Less(t, bytes, int64(16<<20), "not much more than the stack itself")
}

// TestRefusalsCostLittle: the work on pprofs that nearly fit is limited.
func TestRefusalsCostLittle(t *testing.T) {
	m, stack := longStack(60_000)
	for i := range 5000 {
		p := m.profile("a/1")
		p.SetTime(pcommon.Timestamp(i + 1))
		m.sample(p, stack, []int64{1}, m.attribute("n", i, ""))
		m.sample(p, stack, []int64{1}, m.attribute("n", -i-1, ""))
	}
	_, faults := encodeWithFaults(t, m.done(), pprof.EncodeOptions{PprofBytes: 100_000})
	require.Len(t, faults, 5000)
	assert.ErrorContains(t, faults[0], "bytes of the pprofs of a message: ")
	assert.ErrorContains(t, faults[4999], "bytes of pprofs that are too large: ")
}

// TestWorkIsLimited: once the pprofs of a message have used the limit, it is spent only once more on others that do not fit.
func TestWorkIsLimited(t *testing.T) {
	const services, fit = 100, 10
	var names []string
	for i := range 2000 {
		names = append(names, strconv.Itoa(i))
	}
	message := func(services int) pprofile.Profiles {
		m := newMessage()
		stack := m.stack(names...)
		for i := range services {
			m.sample(m.profileIn(m.addResource(strconv.Itoa(i)), "a/1"), stack, []int64{1})
		}
		return m.done()
	}
	limit := 0
	for _, payload := range encode(t, message(fit), pprof.EncodeOptions{}) {
		limit += len(payload.Pprof)
	}
	all, faults := encodeWithFaults(t, message(services), pprof.EncodeOptions{PprofBytes: limit + limit/fit/2})
	assert.Len(t, all, fit)
	require.Len(t, faults, services-fit)
	tried := 0
	for _, fault := range faults {
		require.ErrorIs(t, fault, pprof.ErrTooLarge)
		if !strings.Contains(fault.Error(), "bytes of pprofs that are too large: ") {
			tried++
		}
	}
	t.Logf("%d of %d were tried", tried, len(faults))
	assert.GreaterOrEqual(t, tried, fit)
	assert.LessOrEqual(t, tried, 2*fit, "strings are not written before the size is known")
}

// TestOneTooLarge: a service whose pprofs exceed the limit does not keep those of others from being written, although these nearly fill the limit.
func TestOneTooLarge(t *testing.T) {
	const services = 28
	var names []string
	for i := range 2000 {
		names = append(names, strconv.Itoa(i))
	}
	stacks := func(m *message, p pprofile.Profile, n int) {
		for i := range n {
			m.sample(p, m.stack(append([]string{strconv.Itoa(i)}, names...)...), []int64{1})
		}
	}
	for name, add := range map[string]func(m *message, bad pprofile.ScopeProfiles){
		"one type": func(m *message, bad pprofile.ScopeProfiles) { stacks(m, m.profileIn(bad, "a/1"), 200) },
		"two pprofs, together": func(m *message, bad pprofile.ScopeProfiles) {
			for at := range 2 {
				p := m.profileIn(bad, "a/1")
				p.SetTime(pcommon.Timestamp(at + 1))
				stacks(m, p, 50)
			}
		},
		"original payload": func(m *message, bad pprofile.ScopeProfiles) {
			p := m.profileIn(bad, "a/1")
			p.SetOriginalPayloadFormat("pprof")
			p.OriginalPayload().FromRaw(must.Get(pprof.AppendGzip(nil, make([]byte, 1<<20), 0))(t))
			stacks(m, p, 200)
		},
	} {
		m := newMessage()
		add(m, m.addResource("bad"))
		for i := range services {
			m.sample(m.profileIn(m.addResource("good"+strconv.Itoa(i)), "a/1"), m.stack(names[:400]...), []int64{1})
		}
		pd, good, bad := m.done(), 0, 0
		for _, payload := range encode(t, pd, pprof.EncodeOptions{}) {
			if payload.ResourceIndex > 1 {
				good += len(payload.Pprof)
			} else {
				bad += len(payload.Pprof)
			}
		}
		limit := good + good/50
		require.Greater(t, bad, limit, name)
		all, _ := encodeWithFaults(t, pd, pprof.EncodeOptions{PprofBytes: limit, PreferOriginalPayload: true})
		assert.Len(t, all, services, name)
	}
}

// TestOriginalsThatAreNoPprofs: profiles whose original payloads are no pprofs are encoded, however many there are.
func TestOriginalsThatAreNoPprofs(t *testing.T) {
	const profiles, size = 100, 1 << 20
	m := newMessage()
	for i := range profiles {
		p := m.profileIn(m.addResource(strconv.Itoa(i)), "a/1")
		p.SetOriginalPayloadFormat("pprof")
		p.OriginalPayload().FromRaw(must.Get(pprof.AppendGzip(nil, make([]byte, size), 0))(t))
		m.sample(p, m.stack("f"), []int64{1})
	}
	all := encode(t, m.done(), pprof.EncodeOptions{PprofBytes: 2 * size, PreferOriginalPayload: true})
	assert.Len(t, all, profiles)
}

// TestTrialLooksAtOriginals: what is tried before the pprofs of a resource are written uses the same original payloads as what is written then.
func TestTrialLooksAtOriginals(t *testing.T) {
	m := newMessage()
	first := m.profileIn(m.addResource("first"), "a/1")
	for i := range 8000 {
		m.sample(first, m.stack(strconv.Itoa(i), strings.Repeat("x", 60)+strconv.Itoa(i)), []int64{1})
	}
	second, profiles := m.addResource("second"), 0
	add := func(original []byte, function string) {
		profiles++
		p := m.profileIn(second, "a/1")
		p.SetTime(pcommon.Timestamp(profiles))
		if original != nil {
			p.SetOriginalPayloadFormat("pprof")
			p.OriginalPayload().FromRaw(original)
		}
		m.sample(p, m.stack(function), []int64{1})
	}
	for range 3 {
		add(must.Get(pprof.AppendGzip(nil, make([]byte, 500_000), 0))(t), "f")
	}
	other := newMessage()
	other.sample(other.profile("a/1"), other.stack(strings.Repeat("y", 130_000)), []int64{1})
	add(encode(t, other.done(), pprof.EncodeOptions{})[0].Pprof, "f")
	add(nil, strings.Repeat("z", 40_000))
	pd := m.done()

	written := len(encode(t, pd, pprof.EncodeOptions{})[0].Pprof)
	for rest := 165_000; rest < 175_000; rest += 1000 {
		_, faults := encodeWithFaults(t, pd, pprof.EncodeOptions{PprofBytes: written + rest, PreferOriginalPayload: true})
		if len(faults) > 0 {
			require.Len(t, faults, profiles, "all pprofs of a resource are written, or none")
		}
	}
}

// TestRefusedWithoutWork: a profile that is refused before any work on it does not use up what others may.
func TestRefusedWithoutWork(t *testing.T) {
	m := newMessage()
	first := m.profileIn(m.addResource("first"), "a/1")
	for i := range 20_000 {
		m.sample(first, m.stack(strings.Repeat("x", 60)+strconv.Itoa(i)), []int64{1})
	}
	for i := range 8 {
		large, stack := m.profileIn(m.addResource("large"+strconv.Itoa(i)), "a/1"), m.stack("f")
		for range 200_000 {
			m.sample(large, stack, []int64{1})
		}
	}
	for i := range 5 {
		m.sample(m.profileIn(m.addResource("small"+strconv.Itoa(i)), "a/1"), m.stack("f"), []int64{1})
	}
	pd := m.done()
	written := len(encode(t, pd, pprof.EncodeOptions{})[0].Pprof)
	granted, names := int64(0), []string{}
	for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{PprofBytes: written * 13 / 10}).AllReserving(pd, func(total int64) error {
		if len(names) > 0 && total > granted {
			return pprof.ErrTooLarge
		}
		granted = total
		return nil
	}) {
		if err == nil {
			names = append(names, pd.ResourceProfiles().At(payload.ResourceIndex).Resource().Attributes().AsRaw()["service.name"].(string))
		}
	}
	assert.Equal(t, []string{"first", "small0", "small1", "small2", "small3", "small4"}, names)
}

// largeMessage returns a message with n strings, functions, locations and samples, in two profiles.
func largeMessage(n int) pprofile.Profiles {
	m := newMessage()
	for at := range 2 {
		p := m.profile("a/1")
		p.SetTime(pcommon.Timestamp(at + 1))
		for i := range n / 2 {
			name := fmt.Sprintf("function %d of %d", i, at)
			m.sample(p, m.stack(name), []int64{1}, m.attribute("label "+name, name, ""))
		}
	}
	return m.done()
}

// TestEncoderKeepsLittle: the memory for a large message is released soon.
func TestEncoderKeepsLittle(t *testing.T) {
	const n = 60_000
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	small := groupsOf(1)
	pprofsOf(t, encoder, small)
	large := largeMessage(n)
	before := memorytest.LiveHeap()
	count := 0
	for _, err := range encoder.All(large) {
		require.NoError(t, err)
		count++
	}
	require.Equal(t, 2, count)
	assert.Less(t, memorytest.LiveHeap(), before+1<<20)
	runtime.KeepAlive(large)
	pprofsOf(t, encoder, small)
	runtime.KeepAlive(encoder)
}

// TestSmallMessageReservesLittle: a message does not reserve the memory that larger ones before it needed.
func TestSmallMessageReservesLittle(t *testing.T) {
	reserved := func(encoder *pprof.Encoder, pd pprofile.Profiles) (bytes int64) {
		for _, err := range encoder.AllReserving(pd, func(total int64) error {
			bytes = total
			return nil
		}) {
			require.NoError(t, err)
		}
		return bytes
	}
	deep := newMessage()
	p := deep.profile("a/1")
	for i := range 500 {
		deep.sample(p, deep.stack(slices.Repeat([]string{strconv.Itoa(i)}, 1000)...), []int64{1})
	}
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	for _, large := range []pprofile.Profiles{largeMessage(10_000), deep.done(), groupsOf(2000)} {
		for _, file := range profiletest.OwnPprofs(t) {
			pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(file.Bytes(t), pprof.Source{})
			require.NoError(t, err)
			reserved(encoder, large)
			alone := reserved(pprof.NewEncoder(pprof.EncodeOptions{}), pd)
			for range 2 {
				assert.LessOrEqual(t, reserved(encoder, pd), 2*alone, file.Name)
			}
		}
	}
}

// TestMemoryOfEncoding: an encoder uses what it reserves.
func TestMemoryOfEncoding(t *testing.T) {
	messages := map[string]pprofile.Profiles{"large": largeMessage(20_000), "groups": groupsOf(2000)}
	for _, file := range profiletest.OwnPprofs(t) {
		pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(file.Bytes(t), pprof.Source{})
		require.NoError(t, err)
		messages[file.Name] = pd
	}
	for name, pd := range messages {
		t.Run(name, func(t *testing.T) {
			memorytest.Check(t, func(reserve func(int64) error) (err error) {
				for _, err = range pprof.NewEncoder(pprof.EncodeOptions{}).AllReserving(pd, reserve) {
				}
				return err
			})
		})
	}
}

// TestMemoryOfEncodingLongStrings: the same for messages with a long string, wherever it is used.
func TestMemoryOfEncodingLongStrings(t *testing.T) {
	for _, file := range []string{"labelled.pb.gz", "mutex.pb.gz"} {
		raw := profiletest.Inflate(t, must.Get(os.ReadFile("../../testdata/pprof/"+file))(t))
		for payload := range profiletest.LongStrings(raw, "0", 512<<10) {
			pd, _, err := pprof.NewDecoder(pprof.DecodeOptions{}).Decode(payload, pprof.Source{})
			if err != nil {
				continue
			}
			for _, options := range []pprof.EncodeOptions{{}, {AllLinkLabels: true}} {
				memorytest.CheckCovered(t, func(reserve func(int64) error) (err error) {
					for _, err = range pprof.NewEncoder(options).AllReserving(pd, reserve) {
					}
					return err
				})
			}
		}
	}
}

var errBusy = errors.New("busy")

// TestReserveRefuses: wherever reserve fails, the iteration ends with an error that names the first profile that was not
// written.
func TestReserveRefuses(t *testing.T) {
	pd := largeMessage(2000)
	encoder := pprof.NewEncoder(pprof.EncodeOptions{})
	for limit := int64(0); ; limit += 64 << 10 {
		var written []int
		var fault *pprof.ProfileError
		for payload, err := range encoder.AllReserving(pd, func(bytes int64) error {
			if bytes > limit {
				return errBusy
			}
			return nil
		}) {
			require.Nil(t, fault, "nothing comes after it")
			if err == nil {
				written = append(written, payload.Positions...)
				continue
			}
			require.ErrorAs(t, err, &fault)
			require.ErrorIs(t, err, pprof.ErrNotReserved)
			require.ErrorIs(t, err, errBusy)
		}
		if fault == nil {
			require.Equal(t, []int{0, 1}, written)
			return
		}
		require.Equal(t, len(written), fault.Profile)
		require.Equal(t, pd.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(fault.Profile).ProfileID(), fault.ProfileID)
	}
}

// TestReserveNeverEnough: with ErrTooLarge from reserve, only the profile that needs the memory is refused.
func TestReserveNeverEnough(t *testing.T) {
	m, stack := longStack(100_000)
	m.sample(m.profileIn(m.scope(), "a/1"), stack, []int64{1})
	m.profile("b/1").SetTime(9)
	pd := m.done()
	var refused, written []int
	for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{}).AllReserving(pd, func(bytes int64) error {
		if bytes > 256<<10 {
			return fmt.Errorf("%w: %d", pprof.ErrTooLarge, bytes)
		}
		return nil
	}) {
		if err == nil {
			written = append(written, payload.Positions...)
			continue
		}
		require.ErrorIs(t, err, pprof.ErrTooLarge)
		require.NotErrorIs(t, err, pprof.ErrNotReserved)
		var fault *pprof.ProfileError
		require.ErrorAs(t, err, &fault)
		refused = append(refused, fault.Profile)
	}
	assert.Equal(t, []int{0}, refused)
	assert.Equal(t, []int{1}, written)
	all := 0
	for _, err := range pprof.NewEncoder(pprof.EncodeOptions{}).AllReserving(pd, func(int64) error { return pprof.ErrTooLarge }) {
		require.ErrorIs(t, err, pprof.ErrTooLarge)
		all++
	}
	assert.Equal(t, 2, all)
}

// TestOriginalPayloadIsCounted: the tables of an original payload are counted before it is read.
func TestOriginalPayloadIsCounted(t *testing.T) {
	raw := smallestEntries()["mappings"]
	m := newMessage()
	p := m.profile("a/1")
	m.sample(p, 0, []int64{1})
	p.SetOriginalPayloadFormat("pprof")
	p.OriginalPayload().FromRaw(raw)
	pd, most := m.done(), int64(0)
	encoder := pprof.NewEncoder(pprof.EncodeOptions{PreferOriginalPayload: true})
	reserve := func(bytes int64) error { most = bytes; return nil }
	for payload, err := range encoder.AllReserving(pd, reserve) {
		require.NoError(t, err)
		assert.Equal(t, []byte(raw), payload.Pprof)
	}
	assert.Greater(t, most, int64(10*len(raw)))
	noRoom := func(bytes int64) error {
		if bytes > int64(10*len(raw)) {
			return pprof.ErrTooLarge
		}
		return nil
	}
	for _, err := range encoder.AllReserving(pd, noRoom) {
		require.ErrorIs(t, err, pprof.ErrTooLarge)
	}
}

// TestMemoryOfScopes: scopes without profiles need no memory, whatever their default sample type is.
func TestMemoryOfScopes(t *testing.T) {
	m := newMessage()
	long := strings.Repeat("a", 60<<10)
	for i := range 1000 {
		attributes := m.pd.ResourceProfiles().At(0).ScopeProfiles().AppendEmpty().Scope().Attributes()
		require.NoError(t, attributes.PutEmptySlice("pprof.scope.default_sample_type").FromRaw([]any{i, long}))
	}
	pd := m.done()
	assert.Less(t, memorytest.Allocated(func() {
		for range pprof.NewEncoder(pprof.EncodeOptions{}).All(pd) {
			t.Error("there is no profile")
		}
	}), int64(8<<20))
}

// TestMemoryOfOriginalTypes: a name that all sample types of an original payload share takes memory once.
func TestMemoryOfOriginalTypes(t *testing.T) {
	payload := pprofwire.AppendString(pprofwire.AppendString(nil, ""), strings.Repeat("a", 1<<20))
	for range 256 {
		payload = pprofwire.AppendSampleType(payload, pprofwire.ValueType{Type: 1, Unit: 1})
	}
	m := newMessage()
	p := m.profile("cpu/nanoseconds")
	p.SetOriginalPayloadFormat("pprof")
	p.OriginalPayload().FromRaw(must.Get(pprof.AppendGzip(nil, payload, 1))(t))
	pd := m.done()
	assert.Less(t, memorytest.Allocated(func() {
		for payload, err := range pprof.NewEncoder(pprof.EncodeOptions{PreferOriginalPayload: true}).All(pd) {
			require.NoError(t, err)
			assert.Len(t, payload.SampleTypes, 256)
		}
	}), int64(16<<20))
}
