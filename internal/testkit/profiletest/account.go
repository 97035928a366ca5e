// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
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

// identities numbers the entries of dictionaries by content, over as many messages as are resolved with it.
// Number 0 is the zero value in each table.
type identities struct {
	strings, attributes, functions, mappings, locations, stacks, links interner

	scratch []byte
}

// tables holds the number of each entry of one dictionary.
type tables struct {
	strings, attributes, functions, mappings, locations, stacks, links []int64
}

func newIdentities() *identities {
	ids := &identities{
		strings: interner{}, attributes: interner{}, functions: interner{}, mappings: interner{},
		locations: interner{}, stacks: interner{}, links: interner{},
	}
	zero := pprofile.NewProfilesDictionary()
	zero.StringTable().Append("")
	zero.AttributeTable().AppendEmpty()
	zero.FunctionTable().AppendEmpty()
	zero.MappingTable().AppendEmpty()
	zero.LocationTable().AppendEmpty()
	zero.StackTable().AppendEmpty()
	zero.LinkTable().AppendEmpty()
	ids.resolve(zero)
	return ids
}

// resolve numbers every entry of dict. Tables that others refer to come first.
func (ids *identities) resolve(dict pprofile.ProfilesDictionary) *tables {
	t := &tables{}
	for _, s := range dict.StringTable().All() {
		t.strings = append(t.strings, ids.strings.id(append(ids.scratch[:0], s...)))
	}
	for _, kv := range dict.AttributeTable().All() {
		t.attributes = append(t.attributes, ids.attribute(t, kv))
	}
	for _, f := range dict.FunctionTable().All() {
		t.functions = append(t.functions, ids.function(t, f))
	}
	for _, m := range dict.MappingTable().All() {
		t.mappings = append(t.mappings, ids.mapping(t, m))
	}
	for _, l := range dict.LocationTable().All() {
		t.locations = append(t.locations, ids.location(t, l))
	}
	for _, s := range dict.StackTable().All() {
		t.stacks = append(t.stacks, ids.stack(t, s))
	}
	for _, l := range dict.LinkTable().All() {
		t.links = append(t.links, ids.link(l))
	}
	return t
}

func (ids *identities) attribute(t *tables, kv pprofile.KeyValueAndUnit) int64 {
	b := appendNumbers(ids.scratch[:0], ref(t.strings, kv.KeyStrindex()), ref(t.strings, kv.UnitStrindex()))
	ids.scratch = appendValue(b, kv.Value(), 0)
	return ids.attributes.id(ids.scratch)
}

func (ids *identities) function(t *tables, f pprofile.Function) int64 {
	ids.scratch = appendNumbers(ids.scratch[:0], ref(t.strings, f.NameStrindex()),
		ref(t.strings, f.SystemNameStrindex()), ref(t.strings, f.FilenameStrindex()), f.StartLine())
	return ids.functions.id(ids.scratch)
}

func (ids *identities) mapping(t *tables, m pprofile.Mapping) int64 {
	b := binary.AppendUvarint(ids.scratch[:0], m.MemoryStart())
	b = binary.AppendUvarint(b, m.MemoryLimit())
	b = binary.AppendUvarint(b, m.FileOffset())
	b = appendNumbers(b, ref(t.strings, m.FilenameStrindex()))
	ids.scratch = appendNumbers(b, attributeSet(t, m.AttributeIndices())...)
	return ids.mappings.id(ids.scratch)
}

func (ids *identities) location(t *tables, l pprofile.Location) int64 {
	b := appendNumbers(ids.scratch[:0], ref(t.mappings, l.MappingIndex()))
	b = binary.AppendUvarint(b, l.Address())
	b = binary.AppendUvarint(b, uint64(l.Lines().Len()))
	for _, line := range l.Lines().All() {
		b = appendNumbers(b, ref(t.functions, line.FunctionIndex()), line.Line(), line.Column())
	}
	ids.scratch = appendNumbers(b, attributeSet(t, l.AttributeIndices())...)
	return ids.locations.id(ids.scratch)
}

func (ids *identities) stack(t *tables, s pprofile.Stack) int64 {
	b := ids.scratch[:0]
	for _, index := range s.LocationIndices().All() {
		b = appendNumbers(b, ref(t.locations, index))
	}
	ids.scratch = b
	return ids.stacks.id(b)
}

func (ids *identities) link(l pprofile.Link) int64 {
	trace, span := l.TraceID(), l.SpanID()
	ids.scratch = append(append(ids.scratch[:0], trace[:]...), span[:]...)
	return ids.links.id(ids.scratch)
}

// attributeSet returns the numbers of the attributes at these indices, sorted, each once. The zero attribute, which has
// neither key nor value, says nothing and is left out.
func attributeSet(t *tables, indices pcommon.Int32Slice) []int64 {
	set := make([]int64, 0, indices.Len())
	for _, index := range indices.All() {
		if number := ref(t.attributes, index); number != 0 {
			set = append(set, number)
		}
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// outOfRange is added to an index that a table does not have: such references equal each other and nothing else.
const outOfRange = int64(-1) << 40

// ref returns the number of the entry at index. Index 0 is the zero value also where the table lacks it.
func ref(table []int64, index int32) int64 {
	switch {
	case inRange(index, len(table)):
		return table[index]
	case index == 0:
		return 0
	}
	return outOfRange + int64(index)
}

func inRange(index int32, length int) bool {
	return index >= 0 && int64(index) < int64(length)
}

func appendNumbers(dst []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}
