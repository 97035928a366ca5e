// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package attributevalue

import "go.opentelemetry.io/collector/pdata/pcommon"

const (
	// ServiceName is the attribute that a service is known by.
	ServiceName = "service.name"
	// UnknownService is the service of a resource without a name.
	UnknownService = "unknown_service"
)

// Service returns the service of a resource.
func Service(resource pcommon.Map) string {
	if value, found := resource.Get(ServiceName); found {
		if text := Text(value); text != "" {
			return text
		}
	}
	return UnknownService
}
