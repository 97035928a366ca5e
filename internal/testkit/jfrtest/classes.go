// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfrtest

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Field is a field of a class.
type Field struct {
	Name  string
	Class int
	// Pool says that the value is a reference to a constant, Array that there are several.
	Pool, Array bool
}

// Class is a type of constants or events.
type Class struct {
	ID     int
	Name   string
	Fields []Field
}

// The numbers of the classes.
const (
	ClassBoolean = 4 + iota
	ClassChar
	ClassFloat
	ClassDouble
	ClassByte
	ClassShort
	ClassInt
	ClassLong
	ClassString = 20 + iota - 8
	ClassClass
	ClassThread
	ClassLoader
	ClassFrameType
	ClassThreadState
	ClassStackTrace
	ClassStackFrame
	ClassMethod
	ClassPackage
	ClassSymbol
	ClassExecutionSample = 101 + iota - 19
	ClassInNewTLAB
	ClassOutsideTLAB
	ClassMonitorEnter
	ClassThreadPark
	ClassAllocationSample
	ClassLiveObject
	ClassMalloc
	ClassWallClockSample
	ClassActiveSetting
	ClassCPUTimeSample
	ClassNativeMethodSample
	ClassContextAttached
	ClassScope
	ClassDatadogScope
)

func long(name string) Field          { return Field{Name: name, Class: ClassLong} }
func ref(name string, to int) Field   { return Field{Name: name, Class: to, Pool: true} }
func text(name string) Field          { return Field{Name: name, Class: ClassString} }
func flag(name string) Field          { return Field{Name: name, Class: ClassBoolean} }
func integer(name string) Field       { return Field{Name: name, Class: ClassInt} }
func event(more ...Field) (f []Field) { return append([]Field{long("startTime")}, more...) }

var (
	thread  = ref("eventThread", ClassThread)
	sampled = ref("sampledThread", ClassThread)
	stack   = ref("stackTrace", ClassStackTrace)
	context = []Field{long("spanId"), long("spanName"), long("contextId"), long("traceIdHi"), long("traceIdLo")}
)

// Classes returns those of a recording.
func Classes() []Class {
	return []Class{
		{ClassBoolean, "boolean", nil},
		{ClassChar, "char", nil},
		{ClassFloat, "float", nil},
		{ClassDouble, "double", nil},
		{ClassByte, "byte", nil},
		{ClassShort, "short", nil},
		{ClassInt, "int", nil},
		{ClassLong, "long", nil},
		{ClassString, "java.lang.String", nil},
		{ClassClass, "java.lang.Class", []Field{ref("name", ClassSymbol)}},
		{ClassThread, "java.lang.Thread", []Field{text("osName"), long("osThreadId"), text("javaName"), long("javaThreadId")}},
		{ClassLoader, "jdk.types.ClassLoader", []Field{ref("type", ClassClass), ref("name", ClassSymbol)}},
		{ClassFrameType, "jdk.types.FrameType", []Field{text("description")}},
		{ClassThreadState, "jdk.types.ThreadState", []Field{text("name")}},
		{ClassStackTrace, "jdk.types.StackTrace", []Field{
			{Name: "truncated", Class: ClassBoolean}, {Name: "frames", Class: ClassStackFrame, Array: true},
		}},
		{ClassStackFrame, "jdk.types.StackFrame", []Field{
			ref("method", ClassMethod), integer("lineNumber"), integer("bytecodeIndex"), ref("type", ClassFrameType),
		}},
		{ClassMethod, "jdk.types.Method", []Field{ref("type", ClassClass), ref("name", ClassSymbol)}},
		{ClassPackage, "jdk.types.Package", []Field{ref("name", ClassSymbol)}},
		{ClassSymbol, "jdk.types.Symbol", []Field{text("string")}},
		{ClassExecutionSample, "jdk.ExecutionSample", event(append([]Field{sampled, stack, ref("state", ClassThreadState)}, context...)...)},
		{ClassInNewTLAB, "jdk.ObjectAllocationInNewTLAB", event(append([]Field{
			thread, stack, ref("objectClass", ClassClass), long("allocationSize"), long("tlabSize"),
		}, context...)...)},
		{ClassOutsideTLAB, "jdk.ObjectAllocationOutsideTLAB", event(append([]Field{
			thread, stack, ref("objectClass", ClassClass), long("allocationSize"),
		}, context...)...)},
		{ClassMonitorEnter, "jdk.JavaMonitorEnter", event(append([]Field{
			long("duration"), thread, stack, ref("monitorClass", ClassClass), long("address"),
		}, context...)...)},
		{ClassThreadPark, "jdk.ThreadPark", event(long("duration"), thread, stack, ref("parkedClass", ClassClass), long("timeout"))},
		{ClassAllocationSample, "jdk.ObjectAllocationSample", event(thread, stack, ref("objectClass", ClassClass), long("weight"))},
		{ClassLiveObject, "profiler.LiveObject", event(thread, stack, ref("objectClass", ClassClass), long("allocationSize"), long("allocationTime"))},
		{ClassMalloc, "profiler.Malloc", event(thread, stack, long("address"), long("size"))},
		{ClassWallClockSample, "profiler.WallClockSample", event(append([]Field{
			sampled, stack, ref("state", ClassThreadState), integer("samples"),
		}, context...)...)},
		{ClassActiveSetting, "jdk.ActiveSetting", event(long("duration"), thread, stack, long("id"), text("name"), text("value"))},
		{ClassCPUTimeSample, "jdk.CPUTimeSample", event(stack, thread, flag("failed"), long("samplingPeriod"), flag("biased"))},
		{ClassNativeMethodSample, "jdk.NativeMethodSample", event(sampled, stack, ref("state", ClassThreadState))},
		{ClassContextAttached, "otel.ContextAttached", event(thread, integer("traceFlags"), text("traceId"), text("spanId"))},
		{ClassScope, "io.opentelemetry.context.Scope", event(long("duration"), thread, stack, text("traceId"), text("spanId"))},
		{ClassDatadogScope, "datadog.Scope", event(long("duration"), thread, long("traceId"), long("spanId"), long("cpuTime"))},
	}
}

