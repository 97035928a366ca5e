// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

// Kept is the memory of the Importer's tables, including unused capacity.
func (im *Importer) Kept() int64 {
	bytes := kept(im.lines) + kept(im.indices) + kept(im.stack)
	for t := range im.of {
		bytes += kept(im.of[t].to)
	}
	return bytes
}

// Kept is the memory that the table takes up, whether it is in use or not.
func (t *SampleTable) Kept() int64 {
	return kept(t.samples) + t.attributes.kept() + kept(t.index.slots)
}

// Kept is the memory that the table takes up, whether it is in use or not.
func (t *ListTable) Kept() int64 { return t.lists.kept() + kept(t.index.slots) }
