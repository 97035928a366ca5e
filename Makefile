# Copyright The otelpprof Authors
# SPDX-License-Identifier: Apache-2.0
#
# Needs Go, a C compiler (test-race only), make, bash and git. `make help` lists what there is.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS   += --no-print-directory

GO      ?= go
# The distribution with all components, which tests, images and releases use, and the one that is built in half the time.
BINARY  := $(CURDIR)/_build/full/otelcol-pprof
SMALL   := $(CURDIR)/_build/otelcol-pprof
TOOLS   := $(CURDIR)/.tools
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)
# The alpha gate of the Collector that every pipeline of profiles needs.
GATE    := --feature-gates=service.profilesSupport
# The version is given by hand, so that a build in a bare copy of the tree works as well.
export GOFLAGS += -buildvcs=false

# What tests run on; narrow it for a part: make test PKGS=./translator/...
PKGS      ?= ./...
TESTFLAGS ?=
# A package may take so long: on a busy machine the largest take minutes.
TIMEOUT   := -timeout 30m
# What make check and make bench-paired compare with.
BASE      ?= HEAD
# Executions of each fuzz target, and measurements of each benchmark.
FUZZTIME  ?= 100000x
BENCHCOUNT ?= 6
BENCHTIME  ?= 0.5s
# More options of test/clients/speed, such as -uploads 100 for a shorter run.
SPEEDFLAGS ?=
# How long bench-latency sends uploads.
DURATION ?= 1m
# How long uploads are sent while faults happen.
SOAK_DURATION ?= 15m
# Where the figures go; empty is nowhere.
SOAK_REPORT ?= docs/reliability.md
# The database of known vulnerabilities.
VULNDB ?= https://vuln.go.dev
# Uploads of the steady state run, and of the one with kills.
N         ?= 20000
UPLOADS   ?= 10000

# Tests and tools have modules of their own, so that what they depend on stays out of the bundle: test is for the built
# distribution and for tools, the others need heavy dependencies.
TEST_MODULES := test test/clients test/kafka test/deploy test/cluster test/interop test/interop/peer

# The programs of Kubernetes that test/cluster needs, which are dear to build, and kept outside of the tree.
KUBERNETES_VERSION := $(shell awk '$$1 == "k8s.io/kubernetes" {print $$2}' test/cluster/go.mod)
KUBERNETES         := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/otelpprof/kubernetes-$(KUBERNETES_VERSION)
KUBERNETES_PROGRAMS := $(addprefix $(KUBERNETES)/,kube-apiserver kube-controller-manager)

# Components that need heavy dependencies have modules of their own as well. Their paths lie below that of the bundle.
COMPONENT_MODULES := exporter/profileviewexporter extension/targetdiscoveryextension processor/profilesymbolizer
# Built as the distribution is, their dependencies are compiled once for both.
AS_BUILT := CGO_ENABLED=0 GOFLAGS='$(GOFLAGS) -trimpath'

# The tools that are built for a target, run from the root of the tree: $(call tool,NAME).
tool    = _build/tools/$(1)
SUMMARY := $(call tool,testsummary)

GO_SOURCES := $(shell find . -path ./_build -prune -o -path ./.tools -prune -o -path ./test -prune -o \( -name '*.go' ! -name '*_test.go' -o -path './exporter/*' \( -name '*.html' -o -name '*.css' -o -name '*.js' \) \) -print)

##@ Use it

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: $(SMALL) ## Build the distribution as _build/otelcol-pprof, without Kubernetes, Kafka and OTTL (builder-config.yaml)

.PHONY: build-full
build-full: $(BINARY) ## Build the distribution with all components as _build/full/otelcol-pprof (builder-config.full.yaml)

.PHONY: generate-sources
generate-sources: _build/full/modules $(TOOLS)/builder ## Write the main package of the full distribution to _build/full without building it, for releases
	@env dist.version=$(VERSION) $(TOOLS)/builder --config builder-config.full.yaml --skip-get-modules --skip-compilation

