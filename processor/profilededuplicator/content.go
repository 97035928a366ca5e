// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profilededuplicator // import "github.com/otelpprof/otelpprof/processor/profilededuplicator"

import "go.opentelemetry.io/collector/pdata/pprofile"

// tableNames are the values of the attribute table, as in metadata.yaml.
var tableNames = [...]string{"string", "function", "mapping", "location", "stack", "attribute", "link"}

// content is the size of a message.
type content struct {
	profiles, samples int
	// entries has the length of each table, in the order of tableNames.
	entries [len(tableNames)]int
	// bytes is the size in protobuf.
	bytes int
}

func contentOf(pd pprofile.Profiles) content {
	d := pd.Dictionary()
	return content{
		profiles: pd.ProfileCount(),
		samples:  pd.SampleCount(),
		entries: [...]int{
			d.StringTable().Len(),
			d.FunctionTable().Len(),
			d.MappingTable().Len(),
			d.LocationTable().Len(),
			d.StackTable().Len(),
			d.AttributeTable().Len(),
			d.LinkTable().Len(),
		},
		bytes: (&pprofile.ProtoMarshaler{}).ProfilesSize(pd),
	}
}
