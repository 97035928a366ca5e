// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package connections limits the memory of a server that no request counts: that of connections without a request, and of
// headers. It also serves the handlers of components whose own servers have no such limits.
package connections // import "github.com/otelpprof/otelpprof/internal/connections"

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

// MaxWaiting is how many connections may have no request in progress. One that is sending a header of many short fields takes up to
// 0.4 MiB meanwhile, so all of them take 50 MiB.
const MaxWaiting = 128

// maxStreams is how many requests a connection over HTTP/2 may have.
const maxStreams = 100

// limiter closes connections of a server that has too many. It first closes connections that have not sent a request, then idle
// ones, the oldest first. If all have a request in progress, it closes the new one, and ends requests that have stalled.
//
// A listener that stops accepting instead, as that of golang.org/x/net/netutil, would let a few silent clients shut out all others.
type limiter struct {
	most         int
	closed, full func()

	mu sync.Mutex
	// all has each connection with its place in fresh or idle, or nil while a request is in progress.
	all         map[net.Conn]place
	fresh, idle list.List
}

type place struct {
	queue   *list.List
	element *list.Element
}

// Limit sets the limits of headers and connections for a server that has its handler, and does not serve yet. It can have so many
// connections. It calls closed for each connection that it closes because there are too many, and full if all others have a request in
// progress: full ends requests that have stalled, so that their clients do not shut out all others.
func Limit(server *http.Server, most int, closed, full func()) {
	l := &limiter{most: most, closed: closed, full: full, all: map[net.Conn]place{}}
	server.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams,
		// What arrives before a handler reads it. By default, it is 1 MiB.
		MaxReceiveBufferPerConnection: 128 << 10,
		// It is less, so that a request that waits for memory does not stop the others of its connection.
		MaxReceiveBufferPerStream: 96 << 10,
	}
	server.ConnState = l.changed
	server.MaxHeaderBytes = MaxHeaderBytes - headerSlack
	server.Handler = limitFields(server.Handler)
	server.RegisterOnShutdown(func() { time.AfterFunc(ShutdownGrace, l.closeFresh) })
}

// closeFresh closes the connections that have not sent a request. A server that shuts down would wait 5 seconds for them.
func (l *limiter) closeFresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.fresh.Len() > 0 {
		l.close(l.fresh.Front())
	}
}

// changed is told of each new state of a connection.
func (l *limiter) changed(c net.Conn, state http.ConnState) {
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
		l.wait(c, &l.fresh)
	case http.StateIdle:
		l.wait(c, &l.idle)
	case http.StateActive:
		l.all[c] = place{}
	case http.StateClosed, http.StateHijacked:
		delete(l.all, c)
	}
}

// wait adds a connection without a request, and closes one if there are too many. The lock is held.
func (l *limiter) wait(c net.Conn, queue *list.List) {
	l.all[c] = place{queue, queue.PushBack(c)}
	if len(l.all) > l.most || l.fresh.Len()+l.idle.Len() > MaxWaiting {
		l.closeOne()
	}
}

// closeOne closes a connection. The lock is held, and at least one connection is fresh or idle.
func (l *limiter) closeOne() {
	first := l.fresh.Front()
	switch {
	case l.fresh.Len() <= 1 && l.idle.Len() > 0:
		first = l.idle.Front()
	case l.fresh.Len() == 1:
		go l.full() // It may wait for a connection that waits for the lock.
	}
	l.closed()
	l.close(first)
}

// close closes a connection that is fresh or idle. The lock is held.
func (l *limiter) close(waiting *list.Element) {
	c := waiting.Value.(net.Conn)
	l.all[c].queue.Remove(waiting)
	delete(l.all, c)
	// TLS tells the peer, which may not read. That can take seconds.
	go c.Close()
}
