# Every everyday command of the project. Needs Python 3.11 or newer, Java 17 or 21, and make; the rest
# is installed into .venv from hash-locked files, and jars into a cache. `make` alone lists the
# targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo lock format lint test unit property durations simulate simulate-all \
	mutations bench bench-shapes bench-formats bench-growth bench-window bench-first-window \
	bench-journal bench-large bench-memory bench-audit bench-commands bench-compact \
	bench-delay bench-instances bench-cores bench-tiny bench-year fuzz certify clean

VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
# Two workers take files in the order of tests/durations.json, the longest first.
PYTEST := $(PY) -m pytest -n 2 --dist loadgroup --no-loadscope-reorder
READY := $(VENV)/.ready
HAS_JARS := $(VENV)/.has-jars
HAS_UV := $(VENV)/.has-uv
# Only tests need Prometheus. Its package is unpacked here and not installed: that starts no service.
PROMETHEUS := $(VENV)/prometheus
HAS_PROMETHEUS := $(VENV)/.has-prometheus
# The same for Kerberos: tests start a key server of their own. These names are packages of Debian and
# Ubuntu: the programs, and the libraries that have to be of the same version.
KERBEROS := $(VENV)/kerberos
HAS_KERBEROS := $(VENV)/.has-kerberos
KERBEROS_PROGRAMS := krb5-kdc krb5-admin-server krb5-user
KERBEROS_LIBRARIES := lib(gssapi-krb5|gssrpc|k5crypto|kadm5|kdb5|krb5|verto1|verto-libev|verto[0-9]|ev4|ss2|com-err|keyutils)

# How many random schedules to simulate, and from which seed (empty: a fresh one, printed).
N ?= 2000
SEED ?=

# Options of `make demo`.
DEMO ?=

# Set PYTHON to choose an interpreter; otherwise the first of these that is new enough is taken.
PYTHON ?=
PYTHON_CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)

# A slow mirror is not an error.
export UV_HTTP_TIMEOUT ?= 180
# Nothing but the interpreter of .venv is ever used, and none is downloaded.
export UV_PYTHON_DOWNLOADS ?= never
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1
# Tests start hundreds of Python processes. Each would compile all modules again without their .pyc.
unexport PYTHONDONTWRITEBYTECODE

# uv does not read pip's settings. Where only pip was told about an index, a wheel folder or a
# certificate bundle, this hands them on; what was set for uv itself always wins. (`pip config get`
# would read the user's file only, `pip config list` reads them all.)
define uv_like_pip
pip_settings="$$($(PY) -m pip config list 2>/dev/null || true)"; \
pip_setting() { \
	printf '%s\n' "$$pip_settings" | sed -nE "s/^(global|install)\.$$1='(.*)'$$/\2/p" \
		| tail -n 1 | sed -e 's/\\n/ /g' -e 's/^ *//'; \
}; \
index="$${UV_DEFAULT_INDEX:-$${UV_INDEX_URL:-$${PIP_INDEX_URL:-$$(pip_setting index-url)}}}"; \
extra="$${UV_INDEX:-$${UV_EXTRA_INDEX_URL:-$${PIP_EXTRA_INDEX_URL:-$$(pip_setting extra-index-url)}}}"; \
wheels="$${UV_FIND_LINKS:-$${PIP_FIND_LINKS:-$$(pip_setting find-links)}}"; \
certs="$${SSL_CERT_FILE:-$${PIP_CERT:-$$(pip_setting cert)}}"; \
certs="$${certs:-$${REQUESTS_CA_BUNDLE:-$$CURL_CA_BUNDLE}}"; \
if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
if [ -n "$$extra" ]; then export UV_INDEX="$$extra"; fi; \
if [ -d "$$wheels" ]; then export UV_FIND_LINKS="$$wheels"; fi; \
if [ -f "$$certs" ]; then export SSL_CERT_FILE="$$certs"; fi
endef

COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url --no-emit-find-links

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(HAS_JARS) ## Create .venv, install what the lock files name, fetch the jars

