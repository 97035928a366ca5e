// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// sharedResource is what the pprofs of one resource share. It is made once: a resource can have very long attributes and very many pprofs.
type sharedResource struct {
	*store.Resource
	index int
	// memory is what was reserved to make the fields.
	memory int64
}

// use makes this the resource of a payload, unless it is already. work, which is that of the payload, counts its memory in both cases.
func (r *sharedResource) use(tenant string, payload *pprof.Payload, work *meter.Meter) error {
	if r.Resource != nil && r.index == payload.ResourceIndex {
		return work.Use(r.memory)
	}
	*r = sharedResource{}
	attributes := payload.Resource.Attributes()
	memory := store.ResourceMemory(attributes)
	if err := work.Use(memory); err != nil {
		return err
	}
	*r = sharedResource{Resource: store.NewResource(tenant, attributes), index: payload.ResourceIndex, memory: memory}
	return nil
}
