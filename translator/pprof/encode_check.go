// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// sourceTables are the tables of the message, and the results of checking their entries. Index 0 always means the zero
// value, whatever the message has there. Each entry is checked once, on first use.
type sourceTables struct {
	all        pprofile.ProfilesDictionary
	importer   *importer
	attributes pprofile.KeyValueAndUnitSlice
	stacks     pprofile.StackSlice
	locations  pprofile.LocationSlice
	functions  pprofile.FunctionSlice
	mappings   pprofile.MappingSlice

	locationChecks checks
	functionChecks checks
	mappingChecks  checks
}

// checks has the results for one table: valid entries, and the errors of the others.
type checks struct {
	table string
	good  []bool
	bad   map[int32]error
}

func (c *checks) reset(table string, n int) {
	c.table = table
	c.good = scratch.Zeroed(c.good, n)
	clear(c.bad)
}

// known reports whether entry i is already known to be valid.
func (c *checks) known(i int32) bool {
	return i == 0 || uint(i) < uint(len(c.good)) && c.good[i]
}

// check checks entry i with validate, and stores the result.
func (c *checks) check(i int32, validate func(i int) error) error {
	if i < 0 || int(i) >= len(c.good) {
		return &dictionary.IndexError{Table: c.table, Index: i, Len: len(c.good)}
	}
	if err, found := c.bad[i]; found {
		return err
	}
	if err := validate(int(i)); err != nil {
		if c.bad == nil {
			c.bad = map[int32]error{}
		}
		err = fmt.Errorf("%s %d: %w", c.table, i, err)
		c.bad[i] = err
		return err
	}
	c.good[i] = true
	return nil
}

func (s *sourceTables) reset(source pprofile.ProfilesDictionary, importer *importer) {
	s.all, s.importer = source, importer
	s.attributes = source.AttributeTable()
	s.stacks, s.locations = source.StackTable(), source.LocationTable()
	s.functions, s.mappings = source.FunctionTable(), source.MappingTable()
	s.locationChecks.reset("location", s.locations.Len())
	s.functionChecks.reset("function", s.functions.Len())
	s.mappingChecks.reset("mapping", s.mappings.Len())
}

// release drops all references to the message.
func (s *sourceTables) release() {
	s.all, s.attributes = pprofile.ProfilesDictionary{}, pprofile.KeyValueAndUnitSlice{}
	s.stacks, s.locations = pprofile.StackSlice{}, pprofile.LocationSlice{}
	s.functions, s.mappings = pprofile.FunctionSlice{}, pprofile.MappingSlice{}
}

// checkLocation checks a location and everything that it refers to.
func (s *sourceTables) checkLocation(i int32) error {
	if s.locationChecks.known(i) {
		return nil
	}
	return s.locationChecks.check(i, s.validateLocation)
}

func (s *sourceTables) validateLocation(i int) error {
	location := s.locations.At(i)
	if mapping := location.MappingIndex(); !s.mappingChecks.known(mapping) {
		if err := s.mappingChecks.check(mapping, s.validateMapping); err != nil {
			return err
		}
	}
	lines := location.Lines()
	for j := range lines.Len() {
		if function := lines.At(j).FunctionIndex(); !s.functionChecks.known(function) {
			if err := s.functionChecks.check(function, s.validateFunction); err != nil {
				return err
			}
		}
	}
	if location.AttributeIndices().Len() == 0 {
		return nil
	}
	_, err := s.importer.appendAttributes(nil, location.AttributeIndices())
	return err
}

func (s *sourceTables) validateFunction(i int) error {
	function := s.functions.At(i)
	for _, index := range []int32{function.NameStrindex(), function.SystemNameStrindex(), function.FilenameStrindex()} {
		if _, err := s.importer.string(index); err != nil {
			return err
		}
	}
	return nil
}

func (s *sourceTables) validateMapping(i int) error {
	mapping := s.mappings.At(i)
	if _, err := s.importer.string(mapping.FilenameStrindex()); err != nil {
		return err
	}
	_, err := s.importer.appendAttributes(nil, mapping.AttributeIndices())
	return err
}
