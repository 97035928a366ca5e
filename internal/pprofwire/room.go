// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

// push adds an entry to one of p's tables.
func push[T any](p *Profile, table *[]T, entry T, limits *Limits) error {
	if len(*table) == cap(*table) {
		if err := p.makeRoom(1, limits); err != nil {
			return err
		}
	}
	*table = append(*table, entry)
	return nil
}

// makeRoom is called when a table is full, which more entries are for. It counts the payload, once, and takes each table in
// its final size.
func (p *Profile) makeRoom(more int, limits *Limits) (err error) {
	if !p.counted {
		if p.total, err = count(p.raw, limits); err != nil {
			return err
		}
		p.counted = true
	}
	n := p.total
	if p.repeats != nil {
		// What repeats is not read: these two grow in steps.
		n.locationIDs = min(n.locationIDs, stepFrom(len(p.LocationIDs), more))
		n.labels = min(n.labels, stepFrom(len(p.Labels), more))
		n.repeats = n.samples
	}
	if limits.Reserve != nil {
		if err := limits.Reserve(n.bytes()); err != nil {
			return err
		}
	}
	p.SampleTypes = withRoom(p.SampleTypes, n.sampleTypes)
	p.Samples = withRoom(p.Samples, n.samples)
	p.LocationIDs = withRoom(p.LocationIDs, n.locationIDs)
	p.Values = withRoom(p.Values, n.values)
	p.Labels = withRoom(p.Labels, n.labels)
	p.Mappings = withRoom(p.Mappings, n.mappings)
	p.Locations = withRoom(p.Locations, n.locations)
	p.Lines = withRoom(p.Lines, n.lines)
	p.Functions = withRoom(p.Functions, n.functions)
	p.strings = withRoom(p.strings, n.strings)
	p.Comments = withRoom(p.Comments, n.comments)
	p.Repeats = withRoom(p.Repeats, n.repeats)
	return nil
}

func stepFrom(length, more int) int { return max(2*length, length+more, 256) }

// withRoom returns the table with room for n entries in all.
func withRoom[T any](table []T, n int) []T {
	if n <= cap(table) {
		return table
	}
	return append(make([]T, 0, n), table...)
}
