// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/collector/consumer/consumererror/xconsumererror"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
	pdatarequest "go.opentelemetry.io/collector/pdata/xpdata/request"

	"github.com/otelpprof/otelpprof/internal/memory"
)

// request is a message in exporterhelper, with its reservation. A message from a queue on disk has none.
type request struct {
	profiles    pprofile.Profiles
	reservation *memory.Reservation
}

var _ xexporterhelper.RequestErrorHandler = (*request)(nil)

// ItemsCount returns the number of samples.
func (r *request) ItemsCount() int { return r.profiles.SampleCount() }

// BytesSize returns the size in protobuf.
func (r *request) BytesSize() int { return (&pprofile.ProtoMarshaler{}).ProfilesSize(r.profiles) }

// MergeSplit neither joins nor splits: the configuration allows no batch in the queue.
func (r *request) MergeSplit(
	_ context.Context, _ int, _ exporterhelper.RequestSizerType, other xexporterhelper.Request,
) ([]xexporterhelper.Request, error) {
	if other == nil {
		return []xexporterhelper.Request{r}, nil
	}
	return []xexporterhelper.Request{r, other}, nil
}

// OnError returns the request to retry: the profiles in the error, or else all.
func (r *request) OnError(err error) xexporterhelper.Request {
	if rest, found := errors.AsType[xconsumererror.Profiles](err); found {
		return &request{profiles: rest.Data(), reservation: r.reservation}
	}
	return r
}

// queued has the memory of the requests in a queue in memory. A reservation counts once, also if two pipelines pass the message on: else
// the second is refused, and each retry repeats the first.
type queued struct {
	share memory.Share
	mu    sync.Mutex
	held  map[*memory.Reservation]held
}

// held is what counts for one reservation, which may change: other pipelines can have it, too.
type held struct {
	requests int
	bytes    int64
}

// fits reports whether one more request fits.
func (q *queued) fits(r *memory.Reservation) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held[r].requests > 0 || q.share.Fits(r.Bytes())
}

// add adds so many requests.
func (q *queued) add(r *memory.Reservation, requests int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.held[r]
	if h.requests == 0 {
		h.bytes = r.Bytes()
		q.share.Use(h.bytes)
	}
	if h.requests += requests; h.requests > 0 {
		q.held[r] = h
		return
	}
	q.share.Use(-h.bytes)
	delete(q.held, r)
}

// Ref is called before a request is added to the queue.
func (q *queued) Ref(r xexporterhelper.Request) {
	one := r.(*request)
	pref.RefProfiles(one.profiles)
	one.reservation.Retain().Accept()
	q.add(one.reservation, 1)
}

// Unref is called when the work on a request has ended.
func (q *queued) Unref(r xexporterhelper.Request) {
	one := r.(*request)
	q.add(one.reservation, -1)
	pref.UnrefProfiles(one.profiles)
	one.reservation.Release()
}

// requestEncoding is the form of a request in a queue on disk: that of exporterhelper.
type requestEncoding struct{}

// Marshal encodes a request.
func (requestEncoding) Marshal(ctx context.Context, r xexporterhelper.Request) ([]byte, error) {
	return pdatarequest.MarshalProfiles(ctx, r.(*request).profiles)
}

// Unmarshal decodes a request, also one of a version that did not store the context.
func (requestEncoding) Unmarshal(bytes []byte) (context.Context, xexporterhelper.Request, error) {
	ctx, profiles, err := pdatarequest.UnmarshalProfiles(bytes)
	if errors.Is(err, pdatarequest.ErrInvalidFormat) {
		profiles, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(bytes)
	}
	return ctx, &request{profiles: profiles}, err
}