.PHONY: run
run: $(SMALL) ## Run it with config/demo.yaml, all on loopback (builds first if needed)
	@echo
	@echo 'Post a pprof to  http://127.0.0.1:4040/v1/pprof'
	@echo 'Files appear in  ./profiles/<service.name>/'
	@echo 'Look at them at  http://127.0.0.1:4041/ : the first flame graph, of the Collector itself, is there in half a minute'
	@echo 'In another terminal:'
	@echo
	@echo "  curl -i --data-binary @testdata/pprof/cpu.pb.gz 'http://127.0.0.1:4040/v1/pprof?service.name=checkout'"
	@echo '  go tool pprof -top -nodecount=10 profiles/checkout/cpu/*.pb.gz'
	@echo
	@echo 'Ctrl-C stops it.'
	@echo
	@exec $(SMALL) --config config/demo.yaml $(GATE)

.PHONY: demo
demo: $(SMALL) $(call tool,demo) ## Do the same without a person: upload, compare what was written, show it, stop
	@$(call tool,demo) -binary $(SMALL)

.PHONY: demo-splunk
demo-splunk: $(SMALL) $(call tool,demo) ## Send what Splunk's agents for Java, Node.js, Python and .NET sent, and show the files
	@$(call tool,demo) -splunk -binary $(SMALL)

##@ Prove it

.PHONY: check
check: $(TOOLS)/gofumpt ## What a commit must pass at least: all compiles, and what changed since BASE has its format and passes its short tests
	@$(GO) build ./...
	@files=$$(git diff --name-only --diff-filter=d $(BASE) -- '*.go'); [ -z "$$files" ] || { \
		unformatted=$$($(TOOLS)/gofumpt -l $$files); [ -z "$$unformatted" ] || { echo "Run make format: $$unformatted"; exit 1; }; \
		packages=$$(dirname $$files | sort -u | sed -E '\%^(test$(foreach module,$(COMPONENT_MODULES),|$(module)))(/|$$)%d; s%^%./%'); \
		[ -z "$$packages" ] || { $(GO) vet $$packages; $(GO) test -short $$packages; }; }

# Go's cache of results does not see what a test reads outside of its module: the binary and the documents.
.PHONY: test
test: $(BINARY) $(SUMMARY) ## Unit, golden, property and end-to-end tests (the latter against the built binary)
	@packages=$$({ $(GO) list $(PKGS); [ '$(PKGS)' != ./... ] || for module in $(COMPONENT_MODULES) test; do $(GO) -C $$module list ./...; done; } | wc -l); \
	{ status=0; \
		$(GO) test -json $(TIMEOUT) $(TESTFLAGS) $(PKGS) || status=1; \
		[ '$(PKGS)' != ./... ] || for module in $(COMPONENT_MODULES); do \
			$(AS_BUILT) $(GO) -C $$module test -json $(TIMEOUT) $(TESTFLAGS) ./... || status=1; \
		done; \
		[ '$(PKGS)' != ./... ] || OTELPPROF_BINARY=$(BINARY) $(GO) -C test test -json -count=1 $(TIMEOUT) $(TESTFLAGS) ./... || status=1; \
		exit $$status; \
	} | $(SUMMARY) -packages $$packages

.PHONY: test-clients
test-clients: $(BINARY) $(SUMMARY) ## Real profiler clients against the built distribution (Go, and Node.js where it is installed)
	@OTELPPROF_BINARY=$(BINARY) $(GO) -C test/clients test -json -count=1 $(TIMEOUT) $(TESTFLAGS) ./... | $(SUMMARY)

.PHONY: test-deploy
test-deploy: $(BINARY) $(SUMMARY) ## Dockerfile, manifests, Helm values, dashboard and alerts, without a cluster or a container engine
	@OTELPPROF_BINARY=$(BINARY) $(GO) -C test/deploy test -json -count=1 $(TIMEOUT) $(TESTFLAGS) . | $(SUMMARY)

.PHONY: test-image
test-image: ## Build the image of the Dockerfile and run it, read-only and in 300 MiB (root, buildah, podman and crun)
	@$(GO) -C test/deploy test -v -count=1 $(TIMEOUT) $(TESTFLAGS) ./image

# The lines of contrib.txt go to the sections that they name.
_build/contrib.yaml: test/newcomer/contrib.txt builder-config.full.yaml
	@mkdir -p _build
	@awk 'FNR == NR {if (!/^#/) more[$$1 ":"] = more[$$1 ":"] "  - gomod: " $$2 " " $$3 "\n"; next} {print} $$0 in more {printf "%s", more[$$0]}' $^ | sed 's|_build/full|_build/contrib|' >$@

