// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package outline

import "strconv"

// class is a type of events or constants.
type class struct {
	name   string
	id     int64
	fields []field
	kind   Kind
	// steps are the fields, if all of them are simple, and nil otherwise.
	steps *steps
	// table is what the parser keeps of the constants of the class.
	table table
}

// field is a field of a class.
type field struct {
	name        string
	typ         int64
	pool, array bool
	value       value
	nested      *class
}

// value is how a field is written.
type value int

const (
	valueObject value = iota
	valueString
	valueInt
	valueLong
	valueShort
	valueBoolean
)

// simple are the types that are no objects. The parser needs all of them but char, byte and double.
var simple = map[string]value{
	"java.lang.String": valueString, "int": valueInt, "long": valueLong, "short": valueShort, "float": valueInt, "boolean": valueBoolean,
}

// needed are the other classes without which the parser refuses a recording.
var needed = []string{
	"jdk.types.FrameType", "jdk.types.ThreadState", "java.lang.Thread", classClass, classMethod, "jdk.types.Package", classSymbol,
	classStackTrace, "jdk.types.ClassLoader", classStackFrame,
}

const (
	classString     = "java.lang.String"
	classClass      = "java.lang.Class"
	classMethod     = "jdk.types.Method"
	classSymbol     = "jdk.types.Symbol"
	classStackTrace = "jdk.types.StackTrace"
	classStackFrame = "jdk.types.StackFrame"
	classFrameType  = "jdk.types.FrameType"
)

// readMetadata reads the classes of the chunk.
func (r *reader) readMetadata(pos int) error {
	r.byID, r.byName = map[int64]*class{}, map[string]*class{}
	pos, err := r.skipMetadataHeader(pos)
	if err != nil {
		return err
	}
	if pos, err = r.readStrings(pos); err != nil {
		return err
	}
	root, pos, err := r.readElement(pos, nil)
	if err != nil {
		return err
	}
	if root.name != "root" {
		return r.fail(pos, "the metadata begin with element %.64q, not with root", root.name)
	}
	for range root.children {
		var element element
		if element, pos, err = r.readElement(pos, nil); err != nil {
			return err
		}
		switch element.name {
		case "metadata":
			for range element.children {
				if pos, err = r.readClass(pos); err != nil {
					return err
				}
			}
		case "region":
		default:
			return r.fail(pos, "the metadata have an unexpected element %.64q", element.name)
		}
	}
	return r.resolve(pos)
}

func (r *reader) skipMetadataHeader(pos int) (next int, err error) {
	next = pos
	for _, long := range [...]bool{false, false, true, true, true} { // size, type, start, duration, id
		if long {
			next = skipLong(r.data, next)
		} else {
			next = skipInt(r.data, next, maxIntBytes)
		}
		if next < 0 {
			return 0, r.cut(pos, "the header of the metadata")
		}
	}
	return next, nil
}

func (r *reader) readStrings(pos int) (next int, err error) {
	count, next := readInt(r.data, pos)
	if next < 0 || int64(count) > int64(len(r.data)-next) {
		return 0, r.fail(pos, "the metadata have %d strings, and there are not as many bytes", count)
	}
	if err := r.useStrings(int(count)); err != nil {
		return 0, err
	}
	if err := r.reserve(2 * 16 * int64(count)); err != nil {
		return 0, err
	}
	r.strings = append(make([]string, 0, count), r.strings[:0]...)
	for range count {
		start := next
		if next, err = r.skipString(start, len(r.data)); err != nil {
			return 0, err
		}
		if r.data[start] == stringLatin1 {
			return 0, r.fail(start, "a string of the metadata has encoding %d, which is not known there", stringLatin1)
		}
		if err := r.reserve(int64(next - start)); err != nil {
			return 0, err
		}
		r.strings = append(r.strings, readString(r.data, start))
	}
	return next, nil
}

// element is an element of the metadata without its attributes.
type element struct {
	name     string
	children int
}

// readElement calls attribute, if that is set, for each attribute of an element.
func (r *reader) readElement(pos int, attribute func(key, value string)) (e element, next int, err error) {
	if e.name, next, err = r.readName(pos); err != nil {
		return e, 0, err
	}
	attributes, next := readInt(r.data, next)
	if next < 0 || int64(attributes) > int64(len(r.data)-next)/2 {
		return e, 0, r.fail(pos, "an element has %d attributes, and there are not as many bytes", attributes)
	}
	if attribute != nil {
		r.uses(attributeBytes * int64(attributes))
	}
	for range attributes {
		var key, value string
		if key, next, err = r.readName(next); err != nil {
			return e, 0, err
		}
		if value, next, err = r.readName(next); err != nil {
			return e, 0, err
		}
		if attribute != nil {
			attribute(key, value)
		}
	}
	children, after := readInt(r.data, next)
	if after < 0 || int64(children) > int64(len(r.data)-after)/3 {
		return e, 0, r.fail(pos, "an element has %d children, and there are not as many bytes", children)
	}
	e.children = int(children)
	return e, after, nil
}

