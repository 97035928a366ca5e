// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package splunk

// leaveEntries refuses a pprof for memory after it has added entries to the dictionary. They are removed at the end, for all records
// together: otherwise, many refused records after a large one would take its time each.
func (t *decoding) leaveEntries() *refusal {
	t.leftovers = true
	t.forgetFrameTypes()
	return t.memoryRefusal()
}

// forgetFrameTypes makes the next record add its frame types again.
func (t *decoding) forgetFrameTypes() { t.native, t.resource.frameType = 0, 0 }
