// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofexporter // import "github.com/otelpprof/otelpprof/exporter/pprofexporter"

import (
	"errors"

	"github.com/otelpprof/otelpprof/exporter/internal/delivery"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// httpBatch is what the next request consists of.
type httpBatch struct {
	tenant string
	// reserve and reserveGzip ask for the memory of bodies and of compressed pprofs.
	reserve, reserveGzip func(bytes int64) error

	body      []byte
	positions []delivery.Position
	// payloads counts the pprofs.
	payloads int
	// headers are of the first payload.
	headers map[string]string

	profiles, samples, labelsDropped int
	lost                             pprof.Losses
}

func (o *httpBatch) note(payload *pprof.Payload, dropped int) {
	o.payloads++
	o.positions = append(o.positions, delivery.PositionsOf(payload)...)
	o.profiles += payload.Profiles
	o.samples += payload.Samples
	o.labelsDropped += dropped
	o.lost.Attributes += payload.Lost.Attributes
	o.lost.Timestamps += payload.Lost.Timestamps
}

func (o *httpBatch) reset() {
	*o = httpBatch{tenant: o.tenant, reserve: o.reserve, reserveGzip: o.reserveGzip}
}

// grow makes the capacity of the body large enough for so many bytes more.
func (o *httpBatch) grow(bytes int, payload *pprof.Payload) error {
	if cap(o.body)-len(o.body) >= bytes {
		return nil
	}
	size := max(2*cap(o.body), len(o.body)+bytes)
	if err := o.reserve(int64(cap(o.body) + size)); err != nil {
		return memoryError(err, payload)
	}
	grown := make([]byte, len(o.body), size)
	copy(grown, o.body)
	o.body = grown
	return nil
}

// memoryError is the error of a payload for which there is no memory: a refusal if there can never be enough.
func memoryError(err error, payload *pprof.Payload) error {
	if errors.Is(err, pprof.ErrTooLarge) {
		return delivery.Refuse(payload, delivery.ReasonTooLarge, err)
	}
	return err
}
