// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profileviewexporter

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/otelpprof/otelpprof/exporter/profileviewexporter/internal/store"
	"github.com/otelpprof/otelpprof/internal/memory/meter"
	"github.com/otelpprof/otelpprof/translator/pprof"
)

// sharedResource is what the pprofs of one resource share. It is made once: a resource can have very long attributes and very many pprofs.
type sharedResource struct {
	*store.Resource
	index int
	// attributes are the attributes as JSON. They are nil until a file needs them.
	attributes []byte
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

// The memory to write JSON: of each attribute without its texts, and of the texts as a multiple of their length in JSON, since the buffer
// grows and is copied in the end.
const (
	jsonAttributeBytes = 512
	jsonFactor         = 7
)

// describe returns the attributes as JSON.
func (r *sharedResource) describe(work *meter.Meter) ([]byte, error) {
	if r.attributes != nil {
		return r.attributes, nil
	}
	memory := int64(jsonAttributeBytes)
	for _, a := range r.Attributes {
		memory += jsonAttributeBytes + jsonFactor*(jsonLength(a.Name)+jsonLength(a.Value))
	}
	if err := work.Use(memory); err != nil {
		return nil, err
	}
	attributes := make(map[string]string, len(r.Attributes))
	for _, a := range r.Attributes {
		attributes[a.Name] = a.Value
	}
	text, err := json.Marshal(attributes)
	if err != nil {
		return nil, err
	}
	r.attributes, r.memory = text, r.memory+memory
	return text, nil
}

// jsonLength returns the length of a text in JSON, or slightly more.
func jsonLength(text string) (length int64) {
	const escaped = int64(len(`\u0000`))
	for _, r := range text {
		if r < ' ' || r == utf8.RuneError || r == '\u2028' || r == '\u2029' || strings.ContainsRune(`"\<>&`, r) {
			length += escaped
		} else {
			length += int64(utf8.RuneLen(r))
		}
	}
	return length
}
