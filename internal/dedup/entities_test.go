// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// Resources with equal attributes are joined only if their entity references are equal, too.
func TestEntitiesAreKept(t *testing.T) {
	changes := map[string]func(entity.EntityRef){
		"nothing":             func(entity.EntityRef) {},
		"the schema URL":      func(reference entity.EntityRef) { reference.SetSchemaUrl("https://example.com/2") },
		"the type":            func(reference entity.EntityRef) { reference.SetType("service") },
		"a key":               func(reference entity.EntityRef) { reference.IdKeys().SetAt(0, "host.name") },
		"one key more":        func(reference entity.EntityRef) { reference.IdKeys().Append("") },
		"the list of the key": func(reference entity.EntityRef) { reference.IdKeys().MoveAndAppendTo(reference.DescriptionKeys()) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			pd := processes("", "")
			pd.ResourceProfiles().At(0).CopyTo(pd.ResourceProfiles().AppendEmpty())
			for i, resource := range pd.ResourceProfiles().All() {
				reference := entity.ResourceEntityRefs(resource.Resource()).AppendEmpty()
				reference.SetType("host")
				reference.IdKeys().Append("host.id")
				if i == 1 {
					change(reference)
				}
			}
			want := entitiesOf(t, pd)
			after, _ := deduplicate(t, pd)
			if name == "nothing" {
				want = want[:1]
			}
			assert.Equal(t, want, entitiesOf(t, after))
		})
	}
}

func entitiesOf(t *testing.T, pd pprofile.Profiles) (all []string) {
	t.Helper()
	for _, resource := range pd.ResourceProfiles().All() {
		for _, reference := range entity.ResourceEntityRefs(resource.Resource()).All() {
			all = append(all, fmt.Sprintf("%q %q %q %q", reference.SchemaUrl(), reference.Type(), reference.IdKeys().AsRaw(), reference.DescriptionKeys().AsRaw()))
		}
	}
	return all
}
