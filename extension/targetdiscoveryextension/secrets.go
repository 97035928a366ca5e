// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package targetdiscoveryextension

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/confmap"
)

// secretKeys are the keys of an entry under which all texts are secrets.
var secretKeys = map[string]bool{
	"password": true, "credentials": true, "bearer_token": true, "client_secret": true, "client_certificate_key": true, "key": true,
	"secrets": true, "proxy_connect_header": true,
}

// hiddenKeys are keys whose texts Prometheus shows. What is sent to a server is often a secret.
var hiddenKeys = map[string]bool{"values": true, "endpoint_params": true}

// checkSecrets returns an error for a secret that YAML does not read as text. Its text is lost: 0012 was read as 10.
func checkSecrets(part any, isSecret bool, path string) error {
	var errs []error
	switch part := part.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(part)) {
			errs = append(errs, checkSecrets(part[key], isSecret || secretKeys[key], path+confmap.KeyDelimiter+key))
		}
	case []any:
		for i, value := range part {
			errs = append(errs, checkSecrets(value, isSecret, fmt.Sprintf("%s[%d]", path, i)))
		}
	case nil, string:
	default:
		if isSecret {
			return fmt.Errorf("%s is a number or a word that YAML does not read as text: "+
				"write it in quotes, or if it comes from the environment, use the option for a file", path)
		}
	}
	return errors.Join(errs...)
}

// hidden returns an entry with its secrets as opaque strings, which print-config does not show.
func hidden(entry any) any {
	return changed(entry, false, func(value any, isSecret bool) any {
		if isSecret && value != nil {
			return configopaque.String(fmt.Sprint(value))
		}
		return value
	})
}

// revealed returns an entry with its secrets as plain strings.
func revealed(entry any) any {
	return changed(entry, false, func(value any, _ bool) any {
		if secret, isOpaque := value.(configopaque.String); isOpaque {
			return string(secret)
		}
		return value
	})
}

// changed returns a part of an entry with the values that change returns.
func changed(part any, isSecret bool, change func(value any, isSecret bool) any) any {
	switch part := part.(type) {
	case map[string]any:
		made := make(map[string]any, len(part))
		for key, value := range part {
			made[key] = changed(value, isSecret || secretKeys[key] || hiddenKeys[key], change)
		}
		return made
	case []any:
		made := make([]any, len(part))
		for i, value := range part {
			made[i] = changed(value, isSecret, change)
		}
		return made
	}
	return change(part, isSecret)
}
