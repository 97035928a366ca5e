// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dictionary"
)

// Reason is why a profile is invalid.
type Reason int

const (
	// IndexOutOfRange says that an index has no entry.
	IndexOutOfRange Reason = iota
	// UnequalLengths says that a sample has values and timestamps, but different numbers of them.
	UnequalLengths
	// DuplicateKey says that the key of an attribute occurs twice, with different values.
	DuplicateKey
	// TooDeep says that the value of an attribute is nested deeper than attributevalue.MaxDepth.
	TooDeep
	numReasons
)

// String returns the reason in snake case.
func (r Reason) String() string {
	return [numReasons]string{"index_out_of_range", "unequal_lengths", "duplicate_key", "too_deep"}[r]
}

var errUnequalLengths = errors.New("the numbers of values and timestamps differ")

func reasonOf(err error) Reason {
	var (
		key  *dictionary.DuplicateKeyError
		deep *attributevalue.TooDeepError
	)
	switch {
	case errors.Is(err, errUnequalLengths):
		return UnequalLengths
	case errors.As(err, &key):
		return DuplicateKey
	case errors.As(err, &deep):
		return TooDeep
	default:
		return IndexOutOfRange
	}
}

// scopePlace is the position of a scope, and the error in its attributes or those of its resource.
type scopePlace struct {
	resource, scope int
	err             error
}

// checkedScopes iterates over all scopes of the message, and sets reducible.
func (w *work) checkedScopes() iter.Seq2[scopePlace, pprofile.ScopeProfiles] {
	return func(yield func(scopePlace, pprofile.ScopeProfiles) bool) {
		for i, resource := range w.pd.ResourceProfiles().All() {
			repeated, resourceErr := checkAttributes(resource.Resource().Attributes())
			w.reducible = w.reducible || repeated || resource.ScopeProfiles().Len() == 0
			for j, scope := range resource.ScopeProfiles().All() {
				repeated, err := checkAttributes(scope.Scope().Attributes())
				w.reducible = w.reducible || repeated || scope.Profiles().Len() == 0
				if !yield(scopePlace{i, j, cmp.Or(resourceErr, err)}, scope) {
					return
				}
			}
		}
	}
}

// checkAttributes checks the attributes of a resource or scope, and reports whether one occurs twice. It checks the depth
// first, since values that are too deep cannot be compared.
func checkAttributes(attributes pcommon.Map) (repeated bool, err error) {
	if err := attributevalue.Check(attributes); err != nil {
		return false, err
	}
	return copies(attributes)
}

// use marks the entries to which a profile refers, and checks the profile except for the content of its stacks. It skips
// samples that will be dropped.
func (w *work) use(profile pprofile.Profile) error {
	if err := w.tables.UseHeader(profile); err != nil {
		return err
	}
	samples := profile.Samples()
	w.samples.stacks.begin(w.pd.Dictionary().StackTable().Len())
	w.samples.sharing = 0
	for i := range samples.Len() {
		if err := w.useSample(samples.At(i)); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	w.noteEqual(samples)
	return nil
}

// useSample is use for one sample. It also records what noteEqual and combine need to know.
func (w *work) useSample(sample pprofile.Sample) error {
	if w.isZero(sample) {
		w.samples.reshaped = true
		return nil
	}
	values, timestamps := sample.Values().Len(), sample.TimestampsUnixNano().Len()
	if timestamps > 0 && values > 0 && values != timestamps {
		return fmt.Errorf("%w: %d values, %d timestamps", errUnequalLengths, values, timestamps)
	}
	if err := w.tables.UseSample(sample); err != nil {
		return err
	}
	s := &w.samples
	s.sharing += s.stacks.add(sample.StackIndex())
	if values != 1 || timestamps > 0 {
		s.reshaped = s.reshaped || w.reshapes(values, timestamps)
	}
	s.shapes |= 1 << -shapeOf(max(values, 1-timestamps), timestamps)
	return nil
}

// check is like use, but also checks the content of the stacks, after Number. It marks no other entries.
func (w *work) check(profile pprofile.Profile) error {
	if err := w.use(profile); err != nil {
		return err
	}
	samples := profile.Samples()
	for i := range samples.Len() {
		if w.isZero(samples.At(i)) {
			continue
		}
		if err := w.tables.CheckStack(samples.At(i).StackIndex()); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return nil
}
