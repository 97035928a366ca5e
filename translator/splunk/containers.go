// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"cmp"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/translator/internal/profileid"
)

// resourceEntry is a resource of the request and its resource in the result. Equal resources share one entry.
type resourceEntry struct {
	source plog.ResourceLogs
	// refused is the reason why all records of the resource are refused, or nil.
	refused  *refusal
	language language
	byScope  map[uint64][]*scopeEntry
	// frameType is the attribute with the frame type of the language plus one.
	frameType int32
	// target is the zero value until it is made.
	target pprofile.ResourceProfiles
	// hash is the beginning of all profile ids of the resource, made on first use.
	hash *profileid.Hash
	// size is zero after its memory is in use.
	size int64
}

// scopeEntry is a scope of a resource and its scope in the result. Equal scopes share one entry.
type scopeEntry struct {
	resource *resourceEntry
	source   plog.ScopeLogs
	// refused is the reason why all records of the scope are refused, or nil.
	refused *refusal
	groups  map[groupKey]*textGroup
	// target and size are as in resourceEntry.
	target pprofile.ScopeProfiles
	size   int64
}

func (t *decoding) enterResource(resource plog.ResourceLogs) {
	attributes := resource.Resource().Attributes()
	if refused := checkDepth("resource", attributes); refused != nil {
		t.resource = &resourceEntry{refused: refused}
		return
	}
	h := dictionary.HashResource(resource.Resource(), resource.SchemaUrl())
	for _, entry := range t.byResource[h] {
		other := entry.source
		if other.SchemaUrl() == resource.SchemaUrl() && dictionary.EqualResources(other.Resource(), resource.Resource()) {
			t.resource = entry
			return
		}
	}
	t.resource = &resourceEntry{source: resource, size: sizeOfResource(resource)}
	if language, found := attributes.Get(resourceLanguage); found {
		t.resource.language = languages[attributevalue.Text(language)]
	}
	t.resources = append(t.resources, t.resource)
	t.byResource[h] = append(t.byResource[h], t.resource)
}

func (t *decoding) enterScope(logs plog.ScopeLogs) {
	scope, resource := logs.Scope(), t.resource
	if refused := cmp.Or(resource.refused, checkDepth("scope", scope.Attributes())); refused != nil {
		t.scope = &scopeEntry{refused: refused}
		return
	}
	h := dictionary.HashScope(scope, logs.SchemaUrl())
	for _, entry := range resource.byScope[h] {
		other := entry.source
		if other.SchemaUrl() == logs.SchemaUrl() && dictionary.EqualScopes(other.Scope(), scope) {
			t.scope = entry
			return
		}
	}
	t.scope = &scopeEntry{resource: resource, source: logs, size: sizeOfScope(logs)}
	if resource.byScope == nil {
		resource.byScope = map[uint64][]*scopeEntry{}
	}
	resource.byScope[h] = append(resource.byScope[h], t.scope)
}

// newProfile appends a profile to the scope. It adds the scope to the message first, if needed.
func (t *decoding) newProfile(s *scopeEntry) pprofile.Profile {
	r := s.resource
	if r.target == (pprofile.ResourceProfiles{}) {
		r.target = t.profiles.ResourceProfiles().AppendEmpty()
		from, to := r.source.Resource(), r.target.Resource()
		r.target.SetSchemaUrl(t.validString(r.source.SchemaUrl()))
		t.copyAttributes(from.Attributes(), to.Attributes())
		to.SetDroppedAttributesCount(from.DroppedAttributesCount())
		t.copyEntities(from, to)
	}
	if s.target == (pprofile.ScopeProfiles{}) {
		s.target = r.target.ScopeProfiles().AppendEmpty()
		from, to := s.source.Scope(), s.target.Scope()
		s.target.SetSchemaUrl(t.validString(s.source.SchemaUrl()))
		to.SetName(t.validString(from.Name()))
		to.SetVersion(t.validString(from.Version()))
		t.copyAttributes(from.Attributes(), to.Attributes())
		to.SetDroppedAttributesCount(from.DroppedAttributesCount())
	}
	return s.target.Profiles().AppendEmpty()
}

// copyAttributes copies attributes. OTLP requires unique keys: of equal keys, only the first is copied. Keys with invalid
// UTF-8 are not copied.
func (t *decoding) copyAttributes(from, to pcommon.Map) {
	from.CopyTo(to)
	seen := make(map[string]struct{}, to.Len())
	to.RemoveIf(func(key string, value pcommon.Value) bool {
		if !utf8.ValidString(key) {
			t.result.Repairs.InvalidUTF8++
			return true
		}
		if !isValid(value) {
			value.SetStr(t.validString(attributevalue.Text(value)))
		}
		_, again := seen[key]
		seen[key] = struct{}{}
		return again
	})
}

// copyEntities copies the entity references of a resource.
func (t *decoding) copyEntities(from, to pcommon.Resource) {
	entity.ResourceEntityRefs(from).CopyTo(entity.ResourceEntityRefs(to))
	dictionary.ForEachEntityText(to, func(text string, replace func(text string)) {
		if !utf8.ValidString(text) {
			replace(t.validString(text))
		}
	})
}
