// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package index

// pageSize is the smallest size of a page: memory is mapped in pages.
const pageSize = 4096

// Mapping is where a part of a binary is in the memory of a process.
type Mapping struct{ Start, Limit, Offset uint64 }

// Address returns the address in the ELF file of an address in a process. The eBPF profiler sends addresses of the ELF file already, with
// a start of the mapping to match; the result is the same.
func (t *Table) Address(m Mapping, address uint64) uint64 {
	if m.Start == 0 && m.Offset == 0 {
		return address // Nothing is mapped at address 0: these are addresses of the ELF file.
	}
	var unplaced []Segment
	for _, s := range t.segments {
		switch page := s.Address % pageSize; {
		case s.FileSize == 0 && s.MemorySize > 0:
			unplaced = append(unplaced, s)
		case m.Offset+page >= s.Offset && m.Offset < s.Offset+s.FileSize:
			return address - m.Start + m.Offset - s.Offset + s.Address
		}
	}
	// A file of debug information that objcopy made says nothing of the place of the code in the binary. Code is mapped from its first
	// page on, and as a whole: the size says which segment it is. Of a part, nothing says which one it is: no name is better than a wrong one.
	size := m.Limit - m.Start
	for _, s := range unplaced {
		first := s.Address - s.Address%pageSize
		if mapped := (s.Address + s.MemorySize - first + pageSize - 1) &^ (pageSize - 1); mapped == size {
			return address - m.Start + first
		}
	}
	return t.addressInFile(m, address)
}

// addressInFile is for a mapping that begins before the code, such as one of a whole file: its addresses are those of the ELF file, or lie
// as in the file.
func (t *Table) addressInFile(m Mapping, address uint64) uint64 {
	offset := address - m.Start + m.Offset
	for _, s := range t.segments {
		if address >= s.Address && address-s.Address < s.MemorySize {
			return address
		}
	}
	for _, s := range t.segments {
		if offset >= s.Offset && offset-s.Offset < s.FileSize {
			return offset - s.Offset + s.Address
		}
	}
	return address
}
