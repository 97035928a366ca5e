// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfrtest

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
