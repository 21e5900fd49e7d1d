# mcprelay: what one can do here. `make` prints this list.
SHELL      := /bin/bash
FUNCTIONS  := $(notdir $(wildcard functions/*))
GOARCH     ?= arm64
# A count of inputs, since a fuzz run that a clock ends can report the clock as
# the failure (golang/go#75804).
FUZZTIME   ?= 5000x
BUILDFLAGS := -trimpath -ldflags='-s -w'
PEERS      := go run ./test/peers/run --
export SAM_CLI_TELEMETRY := 0

.DEFAULT_GOAL := help
.PHONY: help run test lint check build bench mutate conformance setup fuzz soak clean $(addprefix function-,$(FUNCTIONS))

help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: bin/relay ## start the local relay with its demo server and make one call (ONCE=1: stop after it)
	@exec ./bin/relay serve --demo --tour $(if $(filter 1,$(ONCE)),--once)

test: setup ## everything, with the race detector, against real emulators and MCP servers
	@rm -rf .cache/contract-counts
	$(PEERS) go test -race -count=1 -timeout 20m ./...
	$(MAKE) --no-print-directory fuzz

check: lint test ## lint, then test

lint: setup ## format, vet, staticcheck, template lint, layout rules
	@unformatted=$$(gofmt -l cmd functions shared test); test -z "$$unformatted" || { echo "not gofmt-ed: $$unformatted"; exit 1; }
	go vet ./...
	.cache/bin/staticcheck ./...
	.cache/venv/bin/cfn-lint -t template.yaml -r us-east-1
	go test -count=1 ./test/arch

build: bin/relay $(addprefix function-,$(FUNCTIONS)) ## the command, and every function's bootstrap for $(GOARCH)

bench: setup ## direct, a bare forwarder and the relay, measured side by side in one run
	go run ./test/bench

mutate: ## change the deciding packages in small ways, one by one, and list what their tests overlook
	go run ./test/mutate shared/policy shared/auth shared/token

conformance: setup ## the official conformance suite against the relay (part of test)
	go test -count=1 -v ./test/conformance

fuzz: ## every fuzz target, $(FUZZTIME) inputs each
	@set -e; for package in $$(grep -rl '^func Fuzz' --include='*_test.go' shared test | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$package/*_test.go | sed 's/^func //' | sort -u); do \
	    echo "fuzz $$package $$target"; go test ./$$package -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=100x > .cache/fuzz.log 2>&1 || { cat .cache/fuzz.log; exit 1; }; \
	  done; done

soak: ## 100,000 random pairs of tenants, of which neither sees a word of the other
	go test -count=1 -v -run '^TestNoTenantSeesAWordOfTheOther$$' ./test/tenants

setup: ## install the emulators and tools that the tests use, pinned, under .cache
	@bash test/peers/setup.sh

clean: ## remove what was built and installed here
	rm -rf bin .cache .aws-sam

bin/relay: $(shell find cmd shared -name '*.go' -not -name '*_test.go') go.mod
	CGO_ENABLED=0 go build $(BUILDFLAGS) -o $@ ./cmd/relay

$(addprefix function-,$(FUNCTIONS)): function-%:
	GOOS=linux GOARCH=$(GOARCH) CGO_ENABLED=0 go build -tags lambda.norpc $(BUILDFLAGS) -o bin/functions/$*/bootstrap ./functions/$*

# sam build calls build-<LogicalId>: RelayFunction is functions/relay.
build-%Function:
	GOOS=linux GOARCH=$(GOARCH) CGO_ENABLED=0 go build -tags lambda.norpc $(BUILDFLAGS) -o $(ARTIFACTS_DIR)/bootstrap ./functions/$(shell echo $* | tr A-Z a-z)
