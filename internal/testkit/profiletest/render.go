// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Render shows a message as text that a person can read, in the order of the message: for golden files. Stacks have the leaf
// first.
func Render(pd pprofile.Profiles) string {
	var text strings.Builder
	dict := pd.Dictionary()
	for _, resource := range pd.ResourceProfiles().All() {
		fmt.Fprintf(&text, "resource %v\n", resource.Resource().Attributes().AsRaw())
		for _, scope := range resource.ScopeProfiles().All() {
			fmt.Fprintf(&text, "scope %q %q\n", scope.Scope().Name(), scope.Scope().Version())
			for _, p := range scope.Profiles().All() {
				fmt.Fprintf(&text, "\nprofile %s, period %d %s, time %d, duration %d %s\n", describeValueType(dict, p.SampleType()), p.Period(),
					describeValueType(dict, p.PeriodType()), p.Time(), p.DurationNano(), describeAttributes(dict, p.AttributeIndices()))
				for _, sample := range p.Samples().All() {
					renderSample(&text, dict, sample)
				}
			}
		}
	}
	return text.String()
}

func renderSample(text *strings.Builder, dict pprofile.ProfilesDictionary, sample pprofile.Sample) {
	fmt.Fprintf(text, "  %v", sample.Values().AsRaw())
	if times := sample.TimestampsUnixNano(); times.Len() > 0 {
		fmt.Fprintf(text, " at %v", times.AsRaw())
	}
	if sample.AttributeIndices().Len() > 0 {
		text.WriteString(" " + describeAttributes(dict, sample.AttributeIndices()))
	}
	text.WriteString(describeLink(dict, sample.LinkIndex()) + "\n    ")
	describeStack(text, dict, sample.StackIndex())
	text.WriteString("\n")
}
