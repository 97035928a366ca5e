// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import "strings"

// executableKey is the index of "process.executable.name" in the dictionary of groupsOf.
const executableKey = 4

// groupsOf is a valid message whose samples each have an executable of their own: group_by_attributes makes a resource of each.
func groupsOf(samples int, attributes ...content) content {
	executables := counting(samples, func(to []byte, i int) []byte {
		value := appendNumber(nil, 3, uint64(i+1))
		return appendField(to, 6, appendField([]byte{8, executableKey}, 2, value))
	})
	scope := field(2, profileOf(samplesOf(samples)))
	return join(
		field(1, field(1, attributes...), scope),
		dictionaryOf(textField(5, "process.executable.name"), executables, field(stackTable, indices(1))),
	)
}

// otlpGroups are for config/ebpf.yaml, which groups samples.
func otlpGroups() []body {
	large := field(1, textField(1, "large"), field(2, textField(1, strings.Repeat("x", 1<<20))))
	all := []body{
		otlp("otlp-groups", profilesPath, func() content { return groupsOf(500_000) }),
		otlp("otlp-groups-of-a-large-resource", profilesPath, func() content { return groupsOf(20_000, large) }),
		otlp("otlp-groups-of-many-attributes", profilesPath, func() content { return groupsOf(20_000, repeat(empty(1), 100_000)) }),
		otlp("otlp-groups-of-many-entities", profilesPath, func() content { return groupsOf(20_000, repeat(empty(3), 250_000)) }),
	}
	for i := range all {
		all[i].only = "ebpf"
	}
	return all
}
