// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package targetdiscoveryextension

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/otelpprof/otelpprof/internal/testkit/must"
)

// ownNamespace is set where the test runs in a namespace of its own.
const ownNamespace = "OTELPPROF_OWN_NAMESPACE"

// requireNamespaces is set where processes can have namespaces: there the test must run.
const requireNamespaces = "OTELPPROF_REQUIRE_NAMESPACES"

// TestDNS runs runDNS in another process with a mount and a network namespace: Prometheus asks the servers of
// /etc/resolv.conf, at port 53.
func TestDNS(t *testing.T) {
	if os.Getenv(ownNamespace) != "" {
		runDNS(t)
		return
	}
	t.Parallel()
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDNS$", "-test.v")
	command.Env = append(os.Environ(), ownNamespace+"=1")
	command.SysProcAttr = attributes
	output, err := command.CombinedOutput()
	if command.Process == nil && os.Getenv(requireNamespaces) == "" {
		t.Skipf("a process cannot have namespaces of its own here: %v", err)
	}
	require.NoError(t, err, string(output))
}

// nameServer answers as a test says.
type nameServer struct {
	mu      sync.Mutex
	records map[string][]string
	// code is the answer for names without records.
	code int
	// silent says that questions wait for an answer, in held.
	silent bool
	held   []func()
}

// startNameServer makes a server the only one of this namespace.
func startNameServer(t *testing.T) *nameServer {
	t.Helper()
	raiseLoopback(t)
	configuration := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(configuration, []byte("nameserver 127.0.0.1\n"), 0o600))
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	require.NoError(t, unix.Mount(configuration, "/etc/resolv.conf", "", unix.MS_BIND, ""))
	n := &nameServer{records: map[string][]string{}, code: dns.RcodeNameError}
	t.Cleanup(func() { waitForLookups(t) })
	started := make(chan struct{})
	server := &dns.Server{Addr: "127.0.0.1:53", Net: "udp", Handler: n, NotifyStartedFunc: func() { close(started) }}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case <-started:
	case err := <-ended:
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, server.Shutdown()) })
	return n
}

// waitForLookups waits for lookups that were in progress at the end of a test: nobody answers them any more, so they end after the
// timeout of the resolver.
func waitForLookups(t *testing.T) {
	t.Helper()
	var err error
	for begin := time.Now(); time.Since(begin) < 20*time.Second; {
		if err = goleak.Find(); err == nil {
			return
		}
	}
	require.NoError(t, err)
}

// raiseLoopback makes the loopback of a new network namespace work.
func raiseLoopback(t *testing.T) {
	t.Helper()
	socket := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0))(t)
	defer func() { _ = unix.Close(socket) }()
	loopback := must.Get(unix.NewIfreq("lo"))(t)
	loopback.SetUint16(unix.IFF_UP)
	require.NoError(t, unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback))
}

// ServeDNS implements [dns.Handler].
func (n *nameServer) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	n.mu.Lock()
	defer n.mu.Unlock()
	reply := func() {
		answer := new(dns.Msg).SetReply(question)
		answer.Rcode = n.code
		for _, text := range n.records[question.Question[0].Name] {
			record, err := dns.NewRR(question.Question[0].Name + " 1 IN " + text)
			if err == nil {
				answer.Answer, answer.Rcode = append(answer.Answer, record), dns.RcodeSuccess
			}
		}
		_ = w.WriteMsg(answer)
	}
	if n.silent {
		n.held = append(n.held, reply)
		return
	}
	reply()
}

func (n *nameServer) set(name string, records ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records[name] = records
}

// fail makes the code the answer for names without records.
func (n *nameServer) fail(code int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.code = code
}

// hold keeps all questions without an answer, or answers those that were kept.
func (n *nameServer) hold(silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = silent
	for _, reply := range n.held {
		reply()
	}
	n.held = nil
}

func (n *nameServer) waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.held)
}

// runDNS: targets come, change and go with records; a server that fails or is silent changes nothing, and delays no stop.
func runDNS(t *testing.T) {
	t.Helper()
	n := startNameServer(t)
	const checkout, cart = "_debug._tcp.checkout.shop.test.", "cart.shop.test."
	n.set(checkout, "SRV 0 0 6061 one.shop.test.", "SRV 0 0 6062 other.shop.test.")
	n.set(cart, "A 10.0.0.1", "A 10.0.0.2")
	r := run(t, `
dns_sd_configs:
  - {names: [_debug._tcp.checkout.shop.test], refresh_interval: 50ms, type: SRV}
  - {names: [cart.shop.test], type: A, port: 6060, refresh_interval: 50ms}
relabel_configs:
  - {source_labels: [__meta_dns_name], regex: "(?:_debug._tcp.)?([^.]+).*", target_label: service.name}
`)
	r.wait(t, "10.0.0.1:6060", "10.0.0.2:6060", "one.shop.test:6061", "other.shop.test:6062")
	assert.Equal(t, "cart", r.service(0))
	assert.Equal(t, "checkout", r.service(3))

	n.set(cart, "A 10.0.0.3", "A 10.0.0.1")
	n.set(checkout, "SRV 0 0 6063 one.shop.test.")
	r.wait(t, "10.0.0.1:6060", "10.0.0.3:6060", "one.shop.test:6063")

	n.fail(dns.RcodeServerFailure)
	n.set(cart)
	r.waitErr(t, `dns_sd_configs[1]: error refreshing DNS targets: could not resolve "cart.shop.test"`)
	eventually(t, func() bool { return r.count("failures", "dns") > 1 })
	assert.Equal(t, 1, r.logs.FilterMessage("Cannot discover targets, the last known ones stay").Len(), "logged once")
	assert.Len(t, r.addresses(), 3, "the last known targets stay")

	n.fail(dns.RcodeNameError)
	r.wait(t, "one.shop.test:6063")
	eventually(t, func() bool { return r.host.err() == nil })

	n.hold(true)
	defer n.hold(false)
	eventually(t, func() bool { return r.host.err() != nil })
	assert.Equal(t, []string{"one.shop.test:6063"}, r.addresses(), "the last known targets stay")
	asked := n.waiting()
	eventually(t, func() bool { return n.waiting() > asked })
	require.NoError(t, r.Shutdown(context.Background()))
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	assert.Contains(t, string(stacks), "dns.lookupWithSearchPath", "it does not wait for a lookup, which takes 2 s without an answer")
}
