// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"math"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
)

// Attribute is an entry of the attribute table. Key and Unit are string indices.
type Attribute struct {
	Key, Unit int32
	// Kind is the type of the value. A string is in Text. An int, a bool (0 or 1) and a double (its bits) are in Number.
	// Other values are in Value.
	Kind   pcommon.ValueType
	Number uint64
	Text   string
	Value  pcommon.Value
}

// StringAttribute returns the index of the attribute with a string value and no unit. The Builder keeps value.
func (b *Builder) StringAttribute(key int32, value string) int32 {
	return b.attribute(Attribute{Key: key, Kind: pcommon.ValueTypeStr, Text: value})
}

// StringBytesAttribute is like StringAttribute, but value is bytes. It copies them if the attribute is new.
func (b *Builder) StringBytesAttribute(key int32, value []byte) int32 {
	h := mix(hashAttribute(key, 0, pcommon.ValueTypeStr), hashBytes(value))
	entry, added := b.attributeIndex.add(h, len(b.attributes), func(entry int32) bool {
		a := &b.attributes[entry]
		return a.Key == key && a.Unit == 0 && a.Kind == pcommon.ValueTypeStr && a.Text == string(value)
	})
	if added {
		b.attributes = append(b.attributes, Attribute{Key: key, Kind: pcommon.ValueTypeStr, Text: b.keep(value)})
	}
	return entry
}

// IntAttribute returns the index of the attribute with an int value.
func (b *Builder) IntAttribute(key, unit int32, value int64) int32 {
	return b.attribute(Attribute{Key: key, Unit: unit, Kind: pcommon.ValueTypeInt, Number: uint64(value)})
}

// TrueAttribute returns the index of the attribute with the value true and no unit.
func (b *Builder) TrueAttribute(key int32) int32 {
	return b.attribute(Attribute{Key: key, Kind: pcommon.ValueTypeBool, Number: 1})
}

// Attribute returns the index of the attribute with this value. A value of type bytes, slice or map must not change until
// WriteTo or Reset, since the Builder refers to it. It must not be too deep, see [attributevalue.TooDeep].
func (b *Builder) Attribute(key, unit int32, value pcommon.Value) int32 {
	return b.attribute(NewAttribute(key, unit, value))
}

// NewAttribute returns an entry. It refers to a value of type bytes, slice or map.
func NewAttribute(key, unit int32, value pcommon.Value) Attribute {
	a := Attribute{Key: key, Unit: unit, Kind: value.Type()}
	switch a.Kind {
	case pcommon.ValueTypeStr:
		a.Text = value.Str()
	case pcommon.ValueTypeInt:
		a.Number = uint64(value.Int())
	case pcommon.ValueTypeBool:
		if value.Bool() {
			a.Number = 1
		}
	case pcommon.ValueTypeDouble:
		a.Number = math.Float64bits(value.Double())
	case pcommon.ValueTypeBytes, pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		a.Value = value
	case pcommon.ValueTypeEmpty:
	}
	return a
}

func (b *Builder) attribute(a Attribute) int32 {
	entry, added := b.attributeIndex.add(a.hash(), len(b.attributes), func(entry int32) bool { return equalAttributes(&b.attributes[entry], &a) })
	if added {
		b.attributes = append(b.attributes, a)
	}
	return entry
}

func equalAttributes(a, b *Attribute) bool {
	if a.Key != b.Key || a.Unit != b.Unit || a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case pcommon.ValueTypeStr:
		return a.Text == b.Text
	case pcommon.ValueTypeDouble:
		return equalDoubles(math.Float64frombits(a.Number), math.Float64frombits(b.Number))
	case pcommon.ValueTypeBytes, pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return EqualValues(a.Value, b.Value)
	default:
		return a.Number == b.Number
	}
}

// AsString returns the value as text, see [attributevalue.Text].
func (a *Attribute) AsString() string {
	switch a.Kind {
	case pcommon.ValueTypeStr:
		return a.Text
	case pcommon.ValueTypeInt:
		return strconv.FormatInt(int64(a.Number), 10)
	case pcommon.ValueTypeBool:
		return strconv.FormatBool(a.Number != 0)
	case pcommon.ValueTypeDouble:
		return attributevalue.Text(pcommon.NewValueDouble(math.Float64frombits(a.Number)))
	case pcommon.ValueTypeBytes, pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		return attributevalue.Text(a.Value)
	case pcommon.ValueTypeEmpty:
	}
	return ""
}
