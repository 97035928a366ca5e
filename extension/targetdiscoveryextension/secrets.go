// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"go.opentelemetry.io/collector/config/configopaque"
)

// secretKeys are the keys of an entry under which all texts are secrets. The headers and parameters of requests are among them:
// Prometheus shows some of them, but what is sent to a server is often a secret.
var secretKeys = map[string]bool{
	"password": true, "credentials": true, "bearer_token": true, "client_secret": true, "client_certificate_key": true, "key": true,
	"secrets": true, "values": true, "proxy_connect_header": true, "endpoint_params": true,
}

// hidden returns a part of an entry with its secrets as opaque strings, which print-config does not show.
func hidden(part any, isSecret bool) any {
	switch part := part.(type) {
	case map[string]any:
		made := make(map[string]any, len(part))
		for key, value := range part {
			made[key] = hidden(value, isSecret || secretKeys[key])
		}
		return made
	case []any:
		made := make([]any, len(part))
		for i, value := range part {
			made[i] = hidden(value, isSecret)
		}
		return made
	case string:
		if isSecret {
			return configopaque.String(part)
		}
	}
	return part
}

// revealed returns a part of an entry with its secrets as plain strings.
func revealed(part any) any {
	switch part := part.(type) {
	case map[string]any:
		made := make(map[string]any, len(part))
		for key, value := range part {
			made[key] = revealed(value)
		}
		return made
	case []any:
		made := make([]any, len(part))
		for i, value := range part {
			made[i] = revealed(value)
		}
		return made
	case configopaque.String:
		return string(part)
	}
	return part
}