.PHONY: test-contrib
test-contrib: _build/contrib.yaml $(TOOLS)/builder ## Compile all our components beside those of test/newcomer/contrib.txt, and list them (half an hour of CPU)
	@$(TOOLS)/builder --config $< --skip-strict-versioning=false --skip-compilation
	@cd _build/contrib && export $(AS_BUILT) && $(GO) build -v -ldflags '-s -w' -o otelcol-pprof . 2>&1 | $(call PROGRESS,.)
	@listed=$$(_build/contrib/otelcol-pprof components); \
	for name in pprof splunk_log_profile profile_deduplicator profile_view memory_budget target_discovery prometheus hostmetrics spanmetrics; do \
		grep -qE "name: $$name\$$" <<<"$$listed" || { echo "$$name is not in the Collector"; exit 1; }; \
	done; echo "The Collector starts, with $$(grep -c 'name:' <<<"$$listed") components"

.PHONY: test-interop
test-interop: $(BINARY) $(SUMMARY) ## The built distribution against senders and receivers of older and newer versions of pdata
	@OTELPPROF_BINARY=$(BINARY) $(GO) -C test/interop test -json -count=1 $(TIMEOUT) $(TESTFLAGS) ./... | $(SUMMARY)

.PHONY: test-kafka
test-kafka: $(BINARY) $(SUMMARY) ## Two tiers around a Kafka broker that runs in the test: partitions by service, kill -9, nothing lost
	@OTELPPROF_BINARY=$(BINARY) $(GO) -C test/kafka test -json -count=1 $(TIMEOUT) $(TESTFLAGS) ./... | $(SUMMARY)

.PHONY: test-cluster
test-cluster: $(BINARY) $(KUBERNETES_PROGRAMS) ## The manifests and the built distribution with the API server of Kubernetes, which is built once (root, etcd, kubectl; ten minutes of CPU)
	@rm -rf _build/charts
	@OTELPPROF_CHARTS=$(CURDIR)/_build/charts $(GO) -C test/deploy test -count=1 -run '^TestChartWritten$$' .
	@OTELPPROF_BINARY=$(BINARY) OTELPPROF_KUBERNETES=$(KUBERNETES) OTELPPROF_CHARTS=$(CURDIR)/_build/charts \
		$(GO) -C test/cluster test -v -count=1 $(TIMEOUT) $(TESTFLAGS) .

.PHONY: test-cluster-built
test-cluster-built: ## The same where that API server is built, and etcd and kubectl are installed
	@[ "$$(id -u)" = 0 ] || { echo "Not checked: the manifests in a cluster, which needs root, see make test-cluster"; exit 0; }; \
	for program in $(KUBERNETES_PROGRAMS) etcd kubectl; do \
		command -v $$program >/dev/null || { echo "Not checked: the manifests in a cluster, for want of $$program, see make test-cluster"; exit 0; }; \
	done; $(MAKE) test-cluster

# The name of the directory has the version: nothing else makes them anew.
$(KUBERNETES)/%:
	@echo "Building $* $(KUBERNETES_VERSION) into $(KUBERNETES)"
	@mkdir -p $(KUBERNETES)
	@CGO_ENABLED=0 $(GO) -C test/cluster build -trimpath -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(KUBERNETES_VERSION)' -o $@ k8s.io/kubernetes/cmd/$*

# The heart: code without goroutines of its own, much dearer under the race detector. What it shares are pools.
HEART := /(translator|internal/(attributevalue|dedup|dictionary|memory/meter|wire|testkit/profiletest))(/|$$)
# make lint vets all; make test-386 vets what only differs there.
NO_VET := -vet=off

.PHONY: test-race
test-race: $(SUMMARY) ## The same under the race detector, without the end-to-end tests; of the heart the concurrent ones
	@{ status=0; export CGO_ENABLED=1; \
		$(GO) test -json -race $(NO_VET) $(TIMEOUT) $(TESTFLAGS) $$($(GO) list $(PKGS) | grep -Ev '$(HEART)') || status=1; \
		$(GO) test -json -race $(NO_VET) $(TIMEOUT) $(TESTFLAGS) -run Concurrent $$($(GO) list $(PKGS) | grep -E '$(HEART)') || status=1; \
		[ '$(PKGS)' != ./... ] || { \
			$(GO) -C exporter/profileviewexporter test -json -race $(NO_VET) $(TIMEOUT) $(TESTFLAGS) ./... || status=1; \
			$(GO) -C processor/profilesymbolizer test -json -race $(NO_VET) $(TIMEOUT) $(TESTFLAGS) . ./internal/source ./internal/upload || status=1; \
		}; \
		exit $$status; \
	} | $(SUMMARY)

