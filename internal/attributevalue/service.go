// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import "go.opentelemetry.io/collector/pdata/pcommon"

const (
	// ServiceName is the key of the attribute with the name of a service.
	ServiceName = "service.name"
	// UnknownService is the service of a resource without a name.
	UnknownService = "unknown_service"
)

// Service returns the service name of a resource, or UnknownService if it has none.
func Service(resource pcommon.Map) string {
	if value, found := resource.Get(ServiceName); found {
		if text := Text(value); text != "" {
			return text
		}
	}
	return UnknownService
}