$(HAS_UV): requirements/bootstrap.lock
	@chosen=""; \
	for candidate in $(PYTHON_CANDIDATES); do \
		if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			chosen=$$candidate; break; \
		fi; \
	done; \
	if [ -z "$$chosen" ]; then \
		echo "Penstock needs Python 3.11 or newer, and none of these is one: $(PYTHON_CANDIDATES)." \
			"Install it, or name it: make setup PYTHON=/path/to/python3." >&2; \
		exit 2; \
	fi; \
	if ! $$chosen -m venv --clear $(VENV); then \
		echo "$$chosen could not create $(VENV). On Debian and Ubuntu the package python3-venv" \
			"is missing; install it and run make setup again." >&2; \
		exit 2; \
	fi
	@$(PY) -m pip install --quiet --require-hashes --only-binary :all: -r requirements/bootstrap.lock
	@touch $@

$(READY): $(HAS_UV) pyproject.toml requirements/dev.lock
	@$(uv_like_pip); \
	quiet=--quiet; if [ -t 2 ]; then quiet=; fi; \
	echo "Installing packages; pyspark alone is 450 MB." >&2; \
	$(UV) pip sync $$quiet --python $(PY) --require-hashes \
		--no-build-isolation requirements/dev.lock && \
	$(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation -e .
	@touch $@

# As root on Debian or Ubuntu a missing Java is installed; elsewhere one sentence says what to do.
# The jars lie outside the clone, so other clones need not fetch them again.
$(HAS_JARS): $(READY) src/penstock/jars.lock
	@if ! $(PY) -m penstock.spark.java >/dev/null 2>&1 && [ -z "$$JAVA_HOME" ] \
		&& [ "$$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then \
		echo "Installing Java from this system's packages." >&2; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get -qq update >&2 || true; \
		for package in openjdk-17-jre-headless openjdk-21-jre-headless; do \
			if apt-get -qq install -y --no-install-recommends $$package >&2; then break; fi; \
		done; \
	fi
	@$(PY) -m penstock.spark.java >/dev/null
	@$(PY) -m penstock.spark.jars fetch --group connector --group broker --group registry \
		--group storage --group avro
	@touch $@

$(HAS_PROMETHEUS): | $(READY)
	@if ! { command -v prometheus && command -v promtool; } >/dev/null 2>&1; then \
		if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then \
			echo "The tests of alerts need prometheus and promtool on the PATH. Install them, from" \
				"your system's package prometheus or another one, and run make test again." >&2; \
			exit 2; \
		fi; \
		echo "Fetching Prometheus from this system's packages, for tests." >&2; \
		if [ "$$(id -u)" = 0 ]; then apt-get -qq update >&2 || true; fi; \
		rm -rf $(PROMETHEUS) && mkdir -p $(PROMETHEUS)/package && \
		( cd $(PROMETHEUS)/package && apt-get -qq download prometheus >&2 ) && \
		dpkg -x $(PROMETHEUS)/package/*.deb $(PROMETHEUS) || { \
			echo "The package prometheus could not be fetched. Install it, and run make test" \
				"again." >&2; \
			exit 2; \
		}; \
		rm -rf $(PROMETHEUS)/package; \
	fi
	@touch $@

$(HAS_KERBEROS): | $(READY)
	@if ! { command -v krb5kdc && command -v kadmin.local && command -v kinit; } >/dev/null 2>&1; then \
		if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then \
			echo "The tests of Kerberos need krb5kdc, kadmin.local and kinit on the PATH. Install" \
				"them from your system's packages, and run make test again." >&2; \
			exit 2; \
		fi; \
		echo "Fetching a Kerberos key server from this system's packages, for tests." >&2; \
		if [ "$$(id -u)" = 0 ]; then apt-get -qq update >&2 || true; fi; \
		rm -rf $(KERBEROS) && mkdir -p $(KERBEROS)/package && \
		( cd $(KERBEROS)/package && apt-get -qq download $(KERBEROS_PROGRAMS) \
			$$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
				--no-replaces --no-enhances $(KERBEROS_PROGRAMS) \
				| grep -E '^$(KERBEROS_LIBRARIES)' | sort -u) >&2 ) && \
		for package in $(KERBEROS)/package/*.deb; do \
			dpkg -x $$package $(KERBEROS) || exit 1; \
		done || { \
			echo "The packages $(KERBEROS_PROGRAMS) could not be fetched. Install them, and run make" \
				"test again." >&2; \
			exit 2; \
		}; \
		rm -rf $(KERBEROS)/package; \
	fi
	@touch $@

# A lock that stays as it was keeps its date, so that .venv is not made anew for nothing.
lock: $(HAS_UV) ## Resolve pyproject.toml again into requirements/*.lock (UPGRADE=1 takes newer ones)
	@$(uv_like_pip); set -e; \
	resolve() { \
		draft=$(VENV)/$$1.lock; \
		cp requirements/$$1.lock $$draft 2>/dev/null || true; \
		shift; $(COMPILE) "$$@" -o $$draft; \
		target=requirements/$${draft##*/}; \
		cmp -s $$draft $$target || cp $$draft $$target; \
	}; \
	resolve runtime $(if $(UPGRADE),--upgrade) pyproject.toml; \
	resolve dev $(if $(UPGRADE),--upgrade) pyproject.toml --all-extras --group dev; \
	resolve bootstrap --group bootstrap