.PHONY: test-386
test-386: $(SUMMARY) ## The tests of all that counts bytes and indices as a 32-bit program (amd64 Linux runs it); all else compiles
	@GOARCH=386 CGO_ENABLED=0 $(GO) vet ./...
	@GOARCH=386 CGO_ENABLED=0 $(GO) test -json $(NO_VET) $(TIMEOUT) $(TESTFLAGS) ./translator/... $(foreach package,\
		dedup dictionary memory memory/meter scratch wire/inflate wire/otlpwire wire/pprofwire,./internal/$(package)) | $(SUMMARY)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME executions each (FUZZTIME=100000x)
	@grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r directory; do \
		listed=$$($(GO) -C $$directory test -list '^Fuzz' .); \
		for target in $$(grep '^Fuzz' <<<"$$listed"); do \
			echo "== $$directory $$target"; \
			$(GO) -C $$directory test . -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; \
		done; \
	done

.PHONY: adversary
adversary: $(BINARY) ## All hostile bodies to each shipped configuration, and the tables of docs/security.md and docs/operations.md (hours); ADVERSARY=gateway/512MiB for a part
	@rm -f _build/adversary.jsonl
	@OTELPPROF_BINARY=$(BINARY) OTELPPROF_ADVERSARY=full OTELPPROF_ADVERSARY_RECORD=$(CURDIR)/_build/adversary.jsonl \
		$(GO) -C test test -count=1 -timeout 24h -v -parallel 1 $(TESTFLAGS) -run '^TestAdversary$$$(addprefix /,$(ADVERSARY))' ./adversary

.PHONY: adversary-ci
adversary-ci: $(BINARY) $(SUMMARY) ## Each of them 8 times at once to two configurations in 512 MiB, and many large honest ones (minutes)
	@OTELPPROF_BINARY=$(BINARY) OTELPPROF_ADVERSARY=ci $(GO) -C test test -json -count=1 -timeout 45m -parallel 1 $(TESTFLAGS) -run '^Test(Adversary|Progress)$$' ./adversary | $(SUMMARY)

.PHONY: durability
durability: $(BINARY) ## UPLOADS uploads while the gateway is killed (kill -9) at random moments: what it accepted arrives (UPLOADS=10000)
	@OTELPPROF_BINARY=$(BINARY) OTELPPROF_DURABILITY_UPLOADS=$(UPLOADS) $(GO) -C test test -count=1 -timeout 90m -v -run '^TestDurability$$' ./e2e

.PHONY: soak
soak: $(BINARY) ## N uploads to the running binary: memory flat, no goroutine left, every one a file (N=20000)
	@OTELPPROF_BINARY=$(BINARY) OTELPPROF_SOAK_UPLOADS=$(N) $(GO) -C test test -count=1 -timeout 60m -v -run '^TestSteadyState$$' ./e2e

.PHONY: soak-faults
soak-faults: $(BINARY) ## Load on all receivers while faults happen; then an account of every upload, in docs/reliability.md (SOAK_DURATION=15m)
	@OTELPPROF_BINARY=$(BINARY) OTELPPROF_FAULTS_DURATION=$(SOAK_DURATION) OTELPPROF_FAULTS_REPORT='$(abspath $(SOAK_REPORT))' \
		$(GO) -C test test -count=1 -timeout 24h -v -run '^TestFaults$$' ./e2e

