# `make demo` trains, `make test` passes the tests; both do all their own set-up in .venv. `make help` lists the rest.
SHELL := /bin/sh
VENV := .venv
# Where it is set, each of the processes below would compile every module and every test again.
export PYTHONDONTWRITEBYTECODE :=
BIN := $(VENV)/bin

# A file's tests stay together, as they share clusters; files come in the order of the seed, not the largest first.
# Many tests wait for processes and timers, so few cores get two processes more than they are; each collects all tests. The
# folders whose tests only compute (tests/support/order.py) fill what these leave, in one process, as to hand out so many
# short tests costs more than they do; more cores have more of them.
CORES := $(shell nproc 2>/dev/null || echo 2)
PARALLEL := -n $(shell echo $$(( $(CORES) < 6 ? $(CORES) + 2 : 8 ))) --dist loadfile --no-loadscope-reorder
COMPUTING := $(shell [ $(CORES) -lt 4 ] || echo "-n $$(( $(CORES) / 2 )) --dist worksteal")

# A browser takes a core for itself; one training leaves half of two cores to nobody, two a fifth.
IN_PAIRS := -n 2 --dist loadfile --no-loadscope-reorder

# Those on a real Kubernetes mostly wait for it; each process has a control plane of its own (500 MiB).
WAITING := -n 3 --dist loadfile --no-loadscope-reorder

# What each tier runs. `make stress` runs one of them again and again.
PYTEST := $(BIN)/python -m pytest -q
light := -m "not paddle and not slow and not kubernetes and not browser and not unsandboxed"
unsandboxed := -m "not paddle and not slow and not kubernetes and not browser"
browser := -m "browser and not paddle and not kubernetes"
kubernetes := -m "kubernetes and not paddle"
slow := -m "slow and not paddle and not kubernetes"
paddle := -m paddle
TIERS := light unsandboxed browser kubernetes slow paddle

# What the call that computes says comes after the other, and is in build/computing.log meanwhile.
LIGHT := $(BIN)/python tools/light_tests.py $(PARALLEL) -- $(COMPUTING) --

.DEFAULT_GOAL := help
.PHONY: ALWAYS help demo demo-pytorch dist test test-all stress kubernetes clients bench chaos shapes simulate fuzz lint lint-all types types-of-tests style format catalogues ratchet reference docs screenshots lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/.ready: ALWAYS
	@PYTHON="$(PYTHON)" tools/set-up

$(VENV)/.ready-dev: ALWAYS
	@PYTHON="$(PYTHON)" tools/set-up dev

demo: $(VENV)/.ready ## train a real parameter-server job on this machine
	@./paddock run examples/documents/wide_and_deep.yaml
	@./paddock delete wide-ande-deep  # its manifest keeps the servers (cleanPodPolicy: Never); the history has the run

demo-pytorch: $(VENV)/.ready ## three ranks of PyTorch on this machine: one is killed, and they go on from their checkpoint
	@./paddock run examples/pytorch/job.yaml --workdir examples/pytorch -- --kill-rank 1 --at-epoch 5

# Built in .venv with the build tools of requirements.lock: no download, and the same bytes each time.
DIST := dist
dist: $(VENV)/.ready ## a wheel, which puts `paddock` on your PATH, a source archive, and what is in both (SBOM), in dist/
	@rm -f "$(DIST)"/paddock*.whl "$(DIST)"/paddock*.tar.gz "$(DIST)"/paddock-*.cdx.json
	@$(BIN)/python -m hatchling build -d "$(DIST)"
	@$(BIN)/python tools/sbom.py "$(DIST)"
	@echo "to have paddock on your PATH: pipx install $(DIST)/*.whl, or uv tool install, or pip install in an environment of yours" >&2

test: $(VENV)/.ready-dev ## style, types of the product, layers and the light tests (four to five minutes on two cores)
	@$(MAKE) --no-print-directory lint
	@$(LIGHT) $(light)

test-all: $(VENV)/.ready-dev kubernetes ## all tests, also those that train, and those on a real Kubernetes; types of the tests
	@$(MAKE) --no-print-directory lint-all
	@$(MAKE) --no-print-directory clients || true  # the tests of one that cannot be had are skipped
	@$(LIGHT) $(unsandboxed) --hypothesis-profile=many
	@$(PYTEST) $(browser) $(IN_PAIRS)
	@$(PYTEST) $(kubernetes) $(WAITING)
	@$(PYTEST) $(slow) $(PARALLEL)
	@$(PYTEST) $(paddle) $(IN_PAIRS)

