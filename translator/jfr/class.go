// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package jfr

import "encoding/binary"

// knownField is a field that [fields] keeps.
type knownField byte

// The fields of events and constants. A field of type string has the position of the formText, see [chunk.appendTextAt], one of type float
// the bits of the number, an array the position of its length, and all others the number.
const (
	fieldOther knownField = iota
	fieldStartTime
	fieldDuration
	fieldThread
	fieldStack
	fieldState
	fieldSize
	fieldTLABSize
	fieldAllocationSize
	fieldWeight
	fieldSamples
	fieldSamplingPeriod
	fieldTraceHigh
	fieldTraceLow
	fieldSpanID
	fieldSpanName
	fieldContextID
	fieldTraceText
	fieldSpanText
	fieldID
	fieldName
	fieldText
	fieldValue
	fieldMethod
	fieldLine
	fieldType
	fieldTruncated
	fieldFrames
	fieldOSName
	fieldOSThreadID
	fieldJavaName
	fieldJavaThreadID
	numFields
)

// fields has the fields of an event or a constant. Those that its class does not have are 0.
type fields [numFields]uint64

// fieldNames has the fields by their name, see [field.checkForm].
var fieldNames = map[string]knownField{
	"startTime": fieldStartTime, "duration": fieldDuration, "eventThread": fieldThread, "sampledThread": fieldThread,
	"stackTrace": fieldStack, "state": fieldState, "size": fieldSize, "tlabSize": fieldTLABSize, "allocationSize": fieldAllocationSize,
	"weight": fieldWeight, "samples": fieldSamples, "samplingPeriod": fieldSamplingPeriod, "traceIdHi": fieldTraceHigh,
	"traceIdLo": fieldTraceLow, "traceId": fieldTraceLow, "spanId": fieldSpanID, "spanName": fieldSpanName, "contextId": fieldContextID,
	"id": fieldID, "name": fieldName, "string": fieldName, "description": fieldName, "value": fieldValue, "method": fieldMethod,
	"lineNumber": fieldLine, "type": fieldType, "truncated": fieldTruncated, "frames": fieldFrames, "osName": fieldOSName,
	"osThreadId": fieldOSThreadID, "javaName": fieldJavaName, "javaThreadId": fieldJavaThreadID,
}

// form is how a value is written.
type form byte

const (
	formObject form = iota
	formVarint
	formByte
	formFourBytes
	formEightBytes
	formText
)

var forms = map[string]form{
	"long": formVarint, "int": formVarint, "short": formVarint, "char": formVarint, "boolean": formByte, "byte": formByte, "float": formFourBytes,
	"double": formEightBytes, "java.lang.String": formText,
}

type field struct {
	// id is the number of the class.
	id    uint64
	class *class
	form  form
	// pool says that the value is a reference to a constant, array that there are several values.
	pool, array bool
	known       knownField
}

// textFields are the fields that are known in another way if they are texts: a name can be a reference to one, and an id a number.
var textFields = map[knownField]knownField{fieldName: fieldText, fieldTraceLow: fieldTraceText, fieldSpanID: fieldSpanText}

// checkForm makes an unknown field of one that has not the form in which the decoder reads it: the values of texts and frames are positions.
func (f *field) checkForm() {
	isText := f.form == formText && !f.array
	switch f.known {
	case fieldValue, fieldOSName, fieldJavaName:
		if !isText {
			f.known = fieldOther
		}
	case fieldFrames:
		if f.form != formObject || !f.array {
			f.known = fieldOther
		}
	default:
		if text := textFields[f.known]; isText && text != fieldOther {
			f.known = text
		}
	}
}

// class is a type of events or constants.
type class struct {
	name string
	// event is what the decoder does with events of the class.
	event  eventType
	fields []field
	// longs is the number of fields, if all of them are numbers of variable length. Otherwise it is 0.
	longs int
}

const stackFrame = "jdk.types.StackFrame"

// maxDepth is the maximum depth of objects within objects. The JDK has one: frames in a stack.
const maxDepth = 4

// read reads the fields of an object.
func (c *cursor) read(class *class, values *fields, depth int) {
	for i := range class.fields {
		f := &class.fields[i]
		switch {
		case f.array:
			values[f.known] = uint64(c.pos)
			if !c.lazy || depth > 0 || i < len(class.fields)-1 {
				c.skipArray(f, depth)
			}
		case f.form == formVarint:
			values[f.known] = c.long()
		default:
			values[f.known] = c.value(f, depth)
		}
	}
}

func (c *cursor) skipArray(f *field, depth int) {
	n := c.count("values of an array")
	inFrames := f.form == formObject && f.class.name == stackFrame
	switch {
	case inFrames && n > c.limits.LocationsPerSample:
		c.tooLarge("frames of a stack", n, c.limits.LocationsPerSample)
	case f.form == formVarint:
		c.skipLongs(n)
	case f.form == formObject && f.class.longs > 0 && n <= (len(c.data)-c.pos)/f.class.longs:
		c.skipLongs(n * f.class.longs)
	default:
		for ; n > 0 && c.err == nil; n-- {
			c.value(f, depth)
		}
	}
}

func (c *cursor) value(f *field, depth int) uint64 {
	switch f.form {
	case formVarint:
		return c.long()
	case formByte:
		return uint64(c.byte())
	case formFourBytes:
		if b := c.bytes(4); b != nil {
			return uint64(binary.BigEndian.Uint32(b))
		}
		return 0
	case formEightBytes:
		c.bytes(8)
		return 0
	case formText:
		return uint64(c.skipText())
	}
	if c.err != nil { // Else each field of a class of 256 objects of itself would be read, at all depths.
		return 0
	}
	// Without fields an object would have no bytes, and an array of it no end.
	if len(f.class.fields) == 0 || depth == maxDepth {
		c.fail(c.pos, "an object is of class %.64q, which has no fields or is within %d others", f.class.name, depth)
		return 0
	}
	var inner fields
	c.read(f.class, &inner, depth+1)
	return 0
}
