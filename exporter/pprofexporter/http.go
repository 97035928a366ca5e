// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/placeholder"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/httpclient"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// httpDestination sends pprofs to a backend.
type httpDestination struct {
	cfg       *HTTPConfig
	userAgent string
	settings  component.TelemetrySettings
	encoder   *pprof.Encoder
	telemetry *telemetry
	// longestWait limits the Retry-After of answers.
	longestWait time.Duration

	endpoint *url.URL
	// path, of the endpoint, and query are for the format raw.
	path           placeholder.Template
	query, headers map[string]placeholder.Template
	// add adds a payload to a batch, as the format says. The error is a refusal if a retry of the payload would fail again. most is how many
	// pprofs a request has.
	add  func(batch *httpBatch, payload *pprof.Payload) error
	most int

	// limited is until when each pprof has a request of its own, in Unix nanoseconds, see limitedFor.
	limited atomic.Int64

	// Both are set by start.
	client httpclient.Client
	health *health
}

// limitedFor is how long each pprof has a request of its own after the retry that an answer 429 to several asks for. Pyroscope takes as many
// as its rate allows, and does not tell which: all would be sent again and again.
const limitedFor = time.Minute

func newHTTPDestination(set exporter.Settings, cfg *Config, telemetry *telemetry) (*httpDestination, error) {
	d := &httpDestination{
		cfg:         cfg.HTTP.Get(),
		userAgent:   fmt.Sprintf("%s/%s", set.BuildInfo.Command, set.BuildInfo.Version),
		settings:    set.TelemetrySettings,
		encoder:     pprof.NewEncoder(cfg.Encoding.EncodeOptions()),
		telemetry:   telemetry,
		longestWait: longestWait(cfg.RetryConfig),
		most:        1,
	}
	var err error
	if d.endpoint, err = parseEndpoint(d.cfg); err != nil {
		return nil, err
	}
	d.path, _ = placeholder.Parse(d.endpoint.Path) // parseEndpoint has checked it
	query, queryErr := parseAll(d.cfg.Query)
	headers, headersErr := parseAll(d.cfg.ResourceHeaders)
	d.query, d.headers = query, headers
	switch d.cfg.Format {
	case FormatPyroscope:
		d.add = d.addForm
	case FormatPyroscopePush:
		d.add, d.most = d.addSeries(&pushFormat), d.cfg.MaxSeriesPerRequest
	case FormatParca:
		d.add, d.most = d.addSeries(&parcaFormat), d.cfg.MaxSeriesPerRequest
	default:
		d.add = d.addRaw
	}
	return d, errors.Join(queryErr, headersErr)
}

func (d *httpDestination) start(ctx context.Context, host component.Host) error {
	client, err := httpclient.New(ctx, d.cfg.Client, host, d.settings)
	if err != nil {
		return fmt.Errorf("cannot make the HTTP client: %w", err)
	}
	d.client, d.health = client, newHealth(host, d.settings.Logger)
	return nil
}

func (d *httpDestination) shutdown(context.Context) error {
	d.telemetry.builder.Shutdown()
	d.client.Close()
	return nil
}

func (d *httpDestination) consume(ctx context.Context, pd pprofile.Profiles) error {
	if d.client.Client == nil {
		return errors.New("cannot send profiles before the start")
	}
	progress := delivery.Begin(ctx, pd)
	defer progress.Release()
	batch := &httpBatch{tenant: d.cfg.Tenant.Of(ctx), forBody: progress.Part(ctx), forGzip: progress.Part(ctx)}
	forTables := progress.Part(ctx)
	payloads := d.encoder.AllReserving(pd, func(bytes int64) error {
		return d.retryAfterFlush(ctx, batch, progress, func() error { return forTables(bytes) })
	})
	failure := progress.Each(ctx, payloads, func(payload *pprof.Payload) error {
		err := d.retryAfterFlush(ctx, batch, progress, func() error { return d.add(batch, payload) })
		isFull := batch.payloads >= d.most || len(batch.body) >= d.cfg.MaxRequestBytes
		if err == nil && (isFull || time.Now().UnixNano() < d.limited.Load()) {
			err = d.flush(ctx, batch, progress)
		}
		return err
	})
	_ = forTables(0) // cannot fail; the destination may be slow
	// The payloads in the batch are sent even if a later payload got no memory. The batch is empty if a request failed: flush resets it.
	err := d.flush(ctx, batch, progress)
	if err == nil {
		err = failure
	}
	return progress.End(ctx, d.telemetry.Telemetry, err)
}

