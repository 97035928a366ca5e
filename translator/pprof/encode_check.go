// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package pprof

import (
	"fmt"

	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/scratch"
)

// checks has the results of checking the entries of one table, each on first use: valid entries, and the errors of the others.
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
		err = fmt.Errorf("%s %d: %w", c.table, i, err)
		scratch.Store(&c.bad, i, err)
		return err
	}
	c.good[i] = true
	return nil
}

// validateLocation checks a location and everything that it refers to.
func (im *importer) validateLocation(i int) error {
	location := im.source.LocationTable().At(i)
	if mapping := location.MappingIndex(); !im.mappingChecks.known(mapping) {
		if err := im.mappingChecks.check(mapping, im.validateMapping); err != nil {
			return err
		}
	}
	lines := location.Lines()
	for j := range lines.Len() {
		if function := lines.At(j).FunctionIndex(); !im.functionChecks.known(function) {
			if err := im.functionChecks.check(function, im.validateFunction); err != nil {
				return err
			}
		}
	}
	if location.AttributeIndices().Len() == 0 {
		return nil
	}
	_, err := im.appendAttributes(nil, location.AttributeIndices())
	return err
}

func (im *importer) validateFunction(i int) error {
	function := im.source.FunctionTable().At(i)
	for _, index := range []int32{function.NameStrindex(), function.SystemNameStrindex(), function.FilenameStrindex()} {
		if _, err := im.string(index); err != nil {
			return err
		}
	}
	return nil
}

func (im *importer) validateMapping(i int) error {
	mapping := im.source.MappingTable().At(i)
	if _, err := im.string(mapping.FilenameStrindex()); err != nil {
		return err
	}
	_, err := im.appendAttributes(nil, mapping.AttributeIndices())
	return err
}
