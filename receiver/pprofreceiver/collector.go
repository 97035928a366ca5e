// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// What becomes of a fetch, beside the reasons of [answers].
const (
	outcomeOK           = "ok"
	outcomeBaseline     = "baseline"
	outcomeUnreachable  = "unreachable"
	outcomeBadAnswer    = "bad_answer"
	outcomeProfilerBusy = "profiler_busy"
	outcomeTooLarge     = "too_large"
)

// fetchError is an error of getting a profile, with its outcome.
type fetchError struct {
	outcome string
	err     error
}

func failFetch(outcome, format string, args ...any) error {
	return &fetchError{outcome: outcome, err: fmt.Errorf(format, args...)}
}

func (f *fetchError) Error() string { return f.err.Error() }

// outcomeOf finds the outcome that an error means.
func outcomeOf(err error) string {
	if err == nil {
		return outcomeOK
	}
	if own, ok := errors.AsType[*fetchError](err); ok {
		return own.outcome
	}
	return answers[classify(err)].reason
}

// collector is what the ways in share that fetch profiles themselves.
type collector struct {
	in     *intake
	way    *way
	obs    *receiverhelper.ObsReport
	log    *zap.Logger
	legacy legacyFormats
}

func newCollector(set receiver.Settings, in *intake, name, transport string) (*collector, error) {
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID: set.ID, Transport: transport, ReceiverCreateSettings: set,
	})
	if err != nil {
		return nil, err
	}
	return &collector{in: in, way: newWay(in.metrics, name), obs: obs, log: set.Logger}, nil
}

// deliver translates a payload and hands it on. The memory keeps the payload.
func (c *collector) deliver(ctx context.Context, payload []byte, source pprof.Source, m *memory) error {
	ctx = c.obs.StartProfilesOp(ctx)
	payloads := c.in.newBatch(c.way, c.legacy, m)
	samples, err := 0, payloads.add(ctx, payload, source, times{})
	if err == nil {
		samples, err = payloads.deliver(ctx)
	}
	c.obs.EndProfilesOp(ctx, format, samples, err)
	return err
}
