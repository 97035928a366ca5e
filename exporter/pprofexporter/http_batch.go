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
	"slices"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

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
	// headers are the resource headers of the first payload.
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
