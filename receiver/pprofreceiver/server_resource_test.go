// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/label"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestRepeatedLabels: values of one source are kept together, and override those of the sources before.
func TestRepeatedLabels(t *testing.T) {
	names := map[string]string{"service": attributeServiceName}
	for name, test := range map[string]struct {
		before map[string]any
		labels []label.Label
		want   map[string]any
	}{
		"one value":                   {labels: []label.Label{{Name: "a", Value: "1"}}, want: map[string]any{"a": "1"}},
		"two values":                  {labels: []label.Label{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}, want: map[string]any{"a": []any{"1", "2"}}},
		"an empty value between":      {labels: []label.Label{{Name: "a", Value: "1"}, {Name: "a"}, {Name: "a", Value: "2"}}, want: map[string]any{"a": []any{"1", "2"}}},
		"an empty value first":        {labels: []label.Label{{Name: "a"}, {Name: "a", Value: "2"}}, want: map[string]any{"a": "2"}},
		"equal values":                {labels: []label.Label{{Name: "a", Value: "1"}, {Name: "a", Value: "1"}}, want: map[string]any{"a": "1"}},
		"another source before":       {before: map[string]any{"a": "0"}, labels: []label.Label{{Name: "a", Value: "1"}}, want: map[string]any{"a": "1"}},
		"another source with two":     {before: map[string]any{"a": []any{"0", "9"}}, labels: []label.Label{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}, want: map[string]any{"a": []any{"1", "2"}}},
		"a service has one name":      {labels: []label.Label{{Name: "service", Value: "1"}, {Name: "service", Value: "2"}}, want: map[string]any{"service.name": "2"}},
		"also under the other name":   {labels: []label.Label{{Name: "service.name", Value: "1"}, {Name: "service.name", Value: "2"}}, want: map[string]any{"service.name": "2"}},
		"labels for the server alone": {labels: []label.Label{{Name: "__a", Value: "1"}, {Name: "__a", Value: "2"}}, want: map[string]any{}},
	} {
		source := pprof.Source{Resource: pcommon.NewMap()}
		require.NoError(t, source.Resource.FromRaw(test.before))
		setFromLabels(&source, test.labels, names)
		assert.Equal(t, test.want, source.Resource.AsRaw(), name)
	}
}
