// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// hashEntities adds entity references to a hash, with the lengths of their lists.
func hashEntities(hash uint64, references entity.EntityRefSlice) uint64 {
	for _, reference := range references.All() {
		hash = dictionary.AddString(hash, reference.SchemaUrl())
		hash = dictionary.AddString(hash, reference.Type())
		hash = hashList(hash, reference.IdKeys())
		hash = hashList(hash, reference.DescriptionKeys())
	}
	return hash
}

func hashList(hash uint64, list pcommon.StringSlice) uint64 {
	hash = dictionary.AddNumber(hash, uint64(list.Len()))
	for i := range list.Len() {
		hash = dictionary.AddString(hash, list.At(i))
	}
	return hash
}

// equalEntities compares the references and their keys in order, as the sender has them.
func equalEntities(a, b entity.EntityRefSlice) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		x, y := a.At(i), b.At(i)
		if x.SchemaUrl() != y.SchemaUrl() || x.Type() != y.Type() ||
			!equalLists(x.IdKeys(), y.IdKeys()) || !equalLists(x.DescriptionKeys(), y.DescriptionKeys()) {
			return false
		}
	}
	return true
}

func equalLists(a, b pcommon.StringSlice) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if a.At(i) != b.At(i) {
			return false
		}
	}
	return true
}