demo: setup ## See all of it in a minute and a half: broker, lake, kill -9, count (DEMO="--serve")
	@$(PY) -m penstock demo $(DEMO)

format: setup ## Rewrite the code in the house format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

lint: setup ## Check rules, format and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

test: lint $(HAS_PROMETHEUS) $(HAS_KERBEROS) ## Lint, explore the quick small worlds, then run every test
	$(PY) -m tests.simulator exhaustive --quick
	$(PYTEST) --durations=10

unit: setup ## Run the unit tests: no JVM, no search, in about a minute on two idle cores
	$(PY) -m tests.side_by_side tests/unit

property: setup ## Let Hypothesis search for counterexamples (HYPOTHESIS_PROFILE=thorough: 20 times)
	$(PYTEST) tests/property

durations: setup ## Measure every test file on an idle machine; orders later runs, longest first
	$(PYTEST) --store-durations

simulate: setup ## Run N random schedules of the protocol (N=2000, SEED= to repeat one)
	$(PY) -m tests.simulator random --schedules $(N) $(if $(SEED),--seed $(SEED))

simulate-all: setup ## Run every schedule of the small worlds
	$(PY) -m tests.simulator exhaustive

mutations: setup ## Break the protocol on purpose; the simulator must notice each time
	$(PY) -m tests.simulator mutations

# ARGS adds options, as in `make bench ARGS="--records 200000 --rounds 1"`.
# Without ARGS the workloads of real shape follow: some options are not theirs.
# STORE=s3 or hdfs measures the same windows into such a store, which is started here, and into a
# directory instead, and writes nothing.
ifneq ($(filter s3 hdfs,$(STORE)),)
bench: setup
	$(PY) -m bench.stores --store $(STORE) $(ARGS)
else ifneq ($(STORE),)
bench:
	@echo "make bench knows STORE=s3 and STORE=hdfs only, not STORE=$(STORE)" >&2; exit 2
else
bench: setup ## Measure whole windows against plain Spark and reading only; writes bench/results.* (STORE=s3)
	$(PY) -m bench.compare --out bench $(ARGS)
	$(if $(ARGS),@echo "left out: the workloads of real shape; see make bench-shapes",$(PY) -m bench.shapes --out bench)
endif

bench-shapes: setup ## Measure records of real shape, nested and long; joins bench/results.json (ONLY=social)
	$(PY) -m bench.shapes --out bench $(if $(ONLY),--only $(ONLY)) $(ARGS)

bench-first-window: setup ## Measure the window in which a new feed learns, in a warm session
	$(PY) -m bench.first_window $(ARGS)

