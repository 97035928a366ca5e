// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/wire/pprofwire"
	"github.com/otelpprof/otelpprof/translator/internal/semconv"
)

// appendMainMapping appends the attribute that identifies the main binary, unless its mapping is the only one that
// samples refer to. OTLP requires that something refers to each entry, and the order of a dictionary has no meaning:
// after messages are joined, a mapping of another message can come first.
func (t *decoding) appendMainMapping(attributes []int32) []int32 {
	mapping, alone := t.tables.MainMapping()
	if mapping == nil || alone {
		return attributes
	}
	text, items := len(t.wire.String(mapping.Filename))+len(t.wire.String(mapping.BuildID)), int64(semconv.NumMainKeys*listItemBytes)
	return append(attributes, t.addAttribute(text, items, false, func() int32 {
		return t.dict.Attribute(t.dict.String(semconv.ProfileMainMapping), 0, t.mappingValue(mapping))
	}))
}

// mappingValue returns a map with the fields of a mapping that are set.
func (t *decoding) mappingValue(m *pprofwire.Mapping) pcommon.Value {
	value := pcommon.NewValueMap()
	fields := value.Map()
	fields.EnsureCapacity(semconv.NumMainKeys)
	putText := func(key, text string) {
		if text != "" {
			fields.PutStr(key, text)
		}
	}
	putNumber := func(key string, n uint64) {
		if n != 0 {
			fields.PutInt(key, int64(n))
		}
	}
	putFlag := func(key string, flag bool) {
		if flag {
			fields.PutBool(key, true)
		}
	}
	putText(semconv.MainFilename, t.name(m.Filename))
	putText(semconv.MainBuildID, t.name(m.BuildID))
	putNumber(semconv.MainMemoryStart, m.Start)
	putNumber(semconv.MainMemoryLimit, m.Limit)
	putNumber(semconv.MainFileOffset, m.Offset)
	putFlag(semconv.MainHasFunctions, m.HasFunctions)
	putFlag(semconv.MainHasFilenames, m.HasFilenames)
	putFlag(semconv.MainHasLineNumbers, m.HasLineNumbers)
	putFlag(semconv.MainHasInlineFrames, m.HasInlineFrames)
	return value
}
