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

// maxParts is how many messages may become of one. Each part repeats what it needs of the dictionary, so that this
// bounds what a sender can make grow.
const maxParts = 1000

// promoter puts attributes of resources into the metadata of the client. It parts messages whose resources differ in
// them.
type promoter struct {
	keys []string
	next xconsumer.Profiles
}

// Wrap returns a consumer that puts the attributes of these keys into the metadata of the client before next gets a
// message, or next itself if there are no keys.
func Wrap(next xconsumer.Profiles, keys []string) xconsumer.Profiles {
	if len(keys) == 0 {
		return next
	}
	return &promoter{keys: keys, next: next}
}

// Capabilities tells that messages may be parted.
func (*promoter) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeProfiles hands on a message, or its parts, one after the other.
func (p *promoter) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	parts := p.plan(pd)
	switch {
	case len(parts.values) <= 1:
		return p.next.ConsumeProfiles(p.withMetadata(ctx, parts.valuesOf(0)), pd)
	case len(parts.values) > maxParts:
		return consumererror.NewPermanent(fmt.Errorf(
			"cannot part a message by %q: its resources have %d different values, at most %d are allowed", p.keys, len(parts.values), maxParts))
	}
	if pd.IsReadOnly() {
		own := pprofile.NewProfiles()
		pd.CopyTo(own)
		pd = own
	}
	d := delivery{parts: len(parts.values)}
	err := dedup.PartResources(pd, parts.groups, len(parts.values), func(i int, part pprofile.Profiles) bool {
		return d.judge(p.next.ConsumeProfiles(p.withMetadata(ctx, parts.values[i]), part))
	})
	if err != nil {
		return consumererror.NewPermanent(err)
	}
	return d.err()
}

// withMetadata adds values to what the client is known to have. A key without value stays as it is.
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

// delivery adds up what became of the parts of a message.
type delivery struct {
	parts, taken int
	// refused are permanent: the other parts go on all the same.
	refused []error
	// retry is the first refusal that will pass. It ends the delivery: the sender comes again with the whole message.
	retry error
}

// judge tells whether the next part is to be delivered.
func (d *delivery) judge(err error) (more bool) {
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

// err is one error for all parts. It never wraps a permanent error together with one that will pass.
func (d *delivery) err() error {
	switch {
	case d.retry != nil:
		return fmt.Errorf("%d of %d parts of the message were taken: %w", d.taken, d.parts, d.retry)
	case len(d.refused) > 0:
		return consumererror.NewPermanent(fmt.Errorf("%d of %d parts of the message are refused: %w", len(d.refused), d.parts, errors.Join(d.refused...)))
	default:
		return nil
	}
}