// readName reads a reference to a string of the metadata.
func (r *reader) readName(pos int) (name string, next int, err error) {
	i, next := readInt(r.data, pos)
	if next < 0 || int64(i) >= int64(len(r.strings)) {
		return "", 0, r.fail(pos, "the metadata refer to string %d, there are %d", i, len(r.strings))
	}
	return r.strings[i], next, nil
}

func (r *reader) readClass(pos int) (next int, err error) {
	c := &class{}
	number := ""
	e, next, err := r.readElement(pos, func(key, value string) {
		switch key {
		case "id":
			number = value
		case "name":
			c.name = value
		}
	})
	if err != nil {
		return 0, err
	}
	if c.id, err = strconv.ParseInt(number, 10, 64); err != nil || c.id < 0 || c.name == "" {
		return 0, r.fail(pos, "a class has the id %.32q and the name %.64q", number, c.name)
	}
	if r.byID[c.id] != nil || r.byName[c.name] != nil {
		return 0, r.fail(pos, "class %d, %.64q, is given twice", c.id, c.name)
	}
	if len(r.byID) == maxClasses {
		return 0, TooLarge("classes", maxClasses+1, maxClasses)
	}
	r.uses(classBytes + fieldBytes*int64(e.children))
	if err := r.reserve(0); err != nil {
		return 0, err
	}
	for range e.children {
		if next, err = r.readField(next, c); err != nil {
			return 0, err
		}
	}
	r.byID[c.id], r.byName[c.name] = c, c
	return next, nil
}

// readField adds a child of a class to it, if that is a field.
func (r *reader) readField(pos int, c *class) (next int, err error) {
	var f field
	number, dimension := "", ""
	e, next, err := r.readElement(pos, func(key, value string) {
		switch key {
		case "class":
			number = value
		case "name":
			f.name = value
		case "dimension":
			dimension = value
		case "constantPool":
			f.pool = value == "true"
		}
	})
	if err != nil {
		return 0, err
	}
	for range e.children {
		if _, next, err = r.readElement(next, nil); err != nil {
			return 0, err
		}
	}
	if e.name != "field" {
		return next, nil
	}
	if f.typ, err = strconv.ParseInt(number, 10, 64); err != nil || f.name == "" || dimension != "" && dimension != "1" {
		return 0, r.fail(pos, "a field of class %.64q has the class %.32q, the name %.64q and the dimension %.32q", c.name, number, f.name, dimension)
	}
	f.array = dimension != ""
	if len(c.fields) == maxFields {
		return 0, TooLarge("fields of a class", maxFields+1, maxFields)
	}
	c.fields = append(c.fields, f)
	return next, nil
}

// resolve finds the classes of all fields.
func (r *reader) resolve(pos int) error {
	values := map[int64]value{}
	for name, value := range simple {
		c := r.byName[name]
		if c == nil {
			return r.fail(pos, "the metadata have no class %q", name)
		}
		values[c.id] = value
	}
	for _, name := range needed {
		if r.byName[name] == nil {
			return r.fail(pos, "the metadata have no class %q", name)
		}
	}
	r.parsed = r.parsed[:0]
	for _, c := range r.byID {
		for i := range c.fields {
			f := &c.fields[i]
			f.value, f.nested = values[f.typ], r.byID[f.typ]
		}
		c.steps = stepsOf(c.fields)
		c.table = tablesByName[c.name]
		r.setKind(c)
	}
	r.frame = r.byName[classStackFrame]
	if len(r.frame.fields) == 0 {
		return r.fail(pos, "class %q has no fields", classStackFrame)
	}
	last := &r.frame.fields[len(r.frame.fields)-1]
	r.frameType = r.frame.steps != nil && last.name == "type" && last.pool && last.typ == r.byName[classFrameType].id
	return nil
}

// bytesOf is the most that a value has.
var bytesOf = map[value]uint8{
	valueInt: maxIntBytes, valueLong: maxLongBytes, valueShort: maxShortBytes, valueBoolean: booleanBytes,
}

func stepsOf(fields []field) *steps {
	s := &steps{}
	for i := range fields {
		most := bytesOf[fields[i].value]
		if fields[i].pool {
			most = maxLongBytes
		}
		if most == 0 || fields[i].array {
			return nil
		}
		s.most = append(s.most, most)
		s.booleans = s.booleans || most == booleanBytes
	}
	return s
}
