// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import "encoding/binary"

// Field is a field that [Values] keeps.
type Field byte

// The fields of events and constants. A field of type string has the position of the text, see [Chunk.AppendText], one of type float
// the bits of the number, an array the position of its length, and all others the number.
const (
	other Field = iota
	StartTime
	Duration
	Thread
	Stack
	State
	Size
	TLABSize
	AllocationSize
	Weight
	Samples
	SamplingPeriod
	TraceHigh
	TraceLow
	SpanID
	SpanName
	ContextID
	TraceText
	SpanText
	ID
	Name
	Value
	Method
	Line
	Type
	Truncated
	frames
	OSName
	OSThreadID
	JavaName
	JavaThreadID
	numFields
)

// Values has the fields of an event or a constant. Those that its class does not have are 0.
type Values [numFields]uint64

// fieldNames has the fields by their name. If they are of type string, TraceLow and SpanID are TraceText and SpanText.
var fieldNames = map[string]Field{
	"startTime": StartTime, "duration": Duration, "eventThread": Thread, "sampledThread": Thread, "stackTrace": Stack, "state": State,
	"size": Size, "tlabSize": TLABSize, "allocationSize": AllocationSize, "weight": Weight, "samples": Samples,
	"samplingPeriod": SamplingPeriod, "traceIdHi": TraceHigh, "traceIdLo": TraceLow, "traceId": TraceLow, "spanId": SpanID,
	"spanName": SpanName, "contextId": ContextID, "id": ID, "name": Name, "string": Name, "description": Name, "value": Value,
	"method": Method, "lineNumber": Line, "type": Type, "truncated": Truncated, "frames": frames, "osName": OSName,
	"osThreadId": OSThreadID, "javaName": JavaName, "javaThreadId": JavaThreadID,
}

// form is how a value is written.
type form byte

const (
	object form = iota
	varint
	oneByte
	fourBytes
	eightBytes
	text
)

var forms = map[string]form{
	"long": varint, "int": varint, "short": varint, "char": varint, "boolean": oneByte, "byte": oneByte, "float": fourBytes,
	"double": eightBytes, "java.lang.String": text,
}

type field struct {
	// id is the number of the class.
	id    uint64
	class *Class
	form  form
	// pool says that the value is a reference to a constant, array that there are several values.
	pool, array bool
	field       Field
}

// Class is a type of events or constants.
type Class struct {
	Name string
	// Kind is what Options.Kind returned for the name.
	Kind   int
	fields []field
	// longs is the number of fields, if all of them are numbers of variable length. Otherwise it is 0.
	longs int
}

const stackFrame = "jdk.types.StackFrame"

// maxDepth is the maximum depth of objects within objects. The JDK has one: frames in a stack.
const maxDepth = 4

// read reads the fields of an object.
func (c *cursor) read(class *Class, values *Values, depth int) {
	for i := range class.fields {
		f := &class.fields[i]
		switch {
		case f.array:
			values[f.field] = uint64(c.pos)
			if !c.lazy || i < len(class.fields)-1 {
				c.skipArray(f, depth)
			}
		case f.form == varint:
			values[f.field] = c.long()
		default:
			values[f.field] = c.value(f, depth)
		}
	}
}

func (c *cursor) skipArray(f *field, depth int) {
	n := c.count("values of an array")
	inFrames := f.form == object && f.class.Name == stackFrame
	switch {
	case inFrames && n > c.limits.LocationsPerSample:
		c.tooLarge("frames of a stack", n, c.limits.LocationsPerSample)
	case f.form == varint:
		c.skipLongs(n)
	case f.form == object && f.class.longs > 0 && n <= (len(c.data)-c.pos)/f.class.longs:
		c.skipLongs(n * f.class.longs)
	default:
		for ; n > 0 && c.err == nil; n-- {
			c.value(f, depth)
		}
	}
}

func (c *cursor) value(f *field, depth int) uint64 {
	switch f.form {
	case varint:
		return c.long()
	case oneByte:
		return uint64(c.byte())
	case fourBytes:
		if b := c.bytes(4); b != nil {
			return uint64(binary.BigEndian.Uint32(b))
		}
		return 0
	case eightBytes:
		c.bytes(8)
		return 0
	case text:
		return uint64(c.skipText())
	}
	// Without fields an object would have no bytes, and an array of it no end.
	if len(f.class.fields) == 0 || depth == maxDepth {
		c.fail(c.pos, "an object is of class %.64q, which has no fields or is within %d others", f.class.Name, depth)
		return 0
	}
	var inner Values
	c.read(f.class, &inner, depth+1)
	return 0
}
