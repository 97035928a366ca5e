// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelpprof/otelpprof/exporter/internal/series"
	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// Resource is what sent a profile. Profiles share it.
type Resource struct {
	Tenant string
	// Service is the name of the service in paths.
	Service string
	// Attributes are the attributes as text. Labels are the labels that Pyroscope would have for them. Both are sorted by name.
	Attributes, Labels []series.Label
	// Key is a digest that only equal resources have.
	Key string
}

// The memory to make a resource: of each attribute with its parts of maps, of keys and of values that are no texts as a multiple of their own
// memory, of such a value at most, since its text is cut, and of a text that is not UTF-8, which is made valid in steps for several labels.
const (
	newAttributeBytes = 2 << 10
	newKeyFactor      = 24
	newValueFactor    = 24
	maxNewValueBytes  = 16 << 20
	newInvalidFactor  = 6 * dictionary.ValidFactor
)

// ResourceMemory returns the memory that [NewResource] needs beside the attributes.
func ResourceMemory(attributes pcommon.Map) int64 {
	var keys, texts, invalid, values int64
	for key, value := range attributes.All() {
		keys += int64(len(key))
		if value.Type() != pcommon.ValueTypeStr {
			values++
			continue
		}
		texts += int64(len(value.Str()))
		if !utf8.ValidString(value.Str()) {
			invalid += int64(len(value.Str()))
		}
	}
	rest := newValueFactor * (int64(dictionary.MapMemory(attributes)) - keys - texts)
	return resourceBytes + newAttributeBytes*int64(attributes.Len()) + newKeyFactor*keys + min(rest, maxNewValueBytes*values) + newInvalidFactor*invalid
}

// NewResource returns the resource with these attributes.
func NewResource(tenant string, attributes pcommon.Map) *Resource {
	r := &Resource{Tenant: tenant, Service: segment(attributevalue.Service(attributes), attributevalue.UnknownService)}
	for key, value := range attributes.All() {
		r.Attributes = append(r.Attributes, series.Label{Name: key, Value: attributevalue.Text(value)})
	}
	slices.SortStableFunc(r.Attributes, series.Label.Compare)
	labels := series.Of(attributes, math.MaxInt, nil, series.Name)
	labels.Service = r.Service
	r.Labels = labels.All()
	digest := sha256.New() // The other fields follow from those in it.
	addText(digest, r.Tenant)
	for _, a := range r.Attributes {
		addText(digest, a.Name)
		addText(digest, a.Value)
	}
	r.Key = string(digest.Sum(nil))
	return r
}

// Label returns the value of a label.
func (r *Resource) Label(name string) (value string, found bool) { return find(r.Labels, name) }

// Attribute returns the value of an attribute.
func (r *Resource) Attribute(name string) (value string, found bool) { return find(r.Attributes, name) }

func find(all []series.Label, name string) (value string, found bool) {
	i, found := slices.BinarySearchFunc(all, name, func(l series.Label, name string) int { return cmp.Compare(l.Name, name) })
	if !found {
		return "", false
	}
	return all[i].Value, true
}

func (r *Resource) bytes() int64 {
	bytes := resourceBytes + len(r.Key) + labelBytes*(len(r.Attributes)+len(r.Labels))
	for _, list := range [][]series.Label{r.Attributes, r.Labels} {
		for _, l := range list {
			bytes += len(l.Name) + len(l.Value)
		}
	}
	return int64(bytes)
}
