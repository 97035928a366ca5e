// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "fmt"

// readValueType reads the bytes of a ValueType into t: protobuf merges a second message of a singular field into the first.
//
//	int64 type = 1;  int64 unit = 2;
func (p *Profile) readValueType(b []byte, t ValueType) (ValueType, error) {
	err := p.readNumbers(b, "ValueType", 2, func(field int, v uint64) (err error) {
		switch field {
		case 1:
			t.Type, err = stringIndex("ValueType.type", v)
		case 2:
			t.Unit, err = stringIndex("ValueType.unit", v)
		}
		return err
	})
	return t, err
}

// readMapping reads the bytes of one mapping.
//
//	uint64 id = 1;           uint64 file_offset = 4;  bool has_functions = 7;
//	uint64 memory_start = 2; int64 filename = 5;      bool has_filenames = 8;
//	uint64 memory_limit = 3; int64 build_id = 6;      bool has_line_numbers = 9;
//	                                                  bool has_inline_frames = 10;
func (p *Profile) readMapping(b []byte, limits *Limits) error {
	var m Mapping
	err := p.readNumbers(b, "Mapping", 10, func(field int, v uint64) (err error) {
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
		return err
	})
	if err != nil {
		return err
	}
	if m.ID == 0 {
		return noID("mapping", len(p.Mappings))
	}
	return push(p, &p.Mappings, m, limits)
}

// readNumbers calls set for each number of a message whose fields 1 to known are numbers. Locations, lines, functions and labels
// are too many for a call of set per field: their readers repeat the loop.
func (p *Profile) readNumbers(b []byte, message string, known int, set func(field int, v uint64) error) error {
	for i := 0; i < len(b); {
		tag := int(b[i])
		if tag&7 != wireVarint || tag < 1<<3 || tag >= (known+1)<<3 {
			next, err := p.skipUnknown(b, i, message, uint64(known))
			if err != nil {
				return err
			}
			i = next
			continue
		}
		v, next := uvarint(b, i+1)
		if next < 0 {
			return inField(message, tag>>3, fault(next))
		}
		if err := set(tag>>3, v); err != nil {
			return err
		}
		i = next
	}
	return nil
}

// readLocation reads the bytes of one location.
//
//	uint64 id = 1;          uint64 address = 3;      bool is_folded = 5;
//	uint64 mapping_id = 2;  repeated Line line = 4;
func (p *Profile) readLocation(b []byte, limits *Limits) error {
	var l Location
	firstLine := len(p.Lines)
	for i := 0; i < len(b); {
		tag := b[i]
		if tag == 4<<3|wireBytes {
			start, end := message(b, i+1)
			if end < 0 {
				return p.inLocation(4, end)
			}
			if err := p.readLine(b[start:end], limits); err != nil {
				return err
			}
			i = end
			continue
		}
		if tag&7 != wireVarint || tag < 1<<3 || tag == 4<<3 || tag >= 6<<3 {
			next, err := p.skipUnknown(b, i, "Location", 5)
			if err != nil {
				return err
			}
			i = next
			continue
		}
		v, next := uvarint(b, i+1)
		if next < 0 {
			return p.inLocation(int(tag>>3), next)
		}
		switch tag >> 3 {
		case 1:
			l.ID = v
		case 2:
			l.MappingID = v
		case 3:
			l.Address = v
		case 5:
			l.IsFolded = v != 0
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

func (p *Profile) inLocation(field, position int) error {
	return inField(fmt.Sprintf("location %d", len(p.Locations)), field, fault(position))
}

// readLine reads the bytes of one line.
//
//	uint64 function_id = 1;  int64 line = 2;  int64 column = 3;
func (p *Profile) readLine(b []byte, limits *Limits) (err error) {
	var l Line
	for i := 0; i < len(b); {
		tag := b[i]
		if tag&7 != wireVarint || tag < 1<<3 || tag >= 4<<3 {
			next, err := p.skipUnknown(b, i, "Line", 3)
			if err != nil {
				return err
			}
			i = next
			continue
		}
		v, next := uvarint(b, i+1)
		if next < 0 {
			return inField(fmt.Sprintf("a line of location %d", len(p.Locations)), int(tag>>3), fault(next))
		}
		switch tag >> 3 {
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
func (p *Profile) readFunction(b []byte, limits *Limits) (err error) {
	var f Function
	for i := 0; i < len(b); {
		tag := b[i]
		if tag&7 != wireVarint || tag < 1<<3 || tag >= 6<<3 {
			next, err := p.skipUnknown(b, i, "Function", 5)
			if err != nil {
				return err
			}
			i = next
			continue
		}
		v, next := uvarint(b, i+1)
		if next < 0 {
			return inField(fmt.Sprintf("function %d", len(p.Functions)), int(tag>>3), fault(next))
		}
		switch tag >> 3 {
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
