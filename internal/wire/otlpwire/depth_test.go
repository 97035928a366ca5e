// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
	"github.com/otelpprof/otelpprof/internal/testkit/must"
	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
)

// TestDepth: protobuf and JSON have the limit that all components have.
func TestDepth(t *testing.T) {
	list := func(v pcommon.Value) pcommon.Value { return v.SetEmptySlice().AppendEmpty() }
	pair := func(v pcommon.Value) pcommon.Value { return v.SetEmptyMap().PutEmpty("k") }
	for _, levels := range []int{0, 1, attributevalue.MaxDepth, attributevalue.MaxDepth + 1} {
		for name, nest := range map[string]func(pcommon.Value) pcommon.Value{"lists": list, "maps": pair} {
			for _, innermost := range []string{"list", "string"} {
				logs := plog.NewLogs()
				body := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body()
				value := body
				for range levels {
					value = nest(value)
				}
				if innermost == "list" {
					value.SetEmptySlice()
				} else {
					value.SetStr("x")
				}
				t.Run(fmt.Sprintf("%d %s of a %s", levels, name, innermost), func(t *testing.T) {
					proto := must.Get((&plog.ProtoMarshaler{}).MarshalLogs(logs))(t)
					json := must.Get((&plog.JSONMarshaler{}).MarshalLogs(logs))(t)
					_, protoErr := Count(Logs, proto)
					_, jsonErr := CountJSON(json)
					tooDeep := attributevalue.TooDeep(body)
					assert.Equal(t, levels > attributevalue.MaxDepth || innermost == "list" && levels == attributevalue.MaxDepth, tooDeep)
					assert.Equal(t, tooDeep, protoErr != nil, "protobuf")
					assert.Equal(t, tooDeep, jsonErr != nil, "JSON")
					for _, err := range []error{protoErr, jsonErr} {
						if err != nil {
							assert.ErrorIs(t, err, ErrTooDeep)
						}
					}
				})
			}
		}
	}
}

// TestCountJSONLinearTime: the time grows linearly with the body.
func TestCountJSONLinearTime(t *testing.T) {
	tokens := []string{" ", "a", `"`, `\`, `\\`, `\"`, `\n`, `"\\",`, "{}", "[],", ","}
	for _, head := range []string{"", `"`, `{"a":"`} {
		profiletest.CheckLinear(t, head, `"}`, tokens, func(body []byte) { _, _ = CountJSON(body) })
	}
}

// TestJSON: bodies of many small entries need at most the counted memory. The count does not know the types of fields, so it
// is up to five times as much.
func TestJSON(t *testing.T) {
	times := func(entry string) string {
		return strings.TrimSuffix(strings.Repeat(entry+",", entriesEach), ",")
	}
	for name, test := range map[string]struct {
		signal Signal
		body   string
	}{
		"resources":    {Logs, `{"resourceLogs":[` + times(`{}`) + `]}`},
		"spans":        {Traces, `{"resourceSpans":[{"scopeSpans":[{"spans":[` + times(`{}`) + `]}]}]}`},
		"attributes":   {Traces, `{"resourceSpans":[{"resource":{"attributes":[` + times(`{}`) + `]}}]}`},
		"values":       {Logs, `{"resourceLogs":[{"resource":{"attributes":[` + times(`{"key":"a","value":{"intValue":"1"}}`) + `]}}]}`},
		"exponentials": {Metrics, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"exponentialHistogram":{"dataPoints":[` + times(`{}`) + `]}}]}]}]}`},
		"metrics":      {Metrics, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[` + times(`{"exponentialHistogram":{}}`) + `]}]}]}`},
		"strings":      {Profiles, `{"dictionary":{"stringTable":[` + times(`""`) + `]}}`},
		"words":        {Profiles, `{"dictionary":{"stringTable":[` + times(`"some word"`) + `]}}`},
		"escapes":      {Profiles, `{"dictionary":{"stringTable":["` + strings.Repeat(`\u0041`, entriesEach) + `"]}}`},
		"quotes":       {Profiles, `{"dictionary":{"stringTable":[` + times(`"\""`) + `]}}`},
		"indices":      {Profiles, `{"dictionary":{"stackTable":[{"locationIndices":[` + times(`1`) + `]}]}}`},
		"counts":       {Metrics, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"histogram":{"dataPoints":[{"bucketCounts":[` + times(`"1"`) + `]}]}}]}]}]}`},
		"base64":       {Profiles, `{"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"originalPayload":"` + strings.Repeat("AAAA", 20*entriesEach) + `"}]}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			counted := must.Get(CountJSON(body))(t)
			checkHeld(t, 5, test.signal, body, counted, jsonBody)
		})
	}
}

