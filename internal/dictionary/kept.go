// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

// Kept returns the memory of the Importer's tables in bytes, including unused capacity.
func (im *Importer) Kept() int64 {
	bytes := kept(im.lines) + kept(im.indices) + kept(im.stack)
	for t := range im.of {
		bytes += kept(im.of[t].to)
	}
	return bytes
}

// Kept returns the memory of the table in bytes, including unused capacity.
func (t *SampleTable) Kept() int64 {
	return kept(t.samples) + t.attributes.kept() + kept(t.index.slots)
}

// Kept returns the memory of the table in bytes, including unused capacity.
func (t *ListTable) Kept() int64 { return t.lists.kept() + kept(t.index.slots) }
