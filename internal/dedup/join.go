// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// Join appends all messages to the first one, see [Concat]. It sets the capacity of the tables once, so that growing
// tables leave no garbage. Without messages, the result is empty.
func Join(messages []pprofile.Profiles) pprofile.Profiles {
	if len(messages) == 0 {
		return pprofile.NewProfiles()
	}
	joined := messages[0]
	if joined.IsReadOnly() {
		joined = pprofile.NewProfiles()
		messages[0].CopyTo(joined)
	}
	if len(messages) > 1 {
		shift(joined, dictionary.Lengths{}) // An index out of range must not become one of an entry of the next message.
	}
	ensureCapacity(joined, messages)
	for _, message := range messages[1:] {
		Concat(joined, message)
	}
	return joined
}

// ensureCapacity makes room in a message for the content of all messages.
func ensureCapacity(joined pprofile.Profiles, messages []pprofile.Profiles) {
	var all dictionary.Lengths
	resources := 0
	for _, message := range messages {
		for t, n := range dictionary.LengthsOf(message.Dictionary()) {
			all[t] += n
		}
		resources += message.ResourceProfiles().Len()
	}
	dictionary.EnsureCapacity(joined.Dictionary(), all)
	joined.ResourceProfiles().EnsureCapacity(resources)
}
