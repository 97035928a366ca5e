// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package connections limits how many connections a server has. Each takes memory before it has sent a request, which no
// reservation counts.
package connections // import "github.com/otelpprof/otelpprof/internal/connections"

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// MaxHeaderBytes is how large the header of a request may be on a server whose connections are limited.
const MaxHeaderBytes = 32 << 10

// Limit closes connections of a server that has too many. It first closes connections that have not sent a request, then idle
// ones, the oldest first. If all have a request in progress, it closes the new one. Make it with [New].
type Limit struct {
	most   int
	closed func()

	mu sync.Mutex
	// all has each connection with its place in fresh or idle, or nil while a request is in progress.
	all         map[net.Conn]place
	fresh, idle list.List
}

type place struct {
	queue   *list.List
	element *list.Element
}

// New returns a limit of so many connections. It calls closed for each connection that it closes.
func New(most int, closed func()) *Limit {
	return &Limit{most: most, closed: closed, all: map[net.Conn]place{}}
}

// Apply sets the limit for a server that does not serve yet.
func (l *Limit) Apply(server *http.Server) {
	server.ConnState = l.changed
	server.MaxHeaderBytes = MaxHeaderBytes
}

// changed is told of each new state of a connection.
func (l *Limit) changed(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, open := l.all[c]
	if !open && state != http.StateNew {
		return // It was closed here.
	}
	if known.element != nil {
		known.queue.Remove(known.element)
	}
	switch state {
	case http.StateNew:
		l.all[c] = place{&l.fresh, l.fresh.PushBack(c)}
		if len(l.all) > l.most {
			l.closeOne()
		}
	case http.StateIdle:
		l.all[c] = place{&l.idle, l.idle.PushBack(c)}
	case http.StateActive:
		l.all[c] = place{}
	case http.StateClosed, http.StateHijacked:
		delete(l.all, c)
	}
}

// closeOne closes a connection. The lock is held, and at least one connection is fresh.
func (l *Limit) closeOne() {
	first := l.fresh.Front()
	if l.fresh.Len() == 1 && l.idle.Len() > 0 {
		first = l.idle.Front()
	}
	c := first.Value.(net.Conn)
	p := l.all[c]
	p.queue.Remove(first)
	delete(l.all, c)
	l.closed()
	// TLS tells the peer, which may not read. That can take seconds.
	go c.Close()
}
