# SPDX-License-Identifier: Apache-2.0
# Each target sets up what it needs by itself and repeats nothing that is already done.
.DEFAULT_GOAL := help
.PHONY: help build demo test gpu-test bench soak regrtest matrix real fuzz sanitize wheel docs lint format clean

export JOBS ?= 2

help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: ## Run two leaking programs under a watch; print the cards and the reports' paths
	@scripts/bootstrap
	@scripts/build dev _native
	@scripts/demo

test: ## Run every test, on every supported interpreter found and in a browser
	@scripts/bootstrap test
	@scripts/build dev
	@scripts/test

build: ## Leave an importable .venv/bin/python
	@scripts/bootstrap
	@scripts/build dev

bench: ## Measure, and print ratios taken in this run; WRITE=1 puts them into docs/performance.md
	@scripts/bootstrap bench
	@scripts/build bench _native benchmarks
	@scripts/bench $(if $(WRITE),--page docs/performance.md)

soak: ## Train and leak under a watch for half an hour; WRITE=1 writes docs/soak.md and its plot
	@scripts/bootstrap bench
	@scripts/build bench _native
	@PYTHONPATH=.build/bench/package .venv/bin/python benchmarks/soak.py \
		$(if $(WRITE),--plot docs/images/soak.svg --page docs/soak.md)

gpu-test: ## Run the checks that need a CUDA device; writes docs/gpu.md where there is one
	@scripts/bootstrap test
	@scripts/build dev _native
	@.venv/bin/python tests/gpu/run.py

regrtest: ## Run CPython's own tests with and without a watch in every process; compare
	@scripts/bootstrap
	@scripts/build dev
	@.venv/bin/python tests/regrtest/run.py

matrix: ## Build and test on every interpreter that can be had, debug builds too; one table
	@scripts/bootstrap
	@.venv/bin/python tests/matrix/run.py $(INTERPRETERS)

real: ## Score the suggestions on leaks of published libraries; installs these into ~/.cache
	@scripts/bootstrap
	@scripts/build dev _native
	@.venv/bin/python tests/real/run.py $(CASES)

fuzz: ## Run the fuzz targets, each for SECONDS (default 60); needs clang
	@scripts/bootstrap fuzz
	@scripts/build fuzz fuzzers
	@scripts/fuzz $(SECONDS)

sanitize: ## Run tests under AddressSanitizer, UBSan, ThreadSanitizer and valgrind
	@scripts/bootstrap sanitize
	@scripts/build dev
	@scripts/build asan
	@scripts/build tsan
	@scripts/sanitize asan tsan valgrind

wheel: ## Build the source distribution and a wheel per interpreter into dist/
	@scripts/bootstrap
	@scripts/wheel $(INTERPRETERS)

docs: ## Build the documentation site in .build/site; warnings are errors
	@scripts/docs

lint: ## Check formatting, clang-tidy, ruff, mypy and the viewer; change nothing
	@scripts/bootstrap lint
	@scripts/lint

format: ## Format every source file
	@scripts/bootstrap lint
	@scripts/format

clean: ## Remove what was built; .venv stays
	rm -rf .build build dist *.egg-info cyclewatch/*.so