// TestJSONErrors: the error about a long text in the place of a number is counted. It leaves garbage, too. The same text is not counted so
// where only a text can be.
func TestJSONErrors(t *testing.T) {
	const length = 1 << 20
	for _, character := range []string{"\x7f", "x", "\u0080", `\\`, `\u0001`} {
		long := strings.Repeat(character, length/len(character))
		for name, body := range map[string]string{
			"text for a number": `{"dictionary":{"stackTable":[{"locationIndices":["` + long + `"]}]}}`,
			"in a list":         `{"dictionary":{"stackTable":[{"locationIndices":[1, "1", "` + long + `"]}]}}`,
			"after a text":      `{"dictionary":{"stringTable":["a"],"linkTable":[{"spanId":"","traceId":""}],"functionTable":[{"startLine":"` + long + `"}]}}`,
			"number":            `{"dictionary":{"attributeTable":[{"value":{"doubleValue":1.` + strings.Repeat("1", length) + `e999}}]}}`,
		} {
			var err error
			total := memorytest.Allocated(func() { err = jsonBody(newRequest(Profiles), []byte(body)) })
			require.Error(t, err, name)
			counted := must.Get(CountJSON([]byte(body)))(t)
			assert.LessOrEqual(t, total, 3*counted, "%s of %q", name, character)
		}
		text := must.Get(CountJSON([]byte(`{"dictionary":{"stringTable":["` + long + `","` + long + `"]}}`)))(t)
		assert.Less(t, text, int64(2*(escapedCopies+2)*length), character)
	}
}

func TestJSONNesting(t *testing.T) {
	body := func(levels int, begin, end string) []byte {
		return []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"key":"a","value":` +
			strings.Repeat(begin, levels) + `{"stringValue":"x"}` + strings.Repeat(end, levels) + `}]}]}]}]}`)
	}
	list, listEnd := `{"kvlistValue":{"values":[{"key":"k","value":`, `}]}}`
	array, arrayEnd := `{"arrayValue":{"values":[`, `]}}`
	for _, good := range [][]byte{
		body(32, list, listEnd), body(32, array, arrayEnd), []byte(`{"a":"` + strings.Repeat(`[{\"`, 1000) + `"}`),
		[]byte(`[` + strings.Repeat(`{"key":"arrayValue"},{"arrayValue":[{}]},`, 40) + `{}]`), []byte(strings.Repeat(`]`, 1000)),
	} {
		_, err := CountJSON(good)
		require.NoError(t, err)
	}
	for _, bad := range [][]byte{body(33, list, listEnd), body(33, array, arrayEnd), body(33, strings.ReplaceAll(array, "arrayValue", "array_value"), arrayEnd), []byte(strings.Repeat("[", 1<<20))} {
		_, err := CountJSON(bad)
		require.ErrorIs(t, err, ErrTooDeep)
	}
}

// attribute returns a KeyValue with a key, a reference of two bytes if it is not 0, and a value.
func attribute(key string, reference uint64, value []byte) []byte {
	var wire []byte
	if reference != 0 {
		wire = protowire.AppendVarint(protowire.AppendTag(wire, keyReferenceField, protowire.VarintType), reference)
	}
	wire = protowire.AppendString(protowire.AppendTag(wire, keyField, protowire.BytesType), key)
	return within(2, value, wire)
}

// within appends content to wire as a field.
func within(number protowire.Number, content, wire []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(wire, number, protowire.BytesType), content)
}

// attributesOf returns a request whose resource and scope have these attributes, and a dictionary.
func attributesOf(attributes ...[]byte) []byte {
	var inResource, inScope []byte
	for _, a := range attributes {
		inResource, inScope = within(1, a, inResource), within(3, a, inScope)
	}
	scopes := within(1, inScope, within(2, nil, nil)) // and an empty profile
	var tables []byte
	for _, text := range []string{"", "referred"} {
		tables = within(5, []byte(text), tables)
	}
	return within(2, tables, within(1, within(2, scopes, within(1, inResource, nil)), nil))
}

// TestClearKeyReferences: pdata refuses the message, unless the references beside keys are cleared, also those in nested values.
// A reference without a key stays.
func TestClearKeyReferences(t *testing.T) {
	const far = 200
	text := within(1, []byte("a"), nil)
	nested := within(6, within(1, attribute("inner", far, text), nil), nil)
	list := within(5, within(1, nested, nil), nil)
	body := attributesOf(attribute("service.name", far, text), attribute("map", far, nested), attribute("list", far, list), attribute("", 1, text))
	_, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(body)
	require.ErrorContains(t, err, "both key and key_strindex")
	_, err = Count(Profiles, body)
	require.NoError(t, err)

	ClearKeyReferences(body)
	pd := must.Get((&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(body))(t)
	inner := map[string]any{"inner": "a"}
	want := map[string]any{"service.name": "a", "map": inner, "list": []any{inner}, "referred": "a"}
	got := pd.ResourceProfiles().At(0)
	assert.Equal(t, want, got.Resource().Attributes().AsRaw())
	assert.Equal(t, want, got.ScopeProfiles().At(0).Scope().Attributes().AsRaw())
	assert.Equal(t, 1, got.ScopeProfiles().At(0).Profiles().Len())
}

// TestClearKeyReferencesLeavesOthers: messages without such references stay as they are, as well as malformed ones.
func TestClearKeyReferencesLeavesOthers(t *testing.T) {
	valid := attributesOf(attribute("service.name", 0, within(1, []byte("a"), nil)), attribute("", 1, nil))
	for end := range len(valid) + 1 {
		body := bytes.Clone(valid[:end])
		ClearKeyReferences(body)
		assert.Equal(t, valid[:end], body)
	}
}
