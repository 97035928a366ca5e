// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunklogprofilereceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelpprof/otelpprof/internal/splunkrecords"
	"github.com/otelpprof/otelpprof/receiver/splunklogprofilereceiver/internal/metadata"
)

// telemetry has the metrics of metadata.yaml.
type telemetry struct {
	metrics splunkrecords.Metrics
	others  metric.Int64Counter
}

var (
	outcomePassedOn = outcome("handed_on")
	outcomeLost     = map[string]metric.MeasurementOption{
		OtherLogsDrop:   outcome("dropped"),
		OtherLogsReject: outcome("rejected"),
	}
)

func outcome(value string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", value)))
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	return &telemetry{
		metrics: splunkrecords.Metrics{
			Bytes:             builder.ReceiverSplunkLogProfileBytes,
			EmptyRecords:      builder.ReceiverSplunkLogProfileEmptyRecords,
			Events:            builder.ReceiverSplunkLogProfileEvents,
			Records:           builder.ReceiverSplunkLogProfileRecords,
			Refusals:          builder.ReceiverSplunkLogProfileRefusals,
			Repairs:           builder.ReceiverSplunkLogProfileRepairs,
			Samples:           builder.ReceiverSplunkLogProfileSamples,
			TranslateDuration: builder.ReceiverSplunkLogProfileTranslateDuration,
		},
		others: builder.ReceiverSplunkLogProfileOtherRecords,
	}, nil
}

func (t *telemetry) passedOn(ctx context.Context, records int) {
	t.others.Add(ctx, int64(records), outcomePassedOn)
}

func (t *telemetry) lost(ctx context.Context, records int, how string) {
	t.others.Add(ctx, int64(records), outcomeLost[how])
}