// retryAfterFlush calls work. If the memory is too small while the batch has payloads, or their headers differ, it sends these and calls work
// again.
func (d *httpDestination) retryAfterFlush(ctx context.Context, batch *httpBatch, progress *delivery.Progress, work func() error) error {
	err := work()
	if batch.payloads == 0 || !errors.Is(err, pprof.ErrTooLarge) && !errors.Is(err, errOtherHeaders) {
		return err
	}
	if err := d.flush(ctx, batch, progress); err != nil {
		return err
	}
	return work()
}

// flush sends the payloads in the batch, if there are any, and empties it. Its error is retryable: a rejected request is no error.
func (d *httpDestination) flush(ctx context.Context, batch *httpBatch, progress *delivery.Progress) error {
	if batch.payloads == 0 {
		return nil
	}
	request, err := batch.request(ctx)
	if err != nil {
		return err
	}
	defer batch.reset()
	if batch.tenant != "" {
		request.Header.Set(d.cfg.Tenant.Header, headerValue(batch.tenant))
	}
	request.Header.Set("User-Agent", d.userAgent)
	size := request.ContentLength
	outcome, err := exchange(d.client.Client, request, d.longestWait)
	d.telemetry.builder.ExporterPprofRequests.Add(ctx, 1, d.telemetry.With(attribute.String("outcome", outcome)))
	switch outcome {
	case outcomeSent:
		d.health.ok()
		d.telemetry.sent(ctx, size, batch)
		progress.Done(batch.positions...)
		return nil
	case outcomeRejected:
		d.health.rejected(err)
		progress.Refuse(&delivery.Refusal{Reason: refusedRejected, Err: err}, batch.positions...)
		return nil
	default:
		if status, answered := errors.AsType[*statusError](err); answered && status.Code == http.StatusTooManyRequests && batch.payloads > 1 {
			d.limited.Store(time.Now().Add(d.longestWait + limitedFor).UnixNano())
		}
		d.health.failed(err, false)
		return err
	}
}

// httpBatch has the payloads of the next request.
type httpBatch struct {
	tenant string
	// forBody and forGzip set the memory of the body and of a compressed pprof, see [delivery.Progress.Part].
	forBody, forGzip func(bytes int64) error

	target string
	// body lacks the end, which follows the last pprof. header is that of the format.
	body      []byte
	end       string
	header    http.Header
	positions []delivery.Position
	// payloads counts the pprofs.
	payloads int
	// headers are the resource headers of each payload.
	headers map[string]string

	samples, labelsDropped int
	lost                   pprof.Losses

	// labels are those of the resource labeled. They outlive the request: all payloads of a resource have the same.
	labels  *series.Labels
	labeled int
}

// count counts a payload that was added. dropped is the number of its attributes that did not become labels.
func (b *httpBatch) count(payload *pprof.Payload, dropped int) {
	b.payloads++
	b.positions = append(b.positions, delivery.PositionsOf(payload)...)
	b.samples += payload.Samples
	b.labelsDropped += dropped
	b.lost.Attributes += payload.Lost.Attributes
	b.lost.Timestamps += payload.Lost.Timestamps
}

// request returns the request with what was added. Resource headers replace those of the format.
func (b *httpBatch) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.target, bytes.NewReader(append(b.body, b.end...)))
	if err != nil {
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	request.Header = b.header.Clone()
	for _, name := range slices.Sorted(maps.Keys(b.headers)) {
		request.Header.Set(name, b.headers[name])
	}
	return request, nil
}

// reset empties the batch after its request. Its memory no longer counts, so that the next payloads can have it.
func (b *httpBatch) reset() {
	_, _ = b.forBody(0), b.forGzip(0) // cannot fail
	*b = httpBatch{tenant: b.tenant, forBody: b.forBody, forGzip: b.forGzip, labels: b.labels, labeled: b.labeled}
}

// grow makes the capacity of the body large enough for the given number of additional bytes.
func (b *httpBatch) grow(bytes int) error {
	if cap(b.body)-len(b.body) >= bytes {
		return nil
	}
	size := max(2*cap(b.body), len(b.body)+bytes)
	if err := b.forBody(int64(cap(b.body) + size)); err != nil {
		return memoryError(err)
	}
	grown := make([]byte, len(b.body), size)
	copy(grown, b.body)
	b.body = grown
	return nil
}

// memoryError returns the error of a payload that got no memory. It is a refusal if the payload can never get it.
func memoryError(err error) error {
	if errors.Is(err, pprof.ErrTooLarge) {
		return &delivery.Refusal{Reason: delivery.ReasonTooLarge, Err: err}
	}
	return err
}