# The packages with benchmarks: name of the test binary, directory, which ones, for how long. To narrow them:
# make bench-paired BENCHMARKS=translator:translator/pprof:Decode:10x
BENCHMARKS := \
	translator:translator/pprof:.:$(BENCHTIME) \
	dedup:internal/dedup:.:$(BENCHTIME) \
	merge:exporter/profileviewexporter:^BenchmarkWindow$$:$(BENCHTIME) \
	pages:exporter/profileviewexporter:^BenchmarkServerPages$$:$(BENCHTIME) \
	held:exporter/profileviewexporter:^BenchmarkServerHeld$$:1x \
	deduplicator:processor/profilededuplicator:^BenchmarkBatch$$/././^op=batch$$:1x \
	splunk:translator/splunk:.:$(BENCHTIME) $(foreach format,collapsed speedscope perfscript,$(format):translator/text/$(format):.:$(BENCHTIME)) \
	clients:test/clients:^BenchmarkJFR$$:$(BENCHTIME) \
	index:processor/profilesymbolizer/internal/symbols:.:$(BENCHTIME) \
	names:processor/profilesymbolizer:.:$(BENCHTIME)

field = $(word $(1),$(subst :, ,$(2)))
# Both are for a tree and one of these.
compile = $(GO) -C $(1)/$(call field,2,$(2)) test -c -o $(1)/_build/bench-$(call field,1,$(2)).test .
measure = (cd $(1)/$(call field,2,$(2)) && $(1)/_build/bench-$(call field,1,$(2)).test -test.run '^$$' -test.bench '$(call field,3,$(2))' \
	-test.benchtime $(call field,4,$(2)) -test.cpu 1 -test.benchmem -test.timeout 60m)

.PHONY: bench
bench: $(BINARY) $(call tool,benchtable) $(call tool,sizetable) ## Run the benchmarks and write docs/performance.md (BENCHCOUNT=6)
	@mkdir -p _build docs
	@$(foreach benchmark,$(BENCHMARKS),$(call compile,$(CURDIR),$(benchmark));)
	@# One round after the other, not one benchmark after the other: what disturbs the machine disturbs all sides of a ratio.
	@# One processor: who makes garbage pays for its collection.
	@for round in $$(seq $(BENCHCOUNT)); do \
		$(foreach benchmark,$(BENCHMARKS),$(call measure,$(CURDIR),$(benchmark));) \
	done | tee _build/bench.txt
	@$(call tool,benchtable) -command 'make bench BENCHCOUNT=$(BENCHCOUNT)' <_build/bench.txt >_build/performance.md
	@$(call tool,sizetable) >>_build/performance.md
	@$(GO) -C test/clients run ./speed -binary $(BINARY) -rounds $(BENCHCOUNT) $(SPEEDFLAGS) >>_build/performance.md
	@mv _build/performance.md docs/performance.md
	@echo 'Wrote docs/performance.md'

# The tree of BASE, with tools of its own.
BASE_TREE := $(CURDIR)/_build/base

.PHONY: bench-paired
bench-paired: $(BINARY) $(TOOLS)/benchstat ## Compare the commit BASE with this tree, by turns: the benchmarks, and the cost of an upload (BASE=HEAD)
	@git worktree remove --force $(BASE_TREE) 2>/dev/null || rm -rf $(BASE_TREE)
	@git worktree add --quiet --force --detach $(BASE_TREE) $(BASE)
	@$(MAKE) -C $(BASE_TREE) build-full || $(MAKE) -C $(BASE_TREE) build # A commit before build-full has one distribution.
	@$(foreach tree,$(BASE_TREE) $(CURDIR),$(foreach benchmark,$(BENCHMARKS),$(call compile,$(tree),$(benchmark));))
	@rm -f _build/bench-base.txt _build/bench-this.txt
	@for round in $$(seq $(BENCHCOUNT)); do $(foreach benchmark,$(BENCHMARKS), \
		$(call measure,$(BASE_TREE),$(benchmark)) >>_build/bench-base.txt; \
		$(call measure,$(CURDIR),$(benchmark)) >>_build/bench-this.txt;) \
	done
	@$(TOOLS)/benchstat base=_build/bench-base.txt this=_build/bench-this.txt
	@$(GO) -C test/clients run ./speed -binary $(BINARY) -base $$(ls $(BASE_TREE)/_build/{full/,}otelcol-pprof 2>/dev/null | head -n 1) -base-configs $(BASE_TREE)/config -rounds $(BENCHCOUNT) $(SPEEDFLAGS)
	@git worktree remove --force $(BASE_TREE)

