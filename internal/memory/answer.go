// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"io"
	"slices"
)

// WriteAnswer writes an answer to a request with this reservation. Its client may read it slowly while nobody waits for memory. Otherwise it
// is ended as a request that arrives too slowly, see stallTime: abort makes the pending write fail. abort must not block.
func (r *Reservation) WriteAnswer(w io.Writer, answer []byte, abort func()) (written int, err error) {
	if r == nil {
		return w.Write(answer)
	}
	a := r.budget.newArrival(r, abort)
	defer a.End()
	for part := range slices.Chunk(answer, progressBytes) {
		a.progress()
		n, err := w.Write(part)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
