// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprofwire

// push adds an entry to one of p's tables.
func push[T any](p *Profile, table *[]T, entry T, limits *Limits) error {
	if len(*table) == cap(*table) {
		if err := p.growTables(1, limits); err != nil {
			return err
		}
	}
	*table = append(*table, entry)
	return nil
}

// growTables allocates each table in its final size. It is called when a table is full and more entries follow. The first call
// counts the entries of the payload.
func (p *Profile) growTables(more int, limits *Limits) (err error) {
	if !p.counted {
		if p.total, err = count(p.raw, limits); err != nil {
			return err
		}
		p.counted = true
	}
	n := p.total
	if p.repeats != nil {
		// Repeated parts are left out, so the final sizes of these two tables are not known. They grow in steps.
		n.locationIDs = min(n.locationIDs, stepFrom(len(p.LocationIDs), more))
		n.labels = min(n.labels, stepFrom(len(p.Labels), more))
		n.repeats = n.samples
	}
	if err := limits.Memory.Need(n.bytes()); err != nil {
		return err
	}
	p.SampleTypes = withCapacity(p.SampleTypes, n.sampleTypes)
	p.Samples = withCapacity(p.Samples, n.samples)
	p.LocationIDs = withCapacity(p.LocationIDs, n.locationIDs)
	p.Values = withCapacity(p.Values, n.values)
	p.Labels = withCapacity(p.Labels, n.labels)
	p.Mappings = withCapacity(p.Mappings, n.mappings)
	p.Locations = withCapacity(p.Locations, n.locations)
	p.Lines = withCapacity(p.Lines, n.lines)
	p.Functions = withCapacity(p.Functions, n.functions)
	p.strings = withCapacity(p.strings, n.strings)
	p.Comments = withCapacity(p.Comments, n.comments)
	p.Repeats = withCapacity(p.Repeats, n.repeats)
	return nil
}

func stepFrom(length, more int) int { return max(2*length, length+more, 256) }

// withCapacity returns table with a capacity of at least n entries.
func withCapacity[T any](table []T, n int) []T {
	if n <= cap(table) {
		return table
	}
	return append(make([]T, 0, n), table...)
}
