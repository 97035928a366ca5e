// Copyright The otelpprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/otelpprof/otelpprof/internal/testkit/gateway"
)

const (
	// patience is how long a gateway may take to end, or to work on what it has.
	patience = time.Minute
	// A gateway is idle when it takes less than idleTime of a processor in idleFor, which is longer than a batch waits.
	idleFor  = 400 * time.Millisecond
	idleTime = 5 * time.Millisecond
)

// gateways are processes of the built distribution, and the destinations of all: an HTTP server and a broker.
type gateways struct {
	binary      string
	destination *http.Server
	address     string       // of the destination
	received    atomic.Int64 // bytes of bodies
	// broker drops records, keeping keeps them for who reads them.
	broker, keeping *kfake.Cluster
	directory       string
	all             []*measured
}

// measured is one process.
type measured struct {
	*gateway.Gateway
	name string
	// receivers has the addresses of its receivers.
	receivers      []string
	profiler, page string
}

// newGateways starts the destinations. The caller must stop it, also after an error.
func newGateways(binary string) (g *gateways, err error) {
	g = &gateways{binary: binary}
	if g.directory, err = os.MkdirTemp("", "speed"); err != nil {
		return g, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return g, err
	}
	g.address = listener.Addr().String()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	g.destination = &http.Server{ReadHeaderTimeout: patience, Protocols: protocols, Handler: http.HandlerFunc(g.accept)}
	go func() { _ = g.destination.Serve(listener) }()
	if g.broker, err = startBroker(); err != nil {
		return g, err
	}
	g.keeping, err = newBroker()
	return g, err
}

// newDirectory creates the working directory of the next process.
func (g *gateways) newDirectory() (string, error) {
	directory := filepath.Join(g.directory, strconv.Itoa(len(g.all)))
	return directory, os.Mkdir(directory, 0o700)
}

// start starts a process with an output.
func (g *gateways) start(ctx context.Context, o output, environment ...string) (*measured, error) {
	directory, err := g.newDirectory()
	if err != nil {
		return nil, err
	}
	addresses, err := gateway.FreeAddresses(ctx, 6)
	if err != nil {
		return nil, err
	}
	values := append(slices.Clone(addresses[:5]), g.address, directory, addresses[5])
	running, err := gateway.Start(ctx, gateway.Options{
		Binary: g.binary, HealthURL: "http://" + addresses[3], Directory: directory, Environment: environment,
		Configs: []string{fillIn(gatewayConfig, values), "yaml:" + fillIn(o.pipeline, values)},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.name, err)
	}
	m := &measured{Gateway: running, name: o.name, receivers: addresses, profiler: addresses[4], page: addresses[5]}
	g.all = append(g.all, m)
	return m, nil
}

// accept takes a message over HTTP or gRPC without a look at it.
func (g *gateways) accept(w http.ResponseWriter, request *http.Request) {
	n, _ := io.Copy(io.Discard, request.Body)
	g.received.Add(n)
	if request.Header.Get("Content-Type") != "application/grpc" {
		w.Header().Set("Content-Type", "application/x-protobuf")
		return
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	_, _ = w.Write(make([]byte, 5)) // an empty message
	w.Header().Set("Grpc-Status", "0")
}

// stop ends all of them.
func (g *gateways) stop() (err error) {
	for _, m := range g.all {
		err = errors.Join(err, m.Stop(patience))
	}
	if g.destination != nil {
		err = errors.Join(err, g.destination.Close())
	}
	for _, broker := range []*kfake.Cluster{g.broker, g.keeping} {
		if broker != nil {
			broker.Close()
		}
	}
	return errors.Join(err, os.RemoveAll(g.directory))
}

// cost sends uploads and waits until the process is idle again. It returns the CPU time of the process per upload. The process
// must be idle before.
func (m *measured) cost(s *sender, u upload, count int) (time.Duration, error) {
	return m.costOf(count, func() error { return s.send(m.receivers[u.receiver], u, count) })
}

// costOf is cost for uploads that a function sends.
func (m *measured) costOf(count int, send func() error) (time.Duration, error) {
	before, err := gateway.CPUTime(m.PID())
	if err != nil {
		return 0, err
	}
	if err := send(); err != nil {
		return 0, err
	}
	after, err := m.idleCPUTime()
	return (after - before) / time.Duration(count), err
}

// idleCPUTime waits until a process has worked on what it has, and returns its CPU time.
func (m *measured) idleCPUTime() (time.Duration, error) {
	before, err := gateway.CPUTime(m.PID())
	for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
		time.Sleep(idleFor)
		var after time.Duration
		if after, err = gateway.CPUTime(m.PID()); after-before < idleTime {
			return before, err
		}
		before = after
	}
	return 0, errors.Join(err, fmt.Errorf("%s: it is not idle within %s", m.name, patience))
}

// fillIn puts values in the verbs of a configuration, which need not have all.
func fillIn(config string, values []string) string {
	for i, value := range values {
		config = strings.ReplaceAll(config, fmt.Sprintf("%%[%d]s", i+1), value)
	}
	return config
}

// newBroker starts a Kafka broker in this process.
func newBroker() (*kfake.Cluster, error) {
	return kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "otlp_profiles"),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "22000000"})) // as config/kafka-front.yaml has it
}

// startBroker starts a broker that acknowledges records without keeping them, so that its memory does not grow.
func startBroker() (*kfake.Cluster, error) {
	broker, err := newBroker()
	if err != nil {
		return nil, err
	}
	broker.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		return acknowledge(request.(*kmsg.ProduceRequest)), nil, true
	})
	return broker, nil
}

func acknowledge(request *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	response := request.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range request.Topics {
		acknowledged := kmsg.NewProduceResponseTopic()
		acknowledged.Topic, acknowledged.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition = partition.Partition
			acknowledged.Partitions = append(acknowledged.Partitions, p)
		}
		response.Topics = append(response.Topics, acknowledged)
	}
	return response
}