.PHONY: bench-latency
bench-latency: $(BINARY) ## Upload at half of the capacity for DURATION, and write docs/latency.md: does an upload take longer with time? (DURATION=1m)
	@$(GO) -C test/clients run ./speed -binary $(BINARY) -steady $(DURATION) $(SPEEDFLAGS) | tee _build/latency.md
	@mv _build/latency.md docs/latency.md

.PHONY: lint
lint: $(TOOLS)/golangci-lint check-tidy ## Lint, check the format and each go.mod of the bundle, of its tests and tools
	@$(TOOLS)/golangci-lint run --allow-parallel-runners $(PKGS)
	@if [ '$(PKGS)' = ./... ]; then cd test && $(TOOLS)/golangci-lint run --allow-parallel-runners ./...; fi
	@if [ '$(PKGS)' = ./... ]; then for module in $(COMPONENT_MODULES); do \
		(cd $$module && $(AS_BUILT) $(TOOLS)/golangci-lint run --allow-parallel-runners ./...) || exit 1; \
	done; fi

.PHONY: lint-all
lint-all: lint ## The same, and all other modules
	@for module in $(filter-out test,$(TEST_MODULES)); do (cd $$module && $(TOOLS)/golangci-lint run --allow-parallel-runners ./...); done

.PHONY: validate
validate: $(BINARY) $(SMALL) $(call tool,validateconfigs) ## Check each YAML under config/, that of the packages, and each configuration in a README with the built binaries
	@$(call tool,validateconfigs) -binary $(BINARY) -small $(SMALL)

# govulncheck sees which functions are linked in only if the binary has its symbols. Calls in the source it finds too, but that
# takes 6 GB for the whole Collector.
.PHONY: check-vulnerabilities
check-vulnerabilities: _build/full/modules $(TOOLS)/govulncheck ## Fail if the distribution has a function with a known vulnerability (REQUIRE_VULNDB=1: also without the database)
	@if ! $(TOOLS)/govulncheck -db $(VULNDB) -version | grep -q '^DB updated: '; then \
		echo 'Not checked: the database of vulnerabilities $(VULNDB) does not answer'; \
		[ -z '$(REQUIRE_VULNDB)' ]; exit; \
	fi; \
	$(AS_BUILT) $(GO) -C _build/full build -o with-symbols .; \
	$(TOOLS)/govulncheck -db $(VULNDB) -mode binary _build/full/with-symbols

.PHONY: sbom
sbom: $(BINARY) $(call tool,inventory) ## Write the modules of the distribution with their licences as CycloneDX, _build/sbom.cdx.json; fail if a licence is not known
	@$(call tool,inventory) -binary $(BINARY) >_build/sbom.cdx.json
	@echo 'Wrote _build/sbom.cdx.json'

.PHONY: reproducible
reproducible: $(TOOLS)/builder ## Build a copy of the tree as usual, one elsewhere with an empty build cache, and compare
	@directory=$$(mktemp -d); trap 'rm -rf $$directory' EXIT; \
	one=$$directory/one; other=$$directory/another/with/a/longer/path; mkdir -p $$one $$(dirname $$other); \
	git ls-files -z -c --deduplicate ':!**/.tools/**' | xargs -0 cp -p --parents -t $$one; \
	cp -pr $$one $$other; \
	$(MAKE) -C $$one build-full TOOLS=$(TOOLS) VERSION=$(VERSION); \
	GOCACHE=$$directory/cache $(MAKE) -C $$other build-full TOOLS=$(TOOLS) VERSION=$(VERSION); \
	sha256sum $$one/_build/full/otelcol-pprof $$other/_build/full/otelcol-pprof; \
	cmp $$one/_build/full/otelcol-pprof $$other/_build/full/otelcol-pprof

##@ Work on it

.PHONY: format
format: $(TOOLS)/gofumpt $(TOOLS)/goimports ## Format all code
	@git ls-files -co --exclude-standard '*.go' | xargs $(TOOLS)/gofumpt -w
	@git ls-files -co --exclude-standard '*.go' | xargs $(TOOLS)/goimports -w -local github.com/otelpprof/otelpprof

