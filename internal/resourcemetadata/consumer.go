// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcemetadata copies resource attributes to the client metadata. Exporters can then partition by them, and batches
// can keep messages apart by them.
package resourcemetadata // import "github.com/otelpprof/otelpprof/internal/resourcemetadata"

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/attributevalue"
	"github.com/otelpprof/otelpprof/internal/dedup"
	"github.com/otelpprof/otelpprof/internal/dictionary"
	"github.com/otelpprof/otelpprof/internal/joinederrors"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
)

// maxParts limits how many parts a message is split into.
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
	groups, values := c.plan(pd)
	switch {
	case len(values) == 0:
		return c.next.ConsumeProfiles(ctx, pd)
	case len(values) == 1:
		return c.next.ConsumeProfiles(c.withMetadata(ctx, values[0]), pd)
	case len(values) > maxParts:
		return otlpstatus.BadRequest(
			"cannot split a message by %q: its resources have at least %d different values, at most %d are allowed", c.keys, len(values), maxParts)
	}
	d := delivery{parts: len(values)}
	next := memory.Parts{Profiles: c.next, Kept: int64(dictionary.MemoryOf(pd.Dictionary()))}
	err := dedup.SplitResources(pd, groups, len(values), func(i int, part pprofile.Profiles) bool {
		if ctx.Err() != nil {
			return d.add(fmt.Errorf("cannot deliver the rest of a message: %w", context.Cause(ctx)))
		}
		return d.add(next.ConsumeProfiles(c.withMetadata(ctx, values[i]), part))
	})
	if err != nil {
		return otlpstatus.BadRequest("cannot split a message by %q: %w", c.keys, err)
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

// maxValueBytes limits the length of a value. The rest is cut off.
const maxValueBytes = 1024

// value is the value of one key. set is false if the resource has no such attribute; an empty value is set.
type value struct {
	text string
	set  bool
}

// plan groups the resources of a message by their values, in the order of the first resource of each group. groups maps the index of a
// resource to the index of its group. values has the values of each group, one per key. It ends as soon as there are too many groups: a
// short message can have many resources with long values, since they can share a string.
func (c *metadataConsumer) plan(pd pprofile.Profiles) (groups []int, values [][]value) {
	resources := pd.ResourceProfiles()
	groups = make([]int, resources.Len())
	groupsByName := map[string]int{}
	var name strings.Builder
	for i, resource := range resources.All() {
		own := c.valuesOf(resource.Resource().Attributes())
		name.Reset()
		for _, v := range own {
			name.WriteString(strconv.FormatBool(v.set))
			name.WriteString(strconv.Quote(v.text))
		}
		group, found := groupsByName[name.String()]
		if !found {
			group = len(values)
			groupsByName[name.String()] = group
			if values = append(values, own); len(values) > maxParts {
				break
			}
		}
		groups[i] = group
	}
	return groups, values
}

// valuesOf returns the value of each key.
func (c *metadataConsumer) valuesOf(attributes pcommon.Map) []value {
	values := make([]value, len(c.keys))
	for i, key := range c.keys {
		if v, found := attributes.Get(key); found {
			values[i] = value{text: textOf(v), set: true}
		}
	}
	return values
}

// textOf returns a value as text for metadata: at most maxValueBytes, and valid UTF-8. It makes and keeps no longer text.
func textOf(v pcommon.Value) string {
	if v.Type() != pcommon.ValueTypeStr {
		return strings.ToValidUTF8(string(attributevalue.AppendText(nil, v, maxValueBytes)), "\uFFFD")
	}
	text := v.Str()
	if len(text) > maxValueBytes {
		text = strings.Clone(text[:maxValueBytes])
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
