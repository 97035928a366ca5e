// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package destinations

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// hostMessage is a message of a profiler of a whole host.
type hostMessage struct {
	pd    pprofile.Profiles
	stack int32
}

func newHostMessage() *hostMessage {
	m := &hostMessage{pd: pprofile.NewProfiles(), stack: 1}
	d := m.pd.Dictionary()
	d.StringTable().FromRaw([]string{
		"", "samples", "count", "cpu", "nanoseconds", "work", "process.executable.name", "process.executable.path", "thread.name",
	})
	d.FunctionTable().AppendEmpty()
	d.FunctionTable().AppendEmpty().SetNameStrindex(5)
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1)
	d.StackTable().AppendEmpty()
	d.StackTable().AppendEmpty().LocationIndices().Append(1)
	d.LinkTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	return m
}

// container adds a resource with one sample for each executable: the first has one event, the second two, and so on.
func (m *hostMessage) container(attributes map[string]string, executables ...string) {
	resource := m.pd.ResourceProfiles().AppendEmpty()
	for key, value := range attributes {
		resource.Resource().Attributes().PutStr(key, value)
	}
	p := resource.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	p.SetProfileID(pprofile.ProfileID{byte(m.pd.ResourceProfiles().Len())})
	p.SampleType().SetTypeStrindex(1)
	p.SampleType().SetUnitStrindex(2)
	p.PeriodType().SetTypeStrindex(3)
	p.PeriodType().SetUnitStrindex(4)
	p.SetPeriod(50_000_000)
	p.SetTime(1_770_364_246_000_000_000)
	p.SetDurationNano(5_000_000_000)
	for i, executable := range executables {
		sample := p.Samples().AppendEmpty()
		sample.SetStackIndex(m.stack)
		m.attribute(sample, 8, fmt.Sprint("worker-", i))
		if executable != "" {
			m.attribute(sample, 6, executable)
			m.attribute(sample, 7, "/usr/bin/"+executable)
		}
		for event := range i + 1 {
			sample.TimestampsUnixNano().Append(uint64(p.Time()) + uint64(event))
		}
	}
}

func (m *hostMessage) attribute(sample pprofile.Sample, key int32, value string) {
	d := m.pd.Dictionary()
	a := d.AttributeTable().AppendEmpty()
	a.SetKeyStrindex(key)
	a.Value().SetStr(value)
	sample.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
}
