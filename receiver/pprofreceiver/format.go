// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofreceiver

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/translator/pprof"
)

// payloadFormat translates payloads of one format to OTLP profiles. The code that reads a request or a file sets the
// format of each payload that it adds to a batch.
type payloadFormat interface {
	// Decode translates one payload. The result must not refer to the payload. An error must have a class, see [classify].
	Decode(payload []byte, source pprof.Source) (pprofile.Profiles, pprof.DecodeStats, error)
}
