// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The indices of the strings of newMessage that the tests refer to.
const (
	strMain = iota + 1
	strMainFile
	strRuntime
	strBinary
	strCPU
	strNanoseconds
	strThread
	strBytes
	strSize
	strUnused
)

// newMessage returns a message that keeps every rule and fills every table: one profile with two samples of one stack,
// which differ in their attributes, 1 and 2. The first has a link.
func newMessage() pprofile.Profiles {
	pd := pprofile.NewProfiles()
	fillDictionary(pd.Dictionary())

	rp := pd.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutStr("service.name", "checkout")
	sp := rp.ScopeProfiles().AppendEmpty()
	sp.Scope().SetName("scope")
	sp.Scope().Attributes().PutInt("order", 1)
	p := sp.Profiles().AppendEmpty()
	p.SetTime(1000)
	p.SetDurationNano(100)
	p.SetPeriod(10)
	setValueType(p.SampleType(), strCPU, strNanoseconds)
	setValueType(p.PeriodType(), strCPU, strNanoseconds)
	for i := range int32(2) {
		s := p.Samples().AppendEmpty()
		s.SetStackIndex(1)
		s.AttributeIndices().Append(i + 1)
		s.Values().Append(int64(i) + 7)
	}
	p.Samples().At(0).SetLinkIndex(1)
	return pd
}

func fillDictionary(dict pprofile.ProfilesDictionary) {
	dict.StringTable().FromRaw([]string{"", "main.main", "main.go", "runtime.main", "/bin/app", "cpu", "nanoseconds", "thread", "bytes", "size"})

	dict.AttributeTable().AppendEmpty()
	for i, key := range []int32{strThread, strSize} {
		kv := dict.AttributeTable().AppendEmpty()
		kv.SetKeyStrindex(key)
		kv.SetUnitStrindex(strBytes)
		kv.Value().SetInt(int64(i))
	}
	dict.FunctionTable().AppendEmpty()
	for _, name := range []int32{strMain, strRuntime} {
		f := dict.FunctionTable().AppendEmpty()
		f.SetNameStrindex(name)
		f.SetFilenameStrindex(strMainFile)
	}
	dict.MappingTable().AppendEmpty()
	m := dict.MappingTable().AppendEmpty()
	m.SetMemoryLimit(4096)
	m.SetFilenameStrindex(strBinary)

	dict.LocationTable().AppendEmpty()
	for function := range int32(2) {
		l := dict.LocationTable().AppendEmpty()
		l.SetMappingIndex(1)
		line := l.Lines().AppendEmpty()
		line.SetFunctionIndex(function + 1)
		line.SetLine(42)
	}
	dict.StackTable().AppendEmpty()
	dict.StackTable().AppendEmpty().LocationIndices().Append(1, 2)
	dict.LinkTable().AppendEmpty()
	dict.LinkTable().AppendEmpty().SetTraceID(pcommon.TraceID{1})
}

func setValueType(v pprofile.ValueType, typeIndex, unitIndex int32) {
	v.SetTypeStrindex(typeIndex)
	v.SetUnitStrindex(unitIndex)
}

func firstScope(pd pprofile.Profiles) pprofile.ScopeProfiles {
	return pd.ResourceProfiles().At(0).ScopeProfiles().At(0)
}

func firstProfile(pd pprofile.Profiles) pprofile.Profile { return firstScope(pd).Profiles().At(0) }

func firstSample(pd pprofile.Profiles) pprofile.Sample { return firstProfile(pd).Samples().At(0) }