// Context is what an event tells of its span.
type Context struct{ Span, Name, Context, TraceHigh, TraceLow uint64 }

func (c Context) values() []uint64 {
	return []uint64{c.Span, c.Name, c.Context, c.TraceHigh, c.TraceLow}
}

// ExecutionSample adds an event.
func (r *Recording) ExecutionSample(ticks, thread, stack, state uint64, context Context) {
	r.Event(ClassExecutionSample, append([]uint64{ticks, thread, stack, state}, context.values()...)...)
}

// Example returns a recording with an event of each kind, in an order that is not that of their times. All events are 1 ms apart.
func Example() *Recording {
	r := New()
	main, worker := r.Thread("main", 1, 4711), r.Thread("worker", 12, 4712)
	running, sleeping := r.State("STATE_RUNNABLE"), r.State("STATE_SLEEPING")
	hot, run := r.Method("com/example/Shop", "checkout"), r.Method("java/lang/Thread", "run")
	read, system := r.Method("libc.so.6", "read"), r.Method("", "vfs_read")
	stack := r.Stack(false, Frame{hot, 42, JITCompiled}, Frame{run, 840, Interpreted})
	inlined := r.Stack(true, Frame{hot, 43, Inlined}, Frame{hot, 42, C1Compiled}, Frame{run, 840, Interpreted})
	native := r.Stack(false, Frame{system, 0, Kernel}, Frame{read, 0, Native}, Frame{run, 840, Interpreted})
	at := func(n uint64) uint64 { return r.Header.StartTicks + n*1_000_000 }
	none := Context{}
	r.Setting(ClassExecutionSample, "event", "cpu")
	r.Setting(ClassExecutionSample, "interval", "10000000")
	r.ExecutionSample(at(5), main, stack, running, none)
	r.ExecutionSample(at(1), main, stack, running, none)
	r.ExecutionSample(at(2), worker, stack, running, none)
	r.ExecutionSample(at(3), worker, inlined, running, Context{Context: 7})
	r.ExecutionSample(at(4), main, native, running, Context{Span: 0x0102030405060708, Name: 3, TraceHigh: 0xa1, TraceLow: 0xa2})
	r.ExecutionSample(at(6), main, stack, sleeping, none)
	with := func(values ...uint64) []uint64 { return append(values, none.values()...) }
	r.Event(ClassInNewTLAB, with(at(7), worker, stack, 1, 64, 2048)...)
	r.Event(ClassInNewTLAB, with(at(8), worker, stack, 1, 64, 4096)...)
	r.Event(ClassOutsideTLAB, with(at(9), worker, stack, 1, 1_000_000)...)
	r.Event(ClassMonitorEnter, with(at(10), 2_000_000, worker, stack, 1, 99)...)
	r.Event(ClassThreadPark, at(11), 3_000_000, worker, stack, 1, 0)
	r.Event(ClassAllocationSample, at(12), worker, stack, 1, 5000)
	r.Event(ClassLiveObject, at(13), worker, stack, 1, 64, at(2))
	r.Event(ClassMalloc, at(14), main, native, 0x7f00, 256)
	r.Event(ClassWallClockSample, with(at(15), main, stack, sleeping, 4)...)
	return r
}

// Labels returns a labels snapshot for [Example]: context 7 has the label endpoint=/pay and the ids of a trace and a span, and
// string 3 is the name of a span.
func Labels() []byte {
	strings := map[uint64]string{
		1: "endpoint", 2: "/pay", 3: "GET /cart", 4: "trace_id", 5: "0af7651916cd43dd8448eb211c80319c", 6: "span_id", 7: "b7ad6b7169203331",
	}
	var out []byte
	for id := uint64(1); id <= 7; id++ {
		entry := appendNumber(nil, 1, id)
		entry = protowire.AppendString(protowire.AppendTag(entry, 2, protowire.BytesType), strings[id])
		out = appendMessage(out, 2, entry)
	}
	var context []byte
	for _, label := range [][2]uint64{{1, 2}, {4, 5}, {6, 7}} {
		context = appendMessage(context, 1, appendNumber(appendNumber(nil, 1, label[0]), 2, label[1]))
	}
	return appendMessage(out, 1, appendMessage(appendNumber(nil, 1, 7), 2, context))
}

func appendNumber(to []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

func appendMessage(to []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), content)
}
