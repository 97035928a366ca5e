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

// room makes room for so many bytes more in the body.
func (o *httpBatch) room(bytes int, payload *pprof.Payload) error {
	if cap(o.body)-len(o.body) >= bytes {
		return nil
	}
	size := max(2*cap(o.body), len(o.body)+bytes)
	if err := o.reserve(int64(cap(o.body) + size)); err != nil {
		return wanting(err, payload)
	}
	grown := make([]byte, len(o.body), size)
	copy(grown, o.body)
	o.body = grown
	return nil
}

// wanting is the error of a payload that memory is wanting for: a refusal if there can never be enough.
func wanting(err error, payload *pprof.Payload) error {
	if errors.Is(err, pprof.ErrTooLarge) {
		return delivery.Refuse(payload, delivery.ReasonTooLarge, err)
	}
	return err
}
