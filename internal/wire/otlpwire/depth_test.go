// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpwire

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
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
					proto, err := (&plog.ProtoMarshaler{}).MarshalLogs(logs)
					require.NoError(t, err)
					json, err := (&plog.JSONMarshaler{}).MarshalLogs(logs)
					require.NoError(t, err)
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
