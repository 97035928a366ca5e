// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "fmt"

// readValueType reads the bytes of a ValueType into t: protobuf merges a second message of a singular field into the first.
//
//	int64 type = 1;  int64 unit = 2;
func (p *Profile) readValueType(b []byte, t ValueType) (ValueType, error) {
	for i := 0; i < len(b); {
		field, v, next, err := p.number(b, i, inValueType, len(p.SampleTypes))
		switch field {
		case 1:
			t.Type, err = stringIndex("ValueType.type", v)
		case 2:
			t.Unit, err = stringIndex("ValueType.unit", v)
		}
		if err != nil {
			return t, err
		}
		i = next
	}
	return t, nil
}

// readMapping reads the bytes of one mapping.
//
//	uint64 id = 1;           uint64 file_offset = 4;  bool has_functions = 7;
//	uint64 memory_start = 2; int64 filename = 5;      bool has_filenames = 8;
//	uint64 memory_limit = 3; int64 build_id = 6;      bool has_line_numbers = 9;
//	                                                  bool has_inline_frames = 10;
func (p *Profile) readMapping(b []byte, limits *Limits) error {
	var m Mapping
	for i := 0; i < len(b); {
		field, v, next, err := p.number(b, i, inMapping, len(p.Mappings))
		switch field {
		case 1:
			m.ID = v
		case 2:
			m.Start = v
		case 3:
			m.Limit = v
		case 4:
			m.Offset = v
		case 5:
			m.Filename, err = stringIndex("mapping.filename", v)
		case 6:
			m.BuildID, err = stringIndex("mapping.build_id", v)
		case 7:
			m.HasFunctions = v != 0
		case 8:
			m.HasFilenames = v != 0
		case 9:
			m.HasLineNumbers = v != 0
		case 10:
			m.HasInlineFrames = v != 0
		}
		if err != nil {
			return err
		}
		i = next
	}
	if m.ID == 0 {
		return noID("mapping", len(p.Mappings))
	}
	return push(p, &p.Mappings, m, limits)
}

// numbers is a message whose fields are numbers: its name, how errors name one of its entries, and its largest field number.
type numbers struct {
	message, entry string
	known          int
}

var (
	inValueType = &numbers{"ValueType", "ValueType %d", 2}
	inMapping   = &numbers{"Mapping", "mapping %d", 10}
	inLocation  = &numbers{"Location", "location %d", 5}
	inLine      = &numbers{"Line", "a line of location %d", 3}
	inFunction  = &numbers{"Function", "function %d", 5}
	inLabel     = &numbers{"Label", "a label of sample %d", 4}
)

// number reads a number of entry n. field is 0 if it skipped an unknown field.
func (p *Profile) number(b []byte, i int, of *numbers, n int) (field int, v uint64, next int, err error) {
	tag := int(b[i])
	if tag&7 != wireVarint || tag < 1<<3 || tag >= (of.known+1)<<3 {
		next, err = p.skipUnknown(b, i, of.message, uint64(of.known))
		return 0, 0, next, err
	}
	if i+1 < len(b) && b[i+1] < 0x80 {
		return tag >> 3, uint64(b[i+1]), i + 2, nil
	}
	if v, next = longUvarint(b, i+1); next < 0 {
		return 0, 0, 0, inField(fmt.Sprintf(of.entry, n), tag>>3, fault(next))
	}
	return tag >> 3, v, next, nil
}

// readLocation reads the bytes of one location.
//
//	uint64 id = 1;          uint64 address = 3;      bool is_folded = 5;
//	uint64 mapping_id = 2;  repeated Line line = 4;
func (p *Profile) readLocation(b []byte, limits *Limits) error {
	var l Location
	firstLine := len(p.Lines)
	for i := 0; i < len(b); {
		if b[i] == 4<<3|wireBytes {
			start, end := message(b, i+1)
			if end < 0 {
				return inField(fmt.Sprintf(inLocation.entry, len(p.Locations)), 4, fault(end))
			}
			if err := p.readLine(b[start:end], limits); err != nil {
				return err
			}
			i = end
			continue
		}
		field, v, next, err := p.number(b, i, inLocation, len(p.Locations))
		switch field {
		case 1:
			l.ID = v
		case 2:
			l.MappingID = v
		case 3:
			l.Address = v
		case 4:
			err = wrongWireType(inLocation.message, 4, wireVarint)
		case 5:
			l.IsFolded = v != 0
		}
		if err != nil {
			return err
		}
		i = next
	}
	if l.ID == 0 {
		return noID("location", len(p.Locations))
	}
	l.LinesEnd = uint32(len(p.Lines))
	if err := limits.checkLocation(len(p.Locations), len(p.Lines)-firstLine); err != nil {
		return err
	}
	return push(p, &p.Locations, l, limits)
}

// readLine reads the bytes of one line.
//
//	uint64 function_id = 1;  int64 line = 2;  int64 column = 3;
func (p *Profile) readLine(b []byte, limits *Limits) error {
	var l Line
	for i := 0; i < len(b); {
		field, v, next, err := p.number(b, i, inLine, len(p.Locations))
		if err != nil {
			return err
		}
		switch field {
		case 1:
			l.FunctionID = v
		case 2:
			l.Line = int64(v)
		case 3:
			l.Column = int64(v)
		}
		i = next
	}
	return push(p, &p.Lines, l, limits)
}

// readFunction reads the bytes of one function.
//
//	uint64 id = 1;  int64 name = 2;  int64 system_name = 3;  int64 filename = 4;  int64 start_line = 5;
func (p *Profile) readFunction(b []byte, limits *Limits) error {
	var f Function
	for i := 0; i < len(b); {
		field, v, next, err := p.number(b, i, inFunction, len(p.Functions))
		switch field {
		case 1:
			f.ID = v
		case 2:
			f.Name, err = stringIndex("function.name", v)
		case 3:
			f.SystemName, err = stringIndex("function.system_name", v)
		case 4:
			f.Filename, err = stringIndex("function.filename", v)
		case 5:
			f.StartLine = int64(v)
		}
		if err != nil {
			return err
		}
		i = next
	}
	if f.ID == 0 {
		return noID("function", len(p.Functions))
	}
	return push(p, &p.Functions, f, limits)
}