stress: $(VENV)/.ready-dev ## tests again and again beside busy processes; TIER=slow TIMES=20 BURNERS=8 TESTS="tests/e2e -k run"
	@$(if $(filter $(or $(TIER),light),$(TIERS)),,$(error TIER is $(TIER); there are $(TIERS)))
	@$(BIN)/python tools/stress.py --times $(or $(TIMES),5) --burners $(or $(BURNERS),4) \
		$($(or $(TIER),light)) $(if $(filter paddle,$(TIER)),$(IN_PAIRS),$(if $(filter kubernetes,$(TIER)),$(WAITING),$(PARALLEL))) $(TESTS)

clients: $(VENV)/.ready-dev ## kubectl and the Python clients that tests drive, each in an environment of its own (100 MB)
	@$(BIN)/python tools/fetch_clients.py

kubernetes: ## a control plane for the tests: $KUBEBUILDER_ASSETS, a cache, else built from Debian's packages (6 min)
	@if [ -n "$$KUBEBUILDER_ASSETS" ]; then \
		[ -x "$$KUBEBUILDER_ASSETS/kube-apiserver" ] || { echo "KUBEBUILDER_ASSETS is $$KUBEBUILDER_ASSETS, and no kube-apiserver is there" >&2; exit 1; }; \
	else tools/kubernetes/build --node --kubemark || { echo "there is another way: set KUBEBUILDER_ASSETS to a folder that has kube-apiserver, kube-controller-manager and etcd" >&2; exit 1; }; fi

MYPY_CACHE ?= .mypy_cache
# The runs of mypy share nothing, and each is busy on one core: half the time at once.
lint: $(VENV)/.ready-dev ## style, types of the product and import layers
	@$(MAKE) --no-print-directory -j2 types style

lint-all: $(VENV)/.ready-dev ## the same, and the types of the tests
	@$(MAKE) --no-print-directory -j2 types types-of-tests style

types:
	@$(BIN)/mypy --cache-dir $(MYPY_CACHE)

types-of-tests:
	@$(BIN)/mypy --config-file tests/mypy.ini --cache-dir $(MYPY_CACHE)/tests

style:
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .
	@$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

format: $(VENV)/.ready-dev ## put every file into the one format
	@$(BIN)/ruff check --fix -q .
	@$(BIN)/ruff format -q .

catalogues: $(VENV)/.ready-dev ## find the sentences in the code, update each language's .po and write its .mo
	@$(BIN)/python tools/catalogues.py

ratchet: $(VENV)/.ready-dev ## lower the numbers of house.toml to today's, where the house has become less
	@$(BIN)/python tools/house.py

reference: $(VENV)/.ready-dev ## write docs/reference from the code: commands, fields, causes and cures
	@$(BIN)/python tools/reference.py

docs: $(VENV)/.ready ## the documentation site, English and Chinese, in build/docs
	@$(BIN)/python tools/docs_site.py

screenshots: $(VENV)/.ready-dev ## draw the READMEs' pictures of the console (needs Chromium)
	@$(BIN)/python tools/screenshots.py

chaos: $(VENV)/.ready-dev ## real training while ranks and nodes are lost and come back, five minutes; SECONDS=60 SEED=7 for others
	@CHAOS_SECONDS=$(or $(SECONDS),300) CHAOS_SEED=$(or $(SEED),1) $(BIN)/python -m pytest -q -s tests/e2e/test_chaos.py

shapes: $(VENV)/.ready-dev ## servers, workers and heter ranks in every kind of shape (10 min); SHAPES=servers or all for every row
	@SHAPES=$(or $(SHAPES),pairs) $(BIN)/python -m pytest -q -s -m paddle tests/e2e/test_shapes.py

simulate: $(VENV)/.ready-dev ## the operator in a hostile little world, a million steps (10 min); STEPS=50000 for so many
	@$(BIN)/python tools/simulate.py $(or $(STEPS),1000000)

fuzz: $(VENV)/.ready-dev ## bad input for the laptop's API, timed and weighed, five minutes; SECONDS=60 SEED=7, REPLAY=build/fuzz/FILE
	@$(BIN)/python tools/fuzz.py $(or $(SECONDS),300) $(if $(SEED),--seed $(SEED)) $(if $(REPLAY),--replay $(REPLAY))

bench: $(VENV)/.ready-dev kubernetes ## the figures of docs/benchmarks.md, measured here (10 min)
	@$(BIN)/python -m benchmarks

lock: $(VENV)/.ready-dev ## resolve pyproject.toml into requirements*.lock
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--group build pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--group build --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--group operator -c requirements.lock -o deploy/operator.lock
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--group docs -c requirements.lock -c requirements-dev.lock -o requirements-docs.lock
	@$(BIN)/python tools/fetch_clients.py --lock

clean: ## remove what was set up here (not the environments that jobs use: paddock keeps those in its cache)
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis
