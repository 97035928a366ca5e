// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"context"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// messageOverhead is the memory of a held message in addition to its content.
const messageOverhead = 1024

// message is the message of one call in a batch.
type message struct {
	profiles pprofile.Profiles
	// claim is nil unless repeated profiles are dropped.
	claim *idClaim
	// bytes is the size in protobuf.
	bytes   int
	samples int
	// memory is the number of bytes of this message in memory.
	memory      int64
	reservation *memory.Reservation
	// result receives nil when the message was delivered, or the error. It is nil if the sender does not wait.
	result chan error
}

// batch has the messages of one tenant that will be joined.
type batch struct {
	tenant   *tenant
	messages []message
	bytes    int
	samples  int
	// held is what the messages use of the share of held messages.
	held int64
	// trigger is why it was closed.
	trigger string
	// reservation is that of all messages.
	reservation *memory.Reservation
}

// tenant has the batches of one combination of metadata values. The lock of batches guards it.
type tenant struct {
	origin
	// open collects messages. It is nil when there are none.
	open  *batch
	timer *time.Timer
	// due reports whether the timeout of open has passed. If it stays open then, the maximum number of flushes was running.
	due bool
	// waiting has the closed batches that wait until another flush ends.
	waiting []*batch
	// flushes is the number of running flushes.
	flushes int
}

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
