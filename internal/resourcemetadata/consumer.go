// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package resourcemetadata

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
)

// maxParts limits how many parts a message is split into. Each part has a copy of the dictionary entries that it needs, so
// that this limits the memory that a sender can use up.
const maxParts = 1000

// promoter copies resource attributes to the client metadata. It splits messages whose resources have different values.
type promoter struct {
	keys []string
	next xconsumer.Profiles
}

// Wrap returns a consumer that copies the resource attributes of these keys to the client metadata and calls next. Without
// keys it returns next.
func Wrap(next xconsumer.Profiles, keys []string) xconsumer.Profiles {
	if len(keys) == 0 {
		return next
	}
	return &promoter{keys: keys, next: next}
}

// Capabilities says that messages may be split.
func (*promoter) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeProfiles passes on a message, or its parts one after the other.
func (p *promoter) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	parts := p.plan(pd)
	switch {
	case len(parts.values) <= 1:
		return p.next.ConsumeProfiles(p.withMetadata(ctx, parts.valuesOf(0)), pd)
	case len(parts.values) > maxParts:
		return consumererror.NewPermanent(fmt.Errorf(
			"cannot split a message by %q: its resources have %d different values, at most %d are allowed", p.keys, len(parts.values), maxParts))
	}
	if pd.IsReadOnly() {
		own := pprofile.NewProfiles()
		pd.CopyTo(own)
		pd = own
	}
	d := delivery{parts: len(parts.values)}
	err := dedup.PartResources(pd, parts.groups, len(parts.values), func(i int, part pprofile.Profiles) bool {
		return d.add(p.next.ConsumeProfiles(p.withMetadata(ctx, parts.values[i]), part))
	})
	if err != nil {
		return consumererror.NewPermanent(err)
	}
	return d.err()
}

// withMetadata adds values to the client metadata. A key without a value keeps its metadata.
func (p *promoter) withMetadata(ctx context.Context, values []value) context.Context {
	info := client.FromContext(ctx)
	metadata := map[string][]string{}
	for key := range info.Metadata.Keys() {
		metadata[key] = info.Metadata.Get(key)
	}
	for i, v := range values {
		if v.set {
			metadata[lower(p.keys[i])] = []string{v.text}
		}
	}
	info.Metadata = client.NewMetadata(metadata)
	return client.NewContext(ctx, info)
}

// delivery collects the results of the parts of a message.
type delivery struct {
	parts, taken int
	// refused are the permanent errors. They do not stop the delivery.
	refused []error
	// retry is the first retryable error. It stops the delivery: the sender sends the whole message again.
	retry error
}

// add adds the result of a part. It reports whether the next part is to be delivered.
func (d *delivery) add(err error) (more bool) {
	switch {
	case err == nil:
		d.taken++
	case consumererror.IsPermanent(err):
		d.refused = append(d.refused, err)
	default:
		d.retry = err
	}
	return d.retry == nil
}

// err returns one error for all parts. It never wraps a permanent error together with a retryable one.
func (d *delivery) err() error {
	switch {
	case d.retry != nil:
		return fmt.Errorf("%d of %d parts of the message were accepted: %w", d.taken, d.parts, d.retry)
	case len(d.refused) > 0:
		return consumererror.NewPermanent(fmt.Errorf("%d of %d parts of the message are refused: %w", len(d.refused), d.parts, errors.Join(d.refused...)))
	default:
		return nil
	}
}
