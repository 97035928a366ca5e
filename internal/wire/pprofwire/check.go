// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

import "math"

// stringIndex converts a string index from the wire. checkReferences checks later whether the string exists, when the whole
// table is known. An index of more than 31 bits is an error at once, since no table can be that long.
func stringIndex(field string, v uint64) (uint32, error) {
	if v > math.MaxInt32 {
		return 0, Malformed("%s: string %d does not exist", field, int64(v))
	}
	return uint32(v), nil
}

// checkReferences checks every string index against the string table.
func (p *Profile) checkReferences() error {
	n := uint32(len(p.strings))
	if n == 0 {
		return Malformed("there is no string table")
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		if top := max(f.Name, f.SystemName, f.Filename); top >= n {
			return noString("function", i, top, n)
		}
	}
	for i := range p.Labels {
		l := &p.Labels[i]
		if top := max(l.Key, l.Str, l.NumUnit); top >= n {
			return noString("label", i, top, n)
		}
	}
	for i := range p.Mappings {
		m := &p.Mappings[i]
		if top := max(m.Filename, m.BuildID); top >= n {
			return noString("mapping", i, top, n)
		}
	}
	for i, t := range p.SampleTypes {
		if top := max(t.Type, t.Unit); top >= n {
			return noString("sample_type", i, top, n)
		}
	}
	for i, c := range p.Comments {
		if c >= n {
			return noString("comment", i, c, n)
		}
	}
	for _, h := range []struct {
		field string
		index uint32
	}{
		{"period_type", max(p.PeriodType.Type, p.PeriodType.Unit)},
		{"drop_frames", p.DropFrames},
		{"keep_frames", p.KeepFrames},
		{"default_sample_type", p.DefaultSampleType},
		{"doc_url", p.DocURL},
	} {
		if h.index >= n {
			return Malformed("%s: string %d does not exist, the table has %d", h.field, h.index, n)
		}
	}
	return nil
}

func noString(table string, i int, index, n uint32) error {
	return Malformed("%s %d: string %d does not exist, the table has %d", table, i, index, n)
}

func noID(table string, i int) error { return Malformed("%s %d has id 0, which is reserved", table, i) }
