// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// maxViolations bounds the length of the error that a check returns.
const maxViolations = 20

// CheckOptions says which rules apply. The zero value are those for a message that one of our components made of
// conforming input; the options loosen or tighten them.
type CheckOptions struct {
	// AllowUnreferencedMappings accepts mappings that no location refers to.
	AllowUnreferencedMappings bool
	// AllowAttributeStrings accepts strings that only the resources' and scopes' attributes use: pdata moves those
	// into the string table when it marshals a message.
	AllowAttributeStrings bool
	// AllowMixedShapes accepts profiles that hold samples both with and without values, or timestamps.
	AllowMixedShapes bool
	// AllowTimestampsOutside accepts timestamps outside of the profile's time range.
	AllowTimestampsOutside bool
	// AllowNegativeLines accepts lines, columns and start lines below 0, which the protocol has no meaning for and pprof allows.
	AllowNegativeLines bool
	// AllowNamelessFunctions accepts functions without name, system name and file name, which pprof allows.
	AllowNamelessFunctions bool
	// AllowSeveralValues accepts samples with several values and no timestamps, which the deduplicator sums.
	AllowSeveralValues bool
	// Untidy accepts duplicates, orphans, attribute lists in any order, and several values without timestamps: messages that
	// keep the rules of the protocol and have not gone through one of our components.
	Untidy bool
	// Deduplicated asks for more: samples of equal identity and shape in one profile are one sample, and equal
	// resources, and equal scopes of one resource, are joined.
	Deduplicated bool
}

// Check tells whether pd keeps the rules of OTLP profiles, and has neither duplicates nor orphans in its dictionary.
// The error names each violation by table and index, the first 20 of them. It does not change pd.
func Check(pd pprofile.Profiles) error { return CheckOptions{}.Check(pd) }

// Check is [Check] with these options.
func (o CheckOptions) Check(pd pprofile.Profiles) error {
	if pd == (pprofile.Profiles{}) {
		return errors.New("cannot check a message that was never made")
	}
	ids := newIdentities()
	c := &checker{options: o, dict: pd.Dictionary(), tables: ids.resolve(pd.Dictionary())}
	c.zeroEntries()
	c.references()
	c.resources(pd)
	if !o.Untidy {
		c.duplicates()
		c.orphans(pd)
	}
	return c.err()
}

// checker collects the violations of one message.
type checker struct {
	options    CheckOptions
	dict       pprofile.ProfilesDictionary
	tables     *tables
	violations []error
	unnamed    int
}

// place is where a violation was found: an element of a list.
type place struct {
	list  string
	index int
}

func (p place) String() string { return fmt.Sprintf("%s[%d]", p.list, p.index) }

func (c *checker) report(at place, format string, args ...any) {
	if len(c.violations) == maxViolations {
		c.unnamed++
		return
	}
	c.violations = append(c.violations, fmt.Errorf("%v: %w", at, fmt.Errorf(format, args...)))
}

func (c *checker) err() error {
	if c.unnamed > 0 {
		c.violations = append(c.violations, fmt.Errorf("and %d more violations", c.unnamed))
	}
	return errors.Join(c.violations...)
}