.PHONY: generate
generate: $(TOOLS)/mdatagen $(TOOLS)/gofumpt $(TOOLS)/goimports ## Make the generated code and documents anew
	@for module in . $(COMPONENT_MODULES); do PATH="$(TOOLS):$$PATH" $(GO) -C $$module generate ./... || exit 1; done
	@# mdatagen also writes tests of what its templates make, nine times the same, and a function for each metric that compares it
	@# with what the same metadata.yaml says. Tests compare data points by internal/testkit/metrictest.
	@rm -rf $$(git ls-files -co --exclude-standard '*/internal/metadata/generated_*_test.go') */*/internal/metadatatest
	@# mdatagen has no URL for the distribution, and leaves its link empty.
	@sed -i 's|^\[otelcol-pprof\]: *$$|[otelcol-pprof]: ../../builder-config.full.yaml|' $$(git ls-files '*/*/README.md')
	@$(MAKE) format

.PHONY: schema
schema: ## Write the schemas of the components' configurations, config/schema.json for editors, and the golden errors of test/configuration
	@$(GO) -C test test -count=1 ./configuration -update

.PHONY: check-generated
check-generated: ## Generate, and fail if that changed or added a file
	@before=$$(git status --porcelain -uall; git diff HEAD | git hash-object --stdin); \
	$(MAKE) generate; \
	after=$$(git status --porcelain -uall; git diff HEAD | git hash-object --stdin); \
	if [ "$$before" != "$$after" ]; then \
		git status --short; git --no-pager diff --stat; \
		echo 'Generated files are out of date: run `make generate` and commit'; exit 1; \
	fi

.PHONY: tidy
tidy: ## Tidy the go.mod files
	@for module in . internal/tools $(COMPONENT_MODULES) $(TEST_MODULES); do $(GO) -C $$module mod tidy; done

.PHONY: check-tidy
check-tidy: ## Fail if a go.mod is not tidy; that of test/cluster is for its own workflow, since it needs all of Kubernetes
	@for module in . internal/tools $(COMPONENT_MODULES) $(filter-out test/cluster,$(TEST_MODULES)); do $(GO) -C $$module mod tidy -diff; done

.PHONY: clean
clean: ## Remove what was built and the profiles of the demo (tools stay: rm -r .tools)
	@rm -rf _build profiles

# Go knows whether a tool is up to date.
.PHONY: FORCE
_build/tools/%: FORCE
	@$(GO) -C test build -o $(CURDIR)/$@ ./tools/$*

# A build takes minutes: count the packages that go build -v names, and pass on what else it says.
PROGRESS = awk -v all=$$($(GO) list -deps $(1) | wc -l) \
	'NF > 1 {print; next} ++compiled % 100 == 0 {print "  compiled " compiled " packages of at most " all; fflush()}'

# The builder resolves the modules when the manifest or go.mod changed; else it only writes the few files of the main
# package again (the version is in there).
define DISTRIBUTION
$(CURDIR)/$(1)/otelcol-pprof: $(1)/modules $(GO_SOURCES) $(TOOLS)/builder
	@env dist.version=$(VERSION) $(TOOLS)/builder --config $(2) --skip-get-modules --skip-compilation
	@echo "Compiling $(1)/otelcol-pprof"
	@cd $(1) && export $(AS_BUILT) && $(GO) build -v -ldflags '-s -w' -o otelcol-pprof . 2>&1 | $$(call PROGRESS,.)

$(1)/modules: $(2) go.mod go.sum $(COMPONENT_MODULES:%=%/go.mod) $(TOOLS)/builder
	@echo "Resolving and downloading the modules of $(2)"
	@mkdir -p $(1)
	@$(TOOLS)/builder --config $(2) --skip-strict-versioning=false --skip-compilation
	@touch $$@
endef
$(eval $(call DISTRIBUTION,_build,builder-config.yaml))
$(eval $(call DISTRIBUTION,_build/full,builder-config.full.yaml))

# Each tool is built once, and again when its version changes. `go tool` would link it on every use.
# The names come from go.mod: go list would download all linters for them.
tool_package = $(shell sed -n 's|^\t\(.*/$(1)\)$$|\1|p' internal/tools/go.mod)
$(TOOLS)/%: internal/tools/go.mod internal/tools/go.sum
	@echo "Building $* into .tools/"
	@cd internal/tools && export $(AS_BUILT) && $(GO) build -v -o $@ $(call tool_package,$*) 2>&1 | $(call PROGRESS,$(call tool_package,$*))
	@touch $@
