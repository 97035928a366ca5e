// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package resourcemetadata

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/joinederrors"
)

// maxParts limits how many parts a message is split into. Each part has a copy of the dictionary entries that it needs. So this
// limits the memory that one message can need.
const maxParts = 1000

// metadataConsumer copies resource attributes to the client metadata. It splits messages whose resources have different values.
type metadataConsumer struct {
	keys []string
	next xconsumer.Profiles
}

// Wrap returns a consumer that copies the resource attributes of these keys to the client metadata and calls next. Without
// keys it returns next.
func Wrap(next xconsumer.Profiles, keys []string) xconsumer.Profiles {
	if len(keys) == 0 {
		return next
	}
	return &metadataConsumer{keys: keys, next: next}
}

// Capabilities reports that ConsumeProfiles changes messages: it may split them.
func (*metadataConsumer) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: true}
}

// ConsumeProfiles passes a message on, or its parts one after the other.
func (c *metadataConsumer) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	parts := c.plan(pd)
	switch {
	case len(parts.values) <= 1:
		return c.next.ConsumeProfiles(c.withMetadata(ctx, parts.valuesOf(0)), pd)
	case len(parts.values) > maxParts:
		return consumererror.NewPermanent(fmt.Errorf(
			"cannot split a message by %q: its resources have %d different values, at most %d are allowed", c.keys, len(parts.values), maxParts))
	}
	if pd.IsReadOnly() {
		own := pprofile.NewProfiles()
		pd.CopyTo(own)
		pd = own
	}
	d := delivery{parts: len(parts.values)}
	err := dedup.SplitResources(pd, parts.groups, len(parts.values), func(i int, part pprofile.Profiles) bool {
		return d.add(c.next.ConsumeProfiles(c.withMetadata(ctx, parts.values[i]), part))
	})
	if err != nil {
		return consumererror.NewPermanent(err)
	}
	return d.err()
}

// withMetadata adds values to the client metadata of ctx. If a value is not set, it keeps the metadata of that key.
func (c *metadataConsumer) withMetadata(ctx context.Context, values []value) context.Context {
	info := client.FromContext(ctx)
	metadata := map[string][]string{}
	for key := range info.Metadata.Keys() {
		metadata[key] = info.Metadata.Get(key)
	}
	for i, v := range values {
		if v.set {
			metadata[strings.ToLower(c.keys[i])] = []string{v.text}
		}
	}
	info.Metadata = client.NewMetadata(metadata)
	return client.NewContext(ctx, info)
}

// delivery collects the results of the parts of a message.
type delivery struct {
	parts, accepted int
	// permanent has the permanent errors. They do not stop the delivery.
	permanent []error
	// retryable is the first retryable error. It stops the delivery, because the sender sends the whole message again.
	retryable error
}

// add adds the result of a part. It reports whether to deliver the next part.
func (d *delivery) add(err error) (more bool) {
	err = joinederrors.Resolve(err)
	switch {
	case err == nil:
		d.accepted++
	case consumererror.IsPermanent(err):
		d.permanent = append(d.permanent, err)
	default:
		d.retryable = err
	}
	return d.retryable == nil
}

// err returns one error for all parts. A retryable error hides permanent ones: if it wrapped both, it would count as permanent.
func (d *delivery) err() error {
	switch {
	case d.retryable != nil:
		return fmt.Errorf("%d of %d parts of the message were accepted: %w", d.accepted, d.parts, d.retryable)
	case len(d.permanent) > 0:
		return consumererror.NewPermanent(fmt.Errorf("%d of %d parts of the message were refused: %w", len(d.permanent), d.parts, errors.Join(d.permanent...)))
	default:
		return nil
	}
}
