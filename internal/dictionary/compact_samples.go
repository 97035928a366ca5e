// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dictionary

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// The references of a sample are its identity. The code for them is separate from that of fields.go, because samples take
// most of the time.

// UseSample marks the entries to which a sample refers, without the attributes to drop. Number checks the content of its
// stack.
func (c *Compactor) UseSample(sample pprofile.Sample) error {
	stack, stacks := sample.StackIndex(), &c.tables[Stacks]
	if stack < 0 || int(stack) >= len(stacks.used) {
		return stacks.fault(stack)
	}
	stacks.used[stack] = true
	if link := sample.LinkIndex(); link != 0 {
		if err := c.tables[Links].use(link); err != nil {
			return err
		}
	}
	if attributes := sample.AttributeIndices(); attributes.Len() > 0 {
		return c.useAttributes(attributes, true)
	}
	return nil
}

// RewriteSample replaces the indices of a sample, and removes the attributes to drop. Call it before Apply.
func (c *Compactor) RewriteSample(sample pprofile.Sample) {
	sample.SetStackIndex(c.tables[Stacks].to[sample.StackIndex()])
	sample.SetLinkIndex(c.tables[Links].to[sample.LinkIndex()])
	if attributes := sample.AttributeIndices(); attributes.Len() > 0 {
		c.rewriteAttributes(attributes, true)
	}
}

// CountDropped returns the number of attributes to drop in a list.
func (c *Compactor) CountDropped(list pcommon.Int32Slice) (n int) {
	if len(c.dropKeys) == 0 {
		return 0
	}
	for _, i := range list.All() {
		if c.dropped[c.tables[Attributes].first[i]] {
			n++
		}
	}
	return n
}

// Find returns the representative of an entry. Equal entries have the same representative.
func (c *Compactor) Find(t Table, i int32) int32 { return c.tables[t].first[i] }

// CheckStack returns the error of a stack whose index is valid, after Number.
func (c *Compactor) CheckStack(i int32) error {
	if c.tables[Stacks].first[i] < 0 {
		return c.tables[Stacks].fault(i)
	}
	return nil
}
