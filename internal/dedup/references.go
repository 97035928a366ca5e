// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// references visits the values of a dictionary's attributes that refer to a string. pdata resolves only those of resources and scopes. It shows
// others as empty values, with an index that is wrong as soon as the strings have other places.
type references struct {
	strings pcommon.StringSlice
	// write is true to replace a value by its string, or by an empty value if there is none.
	write, found bool
	// record gets a copy of each value. emptySize is its size without one.
	record    plog.LogRecord
	emptySize int
}

// ResolveReferences returns the message with strings in place of such values. It copies a read-only message that has any.
func ResolveReferences(pd pprofile.Profiles) pprofile.Profiles {
	r := references{record: plog.NewLogRecord()}
	r.emptySize = (&plog.ProtoMarshaler{}).LogRecordSize(r.record)
	if r.visit(pd.Dictionary()); r.found {
		pd = OwnCopy(pd)
		r.write = true
		r.visit(pd.Dictionary())
	}
	return pd
}

func (r *references) visit(dict pprofile.ProfilesDictionary) {
	r.strings = dict.StringTable()
	for _, attribute := range dict.AttributeTable().All() {
		r.value(attribute.Value(), attributevalue.MaxDepth)
	}
}

// value visits this number of levels of lists and maps. Deeper values are invalid.
func (r *references) value(v pcommon.Value, levels int) {
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		r.resolve(v)
	case pcommon.ValueTypeSlice:
		if levels == 0 {
			return
		}
		for _, item := range v.Slice().All() {
			r.value(item, levels-1)
		}
	case pcommon.ValueTypeMap:
		if levels == 0 {
			return
		}
		for _, item := range v.Map().All() {
			r.value(item, levels-1)
		}
	default:
	}
}

// resolve resolves a value that is empty or a reference. Only its size shows which, and only JSON the index.
func (r *references) resolve(v pcommon.Value) {
	v.CopyTo(r.record.Body())
	if (&plog.ProtoMarshaler{}).LogRecordSize(r.record) == r.emptySize {
		return
	}
	if r.found = true; !r.write {
		return
	}
	json, _ := (&xpdata.JSONMarshaler{}).MarshalValue(v) // There is no error for a number.
	digits, _ := bytes.CutPrefix(json, []byte(`{"stringValueStrindex":`))
	i, err := strconv.Atoi(string(bytes.TrimSuffix(digits, []byte("}"))))
	if err != nil || i < 0 || i >= r.strings.Len() {
		pcommon.NewValueEmpty().CopyTo(v)
		return
	}
	v.SetStr(r.strings.At(i))
}
