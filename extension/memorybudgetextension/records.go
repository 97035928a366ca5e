// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memorybudgetextension

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/otelpprof/otelpprof/internal/dictionary/walk"
	"github.com/otelpprof/otelpprof/internal/memory"
	"github.com/otelpprof/otelpprof/internal/otlpstatus"
	"github.com/otelpprof/otelpprof/internal/wire/inflate"
	"github.com/otelpprof/otelpprof/internal/wire/otlpwire"
)

const (
	// A record may need one part in recordPart of the budget: batches hold at most the other half.
	recordPart = 2
	// A record waits for memory for firstWait, and then for laterWait again and again.
	firstWait = 10 * time.Millisecond
	laterWait = time.Second
	// maxFrames limits the frames of all samples of a record together. To join messages, a queue compares the whole stack of each
	// sample: many samples of one deep stack need little memory and much time.
	maxFrames = 1 << 28
)

// recordEncoder compresses records. The options are valid constants, so there is no error.
var recordEncoder, _ = zstd.NewWriter(nil, fastZstd...)

var (
	_ pprofile.Marshaler   = (*memoryBudget)(nil)
	_ pprofile.Unmarshaler = (*memoryBudget)(nil)
)

// MarshalProfiles returns the record of a message for Kafka: OTLP in protobuf, compressed with zstd. The client of Kafka does not
// compress it again, since the client that reads it would decompress without a limit. The error is permanent: UnmarshalProfiles
// would refuse the record.
func (m *memoryBudget) MarshalProfiles(pd pprofile.Profiles) ([]byte, error) {
	plain, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(pd)
	if err != nil {
		return nil, err
	}
	if _, err = m.recordMemory(plain); err == nil {
		err = checkFrames(pd)
	}
	if err != nil {
		m.countRefusal(context.Background(), refusalOf(err))
		return nil, otlpstatus.BadRequest("cannot write a record: %w", err)
	}
	return recordEncoder.EncodeAll(plain, nil), nil
}

// UnmarshalProfiles returns the message of a record, which may also be plain OTLP, and which it may change. The message has a reservation
// until the garbage collector frees it. Without free memory, UnmarshalProfiles waits: the caller would drop the record for any error. During a
// shutdown it does not wait, since the receiver would not stop: the next consumer then reserves the memory, or refuses the message for now.
func (m *memoryBudget) UnmarshalProfiles(record []byte) (pprofile.Profiles, error) {
	for wait := firstWait; ; wait = laterWait {
		pd, err := m.tryRecord(record, wait)
		if err == nil {
			return pd, nil
		}
		if refused := refusalOf(err); refused != exhausted {
			m.countRefusal(context.Background(), refused)
			return pprofile.Profiles{}, fmt.Errorf("cannot read a record: %w", err)
		}
		runtime.GC() // Messages that were consumed hold their reservations until then.
	}
}

// tryRecord is one attempt of [memoryBudget.UnmarshalProfiles].
func (m *memoryBudget) tryRecord(record []byte, wait time.Duration) (pd pprofile.Profiles, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var message *memory.Reservation // Without one, there is no limit.
	if m.stopping.Err() == nil {
		message = m.budget.Begin()
	}
	defer message.Release()
	plain, _, err := inflate.Open(new([]byte), record, m.config.MaxInflatedMiB<<20, message.Meter(ctx, requestBytes))
	if err != nil {
		return pd, err
	}
	needed, err := m.recordMemory(plain)
	if err != nil {
		return pd, err
	}
	if err := message.Grow(ctx, needed); err != nil {
		return pd, err
	}
	otlpwire.ClearKeyReferences(plain)
	if pd, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(plain); err != nil {
		return pd, errors.Join(otlpwire.ErrMalformed, err)
	}
	if err = checkFrames(pd); err == nil && message != nil {
		m.budget.HandOver(pd, message.Retain())
	}
	return pd, err
}

// checkFrames returns an error if the samples have more than maxFrames.
func checkFrames(pd pprofile.Profiles) error {
	stacks := pd.Dictionary().StackTable()
	frames := 0
	for profile := range walk.Profiles(pd) {
		for _, sample := range profile.Samples().All() {
			if stack := int(sample.StackIndex()); stack >= 0 && stack < stacks.Len() {
				frames += stacks.At(stack).LocationIndices().Len()
			}
			if frames > maxFrames {
				return fmt.Errorf("%w: the samples of the record have more than %d frames", inflate.ErrTooLarge, maxFrames)
			}
		}
	}
	return nil
}

// recordMemory returns how much memory it takes to unmarshal a record, or an error if that is not allowed.
func (m *memoryBudget) recordMemory(plain []byte) (int64, error) {
	if limit := m.config.MaxInflatedMiB << 20; len(plain) > limit {
		return 0, fmt.Errorf("%w: the record has %d bytes without compression, max_inflated_mib allows %d", inflate.ErrTooLarge, len(plain), limit)
	}
	counted, err := otlpwire.Count(otlpwire.Profiles, plain)
	if err != nil {
		return 0, err
	}
	needed := requestBytes + messageMemory(int64(len(plain)), counted)
	if limit := m.budget.Size() / recordPart; needed > limit {
		return 0, fmt.Errorf("%w: the record needs %d bytes, half of the budget is %d", memory.ErrTooLarge, needed, limit)
	}
	return needed, nil
}
