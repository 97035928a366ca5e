// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/client"
)

// origin identifies a tenant by the values of the configured keys in the client metadata.
type origin struct {
	// key is a unique encoding of the values.
	key string
	// info has only the metadata of these keys.
	info client.Info
}

// originOf returns the origin of the client in ctx for these keys.
func originOf(ctx context.Context, keys []string) origin {
	if len(keys) == 0 {
		return origin{}
	}
	from := client.FromContext(ctx).Metadata
	values := make(map[string][]string, len(keys))
	var key strings.Builder
	for _, name := range keys {
		found := from.Get(name)
		key.WriteString(strconv.Itoa(len(found)))
		for _, value := range found {
			key.WriteByte(' ')
			key.WriteString(strconv.Quote(value))
		}
		key.WriteByte('\n')
		if len(found) > 0 {
			values[name] = found
		}
	}
	return origin{key: key.String(), info: client.Info{Metadata: client.NewMetadata(values)}}
}
