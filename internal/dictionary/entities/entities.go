// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package entities compares and measures the entity references of resources (opentelemetry.proto.common.v1.EntityRef).
package entities // import "github.com/otelpprof/otelpprof/internal/dictionary/entities"

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// The memory of pdata's structs on a 64-bit system.
const (
	referenceBytes = 8 + 80
	stringBytes    = 16
)

// Hash adds the references of a resource to a hash, with the lengths of their lists.
func Hash(hash uint64, resource pcommon.Resource) uint64 {
	for _, reference := range entity.ResourceEntityRefs(resource).All() {
		hash = dictionary.AddString(hash, reference.SchemaUrl())
		hash = dictionary.AddString(hash, reference.Type())
		hash = hashList(hash, reference.IdKeys())
		hash = hashList(hash, reference.DescriptionKeys())
	}
	return hash
}

func hashList(hash uint64, list pcommon.StringSlice) uint64 {
	hash = dictionary.AddNumber(hash, uint64(list.Len()))
	for _, text := range list.All() {
		hash = dictionary.AddString(hash, text)
	}
	return hash
}

// Equal compares the references of two resources and their keys in order, as the sender has them.
func Equal(a, b pcommon.Resource) bool {
	left, right := entity.ResourceEntityRefs(a), entity.ResourceEntityRefs(b)
	if left.Len() != right.Len() {
		return false
	}
	for i, x := range left.All() {
		y := right.At(i)
		if x.SchemaUrl() != y.SchemaUrl() || x.Type() != y.Type() ||
			!x.IdKeys().Equal(y.IdKeys()) || !x.DescriptionKeys().Equal(y.DescriptionKeys()) {
			return false
		}
	}
	return true
}

// Memory estimates the memory of the references of a resource, in bytes.
func Memory(resource pcommon.Resource) (total int) {
	for _, reference := range entity.ResourceEntityRefs(resource).All() {
		total += referenceBytes + len(reference.SchemaUrl()) + len(reference.Type())
		for _, keys := range [...]pcommon.StringSlice{reference.IdKeys(), reference.DescriptionKeys()} {
			for _, key := range keys.All() {
				total += stringBytes + len(key)
			}
		}
	}
	return total
}

// ForEachText calls visit for each text of the references of a resource, with a function that replaces it.
func ForEachText(resource pcommon.Resource, visit func(text string, replace func(text string))) {
	for _, reference := range entity.ResourceEntityRefs(resource).All() {
		visit(reference.SchemaUrl(), reference.SetSchemaUrl)
		visit(reference.Type(), reference.SetType)
		for _, keys := range [...]pcommon.StringSlice{reference.IdKeys(), reference.DescriptionKeys()} {
			for i, key := range keys.All() {
				visit(key, func(text string) { keys.SetAt(i, text) })
			}
		}
	}
}