bench-formats: setup ## Measure formats and broken records; joins bench/results.json (ONLY=avro-12)
	$(PY) -m bench.formats --out bench $(if $(ONLY),--only $(ONLY)) $(ARGS)

bench-growth: setup ## Measure how cost grows with types, records and windows; writes bench/growth.*
	$(PY) -m bench.growth --out bench $(ARGS)

bench-window: setup ## The same as bench with 12 types only; writes nothing
	$(PY) -m bench.compare --types 12 $(ARGS)

bench-journal: setup ## Measure the journal
	$(PY) -m bench.journal $(ARGS)

bench-large: setup ## Measure feeds that are large and old
	$(PY) -m bench.large_journal $(ARGS)

bench-year: setup ## Live through a year of a feed in small; writes bench/year.* (ARGS="--days 90 --windows 4000")
	$(PY) -m bench.year --out bench $(ARGS)

bench-tiny: setup ## Measure a warm window of 100 records
	$(PY) -m bench.tiny

bench-delay: setup ## Measure the time from produce to visible, with windows every 5 s
	$(PY) -m bench.delay $(ARGS)

bench-instances: setup ## Let instances come and go ten times under load; every record has to lie there once
	$(PY) -m bench.instances $(ARGS)

bench-cores: setup ## Measure how throughput grows from one core to two
	$(PY) -m bench.cores $(ARGS)

bench-memory: setup ## Measure the memory of tasks with very many files
	$(PY) -m bench.memory $(ARGS)

bench-audit: setup ## Measure the deep audit on a lake of ten million rows
	$(PY) -m bench.audit $(ARGS)

bench-compact: setup ## Measure compaction against plain Spark that rewrites the same files
	$(PY) -m bench.compact $(ARGS)

bench-commands: setup ## Measure how long help, status and other reading commands take
	$(PY) -m bench.commands $(ARGS)

fuzz: setup ## Search ten minutes per decoder for bytes that do harm (SECONDS=60, ONLY=avro, SEED=)
	$(PY) -m tests.fuzz $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(SEED),--seed $(SEED))

# What is too slow for every day and has no row in the table; the table comes whatever they say.
CERTIFY_TESTS_hdfs := tests/contract/test_hdfs_kerberos.py tests/integration/test_hdfs_page.py \
	tests/certify/test_hdfs_demo.py
# Go builds the other double, once; where it is not installed, that comparison is left out.
CERTIFY_TESTS_gcs := tests/certify/test_gcs_demo.py \
	$(if $(shell command -v go),tests/certify/test_fake_gcs.py)
CERTIFY_TESTS_ := tests/certify/test_backup.py
CERTIFY_TESTS = $(if $(ONLY)$(LAKE),true,$(if $(CERTIFY_TESTS_$(STORE)),\
	$(PY) -m pytest -n0 -m certify $(CERTIFY_TESTS_$(STORE)),true))

# STORE=s3, hdfs or gcs: lakes on a store that is started here. LAKE=s3://bucket/prefix: on your own.
certify: setup $(if $(filter hdfs,$(STORE)),$(HAS_KERBEROS)) ## The long proof on real parts, as a table (SEED=2, ONLY=K7 or ONLY=C, FRESH=1, STORE=s3)
	$(if $(ONLY)$(STORE)$(LAKE),,$(MAKE) simulate-all)
	$(if $(ONLY)$(STORE)$(LAKE),,$(MAKE) mutations)
	$(if $(ONLY)$(STORE)$(LAKE),,$(MAKE) simulate N=20000)
	$(if $(LAKE),CERTIFY_LAKE=$(LAKE) $(PY) -m pytest -n0 -m certify tests/certify/test_own_bucket.py)
	$(CERTIFY_TESTS) || red=1; \
	$(PY) -m tests.certify $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(STORE),--store $(STORE)) $(if $(LAKE),--lake $(LAKE)) \
		$(if $(FRESH),--fresh) $(if $(AGAIN),--again) $(if $(RESUME_S),--resume-limit $(RESUME_S)) \
		&& exit $${red:-0}

clean: ## Remove .venv, build output and caches
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
