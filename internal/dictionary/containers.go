// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// HashResource hashes all fields of a resource that are compared, and the URL of its schema. Otherwise a client could send many with
// equal hashes, and each would be compared with all others.
func HashResource(r pcommon.Resource, schemaURL string) uint64 {
	hash := hashContainer(r.Attributes(), r.DroppedAttributesCount(), schemaURL)
	for _, reference := range entity.ResourceEntityRefs(r).All() {
		hash = addString(addString(hash, reference.SchemaUrl()), reference.Type())
		hash = addList(addList(hash, reference.IdKeys()), reference.DescriptionKeys())
	}
	return hash
}

// EqualResources compares all fields. Entity references and their keys are compared in order, as the sender has them.
func EqualResources(a, b pcommon.Resource) bool {
	return a.DroppedAttributesCount() == b.DroppedAttributesCount() && equalEntities(a, b) && EqualMaps(a.Attributes(), b.Attributes())
}

func equalEntities(a, b pcommon.Resource) bool {
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

// HashScope is [HashResource] for a scope.
func HashScope(s pcommon.InstrumentationScope, schemaURL string) uint64 {
	return hashContainer(s.Attributes(), s.DroppedAttributesCount(), schemaURL, s.Name(), s.Version())
}

// EqualScopes compares all fields.
func EqualScopes(a, b pcommon.InstrumentationScope) bool {
	return a.Name() == b.Name() && a.Version() == b.Version() && a.DroppedAttributesCount() == b.DroppedAttributesCount() &&
		EqualMaps(a.Attributes(), b.Attributes())
}

func hashContainer(attributes pcommon.Map, dropped uint32, texts ...string) uint64 {
	h := hashMap(attributes)
	for _, text := range texts {
		h = mix(h, hashString(text))
	}
	return finish(mix(h, uint64(dropped)))
}

func addString(h uint64, s string) uint64 { return finish(mix(h, hashString(s))) }

// addList adds a list with its length.
func addList(h uint64, list pcommon.StringSlice) uint64 {
	h = finish(mix(h, uint64(list.Len())))
	for _, text := range list.All() {
		h = addString(h, text)
	}
	return h
}

// ForEachEntityText calls visit for each text of the entity references of a resource, with a function that replaces it.
func ForEachEntityText(resource pcommon.Resource, visit func(text string, replace func(text string))) {
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
