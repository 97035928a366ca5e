// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"strconv"
	"testing"
	"time"

	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/internal/testkit/memorytest"
)

// The state of each resource in each point of a series is reserved.
func TestStatesAreReserved(t *testing.T) {
	const pods, values = 100, 1000
	head := &store.Head{Columns: []store.Column{{IsGauge: true}}}
	memorytest.CheckHeld(t, memorytest.Most, 1, func() (*grouping, int64) {
		reserved := int64(0)
		work := meter.New(0, func(total int64) error {
			reserved = total
			return nil
		})
		g := &grouping{call: &call{work: work}, groups: map[string]*group{}, newest: map[stateKey]time.Time{}}
		for pod := range pods {
			attributes := pcommon.NewMap()
			attributes.PutInt("pod", int64(pod))
			p := &selectedProfile{Profile: &store.Profile{Head: head, Resource: store.NewResource("", attributes), End: day}, columns: []int{0}}
			for value := range values {
				labels := []*typesv1.LabelPair{{Name: "id", Value: strconv.Itoa(value)}}
				require.NoError(t, g.add(&sampleSum{labels: labels, value: 1}, 0, p))
			}
		}
		return g, reserved
	})
}
