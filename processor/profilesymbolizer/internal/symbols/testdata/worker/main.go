// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Program worker has functions that the compiler inlines in each other.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

func mix[T int | uint32](value, by T) T {
	for i := T(0); i < 7; i++ {
		value = (value ^ (by + i)) * 31
	}
	return value
}

func twice(n int) int { return mix(n, 1) + mix(n, 2) }

type worker struct{ lists map[string][]int }

func (w *worker) add(key string, n int) { w.lists[key] = append(w.lists[key], twice(n)) }

func (w *worker) step(n int) (total int) {
	w.add(strings.Repeat("x", n%17), n)
	for _, list := range w.lists {
		sort.Slice(list, func(i, j int) bool { return mix(list[i], 3) < mix(list[j], 3) })
		for _, item := range list {
			total += twice(item)
		}
	}
	return total
}

func main() {
	w := worker{lists: map[string][]int{}}
	total := 0
	for i := range 1000 {
		total += w.step(i)
	}
	fmt.Fprintln(os.Stdout, total)
}
