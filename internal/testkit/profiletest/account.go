// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Account says what became of profiles that were sent: by id, and by what they mean. Make it with [NewAccount]. Safe for
// concurrent use.
type Account struct {
	mu         sync.Mutex
	comparison comparison
	sent       map[string]digest
	arrived    map[string]*arrival
}

// digest stands for all that a profile and its resource mean, but for the scope.
type digest [sha256.Size]byte

type arrival struct {
	digest digest
	times  int
	// changed says that it came with different content.
	changed bool
}

// NewAccount returns an Account of nothing.
func NewAccount() *Account {
	return &Account{
		comparison: comparison{ids: newIdentities()},
		sent:       map[string]digest{},
		arrived:    map[string]*arrival{},
	}
}

// Sent notes profiles that must arrive. Two with one id count as one.
func (a *Account) Sent(all ...pprofile.Profiles) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, pd := range all {
		maps.Insert(a.sent, a.digests(pd))
	}
}

// Arrived notes profiles that have arrived.
func (a *Account) Arrived(pd pprofile.Profiles) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, content := range a.digests(pd) {
		known := a.arrived[id]
		if known == nil {
			known = &arrival{digest: content}
			a.arrived[id] = known
		}
		known.times++
		known.changed = known.changed || known.digest != content
	}
}

// Balance is the state of an [Account].
type Balance struct {
	// Sent and Arrived count ids.
	Sent, Arrived int
	// Missing were sent and did not arrive, Unknown arrived and were not sent, Changed arrived with another content.
	Missing, Unknown, Changed []string
	// Repeated counts arrivals of ids that had arrived.
	Repeated int
}

// String shows the numbers.
func (b Balance) String() string {
	return fmt.Sprintf("%d profiles sent, %d arrived, %d missing, %d unknown, %d changed, %d arrived again",
		b.Sent, b.Arrived, len(b.Missing), len(b.Unknown), len(b.Changed), b.Repeated)
}

// Even tells whether all that was sent arrived as it was, and nothing else did. Repeated ones do not count.
func (b Balance) Even() bool { return len(b.Missing)+len(b.Unknown)+len(b.Changed) == 0 }

// Balance compares what was sent with what arrived. The lists are sorted.
func (a *Account) Balance() Balance {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := Balance{Sent: len(a.sent), Arrived: len(a.arrived)}
	for _, id := range slices.Sorted(maps.Keys(a.sent)) {
		switch got := a.arrived[id]; {
		case got == nil:
			b.Missing = append(b.Missing, id)
		case got.changed || got.digest != a.sent[id]:
			b.Changed = append(b.Changed, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.arrived)) {
		b.Repeated += a.arrived[id].times - 1
		if _, known := a.sent[id]; !known {
			b.Unknown = append(b.Unknown, id)
		}
	}
	return b
}

// digests goes through the profiles of a message.
func (a *Account) digests(pd pprofile.Profiles) iter.Seq2[string, digest] {
	tables := a.comparison.ids.resolve(pd.Dictionary())
	return func(yield func(string, digest) bool) {
		for _, resource := range pd.ResourceProfiles().All() {
			identity := resourceIdentity(resource)
			for _, scope := range resource.ScopeProfiles().All() {
				for _, p := range scope.Profiles().All() {
					flat := a.comparison.profile(pd.Dictionary(), tables, p)
					if !yield(flat.fields.ID, flat.digest(identity)) {
						return
					}
				}
			}
		}
	}
}

func (f *flatProfile) digest(resource string) digest {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q", resource, fmt.Sprint(f.fields))
	for _, identity := range slices.Sorted(maps.Keys(f.samples)) {
		s := f.samples[identity]
		fmt.Fprintf(hash, "%q %d %v", identity, s.total, s.events)
	}
	return digest(hash.Sum(nil))
}
