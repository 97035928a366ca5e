// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/client"
)

// origin is what keeps tenants apart: the values that a client gave for some keys.
type origin struct {
	// key is different for different values.
	key string
	// info has the values, and nothing else of the client.
	info client.Info
}

// originOf takes the values of these keys from the client that ctx tells of.
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
