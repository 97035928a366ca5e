// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// isProfilingScope reports whether all records of a scope are profiling records: by its name, or by the source type of
// the scope or resource. Components on the way can remove one of these. ofProfiling is the result of isProfilingResource.
func isProfilingScope(ofProfiling bool, scope pcommon.InstrumentationScope) bool {
	return ofProfiling || scope.Name() == profilingScope || hasSourceType(scope.Attributes(), attributeSourceType)
}

// isProfilingResource reports whether all records of a resource are profiling records. Call it once for each resource, not for each
// of its scopes: there can be many attributes and many scopes.
func isProfilingResource(resource plog.ResourceLogs) bool {
	return hasSourceType(resource.Resource().Attributes(), attributeSourceType)
}

// isProfilingRecord reports whether the attributes of a record identify it as a profiling record.
func isProfilingRecord(record plog.LogRecord) bool {
	return hasSourceType(record.Attributes(), attributeSourceType) ||
		hasSourceType(record.Attributes(), attributeOldSourceType)
}

func hasSourceType(attributes pcommon.Map, key string) bool {
	value, found := attributes.Get(key)
	return found && value.Type() == pcommon.ValueTypeStr && value.Str() == sourceTypeProfiling
}

// RemoveProfiling removes all profiling records from logs, including those that a [Decoder] refuses, and returns their
// number. The other records keep their order. Scopes and resources that become empty are removed.
func RemoveProfiling(logs plog.Logs) (removed int) {
	logs.ResourceLogs().RemoveIf(func(resource plog.ResourceLogs) bool {
		before, ofProfiling := removed, isProfilingResource(resource)
		scopes := resource.ScopeLogs()
		scopes.RemoveIf(func(scope plog.ScopeLogs) bool {
			n := removeFromScope(ofProfiling, scope)
			removed += n
			return n > 0 && scope.LogRecords().Len() == 0
		})
		return removed > before && scopes.Len() == 0
	})
	return removed
}

func removeFromScope(ofProfiling bool, scope plog.ScopeLogs) (removed int) {
	records, before := scope.LogRecords(), scope.LogRecords().Len()
	whole := isProfilingScope(ofProfiling, scope.Scope())
	records.RemoveIf(func(record plog.LogRecord) bool { return whole || isProfilingRecord(record) })
	return before - records.Len()
}
