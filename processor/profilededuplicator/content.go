// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import (
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// tableNames are the values of the attribute table, as in metadata.yaml.
var tableNames = dictionary.TableNames

// content is the size of a message.
type content struct {
	profiles, samples int
	// entries has the length of each table, in the order of tableNames.
	entries dictionary.Lengths
	// bytes is the size in protobuf.
	bytes int
}

func contentOf(pd pprofile.Profiles) content {
	return content{
		profiles: pd.ProfileCount(),
		samples:  pd.SampleCount(),
		entries:  dictionary.LengthsOf(pd.Dictionary()),
		bytes:    (&pprofile.ProtoMarshaler{}).ProfilesSize(pd),
	}
}
