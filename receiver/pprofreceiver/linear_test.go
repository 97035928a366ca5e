// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/internal/testkit/profiletest"
	"github.com/otelpprof/otelpprof/receiver/pprofreceiver/internal/datadog"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// TestQueryLinearTime: the time grows linearly with the query and with the labels in it.
func TestQueryLinearTime(t *testing.T) {
	profiletest.CheckLinear(t, "", "=b", []string{"&", "=", "%41", "%", "a=b&", "resource.a=b&", "service.name=a&", "+"}, func(query []byte) {
		_ = setFromQuery(&pprof.Source{Resource: pcommon.NewMap()}, string(query))
	})
	profiletest.CheckLinear(t, "", "a:b", []string{"a:b,", "a:c,", ",", ":", "a"}, func(tags []byte) {
		source := pprof.Source{Resource: pcommon.NewMap()}
		list, _ := datadog.AppendTags(nil, string(tags))
		setFromLabels(&source, list, nil)
	})
}
