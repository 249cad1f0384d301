# SPDX-License-Identifier: Apache-2.0
# Each target installs what it needs and does not repeat finished work.
.DEFAULT_GOAL := help
.PHONY: help build demo test gpu-test gpu-kit bench bench-check soak regrtest matrix real fleet fuzz sanitize graphviz-static wheel docs lint format clean

export JOBS ?= 2

help: ## List targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: ## Run two leaking programs; print the cards and the paths of the reports
	@scripts/bootstrap
	@scripts/build dev _native
	@set -e; for example in simple awaitable; do \
		printf '\n== examples/%s.py\n' $$example; .venv/bin/python examples/$$example.py; done

test: ## Run all tests, on every supported interpreter found and in a browser
	@scripts/bootstrap test
	@scripts/build dev
	@scripts/test

build: ## Build; afterwards .venv/bin/python can import cyclewatch
	@scripts/bootstrap
	@scripts/build dev

bench: ## Run the benchmarks; WRITE=1 updates docs/performance.md
	@scripts/bootstrap bench
	@scripts/build bench _native benchmarks
	@scripts/bench $(if $(WRITE),--page docs/performance.md)

bench-check: ## Compare instruction counts with the stored ones; UPDATE=1 stores them
	@scripts/bootstrap
	@scripts/build dev _native
	@.venv/bin/python benchmarks/instruction_baseline.py $(if $(UPDATE),--update)

soak: ## Run a leaking training loop for half an hour; WRITE=1 updates docs/performance.md
	@scripts/bootstrap bench
	@scripts/build bench _native
	@PYTHONPATH=.build/bench/package .venv/bin/python benchmarks/soak.py \
		$(if $(WRITE),--page docs/performance.md)

gpu-test: ## Run the checks that need a CUDA device; updates docs/gpu.md if there is one
	@scripts/bootstrap test
	@scripts/build dev _native
	@status=0; .venv/bin/python tests/gpu/run.py --json .build/gpu.json || status=$$?; \
		.venv/bin/python tests/gpu/page.py .build/gpu.json && exit $$status

gpu-kit: ## Make .build/gpu-kit, a folder to run these checks on a machine without network
	@scripts/bootstrap wheel
	@scripts/gpu-kit

regrtest: ## Compare CPython's own tests with and without a watch in every process, or WATCH=scan
	@scripts/bootstrap
	@scripts/build dev
	@.venv/bin/python tests/regrtest/run.py $(if $(WATCH),--watch $(WATCH))

matrix: ## Build and test on every interpreter available, including debug builds
	@scripts/bootstrap
	@.venv/bin/python tests/matrix/run.py $(INTERPRETERS)

real: ## Score the suggestions on leaks in published libraries, installed into ~/.cache
	@scripts/bootstrap
	@scripts/build dev _native
	@.venv/bin/python tests/real/run.py $(CASES)

fleet: ## Query a dataset of 100,000 rank reports with DuckDB and PySpark, which needs Java
	@scripts/bootstrap fleet
	@scripts/build dev _native
	@.venv/bin/python tests/fleet/run.py

fuzz: ## Run each fuzz target for SECONDS (default 60), with clang
	@scripts/bootstrap fuzz
	@scripts/build fuzz fuzzers
	@scripts/fuzz $(SECONDS)

sanitize: ## Run tests under AddressSanitizer, UBSan, ThreadSanitizer and valgrind
	@scripts/bootstrap sanitize
	@scripts/build dev
	@scripts/build asan
	@scripts/build tsan
	@scripts/sanitize asan tsan valgrind

graphviz-static: ## Run the C++ tests of pictures with the static Graphviz of the wheels
	@scripts/bootstrap wheel
	@scripts/build static core_tests static_graphviz_tests
	@.build/static/tests/core_tests --gtest_brief=1
	@.build/static/tests/static_graphviz_tests --gtest_brief=1

wheel: ## Build the source distribution and a wheel per interpreter into dist/
	@scripts/bootstrap wheel
	@scripts/wheel $(INTERPRETERS)

docs: ## Build the documentation site in .build/site; warnings are errors
	@scripts/bootstrap
	@scripts/build dev _native
	@scripts/docs

lint: ## Check formatting, clang-tidy, ruff, mypy and the viewer; changes no file
	@scripts/bootstrap lint
	@scripts/lint

format: ## Format every source file
	@scripts/bootstrap lint
	@git ls-files -coz --exclude-standard -- '*.c' '*.cpp' '*.h' | xargs -0 .venv/bin/clang-format -i
	@.venv/bin/ruff check --quiet --fix .
	@.venv/bin/ruff format --quiet .

clean: ## Remove build output; keep .venv
	rm -rf .build build dist *.egg-info cyclewatch/*.so
