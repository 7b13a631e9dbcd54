# make demo        sets up what is missing, builds libframe and the Fortran host, runs it on 2 ranks, draws its field
# make castles     builds the small flow solver, runs it with plain Fortran properties and with the layer's, compares and times
# make nekbone     builds Nekbone, runs it with plain Fortran loops and with a tensor expression, compares and times
# make test        sets up the same way and runs the tests that need no GPU, each law at some sizes and options
# make test-full   the same, each law at all of them; before an issue is called done
# make wheel-test  a wheel in a clean environment: build, examples, the README's Fortran programs
# make docs        build/docs/html from docs/, with the pages that the sources give
# make sanitize    runs a part of the tests with everything compiled for the sanitizers of gcc; takes minutes
# make lint        style and types of every source, as CI checks them; changes nothing
# make format      rewrites the sources in that style
# make gpu-carry   collects what tests/gpu_*.sh need on a machine without network
PY = .venv/bin/python
RANKS ?= 2
ifeq ($(shell echo '$(RANKS)' | grep -xE '[1-9][0-9]*'),)
$(error RANKS is '$(RANKS)'; wanted a whole number of ranks, 1 or more)
endif
JOBS ?= $(shell n=$$(nproc); echo $$((n < 8 ? n + 1 : 8)))
MPIFORT ?= mpifort
MPIRUN ?= mpirun
FFLAGS ?= -O3 -march=native
NAMELIST ?= fortran_stub/demo/demo.nml

# Allow more ranks than cores, and root in a container; no warnings about missing fabrics; no ssh on one node. Open MPI
# 4 and 5.
export OMPI_MCA_rmaps_base_oversubscribe = 1
export OMPI_MCA_btl_base_warn_component_unused = 0
export OMPI_MCA_btl_vader_single_copy_mechanism = none
export PRTE_MCA_rmaps_default_mapping_policy = :oversubscribe
export UCX_LOG_LEVEL = error
export OMPI_MCA_plm_rsh_agent = $(or $(shell command -v ssh 2>/dev/null),false)
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1
endif

# A file comes after those whose modules it uses.
MODULE = build/frame_interface.f90
RIVAL = $(patsubst %,fortran_stub/rivals/%.f90,species_tables peng_robinson chung diffusion properties)
HOST = $(RIVAL) $(MODULE) \
       $(patsubst %,fortran_stub/demo/%.f90,host_config host_field host_layer host_compare host_output host)

CASTLES = $(RIVAL) $(MODULE) \
          $(patsubst %,fortran_stub/demo/%.f90,host_config host_field host_layer) \
          $(patsubst %,fortran_stub/castles/castles%.f90,_config _plain _properties _block _rhs) fortran_stub/castles/castles.f90
CASTLES_NAMELIST ?= fortran_stub/castles/castles.nml

NEKBONE = $(MODULE) \
          $(patsubst %,fortran_stub/nekbone/nekbone%.f90,_case _device _mesh _plain) fortran_stub/nekbone/nekbone.f90
NEKBONE_NAMELIST ?= fortran_stub/nekbone/nekbone.nml

LINT = .venv/bin
SOURCES_OF = find kernels frame fortran_stub examples tests -type f
CPP = $(shell $(SOURCES_OF) '(' -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' ')')
# The file in frame/templates is a template, which `python -m frame build` fills in.
FORTRAN = $(shell $(SOURCES_OF) -name '*.f90' ! -name frame_interface.f90)
FPRETTIFY = $(LINT)/fprettify -c .fprettify.rc --disable-whitespace -S

.PHONY: demo castles nekbone test test-full sanitize wheel-test docs lint lint-python lint-types lint-cpp lint-fortran format setup setup-test setup-lint gpu-carry clean

demo: setup
	@$(MAKE) --no-print-directory build/demo_host
	$(MPIRUN) -n $(RANKS) build/demo_host $(NAMELIST)
	$(PY) fortran_stub/demo/plot_fields.py

castles: setup
	@$(MAKE) --no-print-directory build/castles
	$(MPIRUN) -n $(RANKS) build/castles $(CASTLES_NAMELIST)

nekbone: setup
	@$(MAKE) --no-print-directory build/nekbone
	$(MPIRUN) -n $(RANKS) build/nekbone $(NEKBONE_NAMELIST)

# JOBS processes take one test file after the other, in the order that tests/conftest.py gives.
PYTEST = $(PY) -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder

test: setup-test
	@$(MAKE) --no-print-directory build/libframe.so
	$(PYTEST)

test-full: setup-test
	@$(MAKE) --no-print-directory build/libframe.so
	$(PYTEST) -m "not gpu"

docs: setup-docs
	.venv/bin/sphinx-build -q -W -b html docs build/docs/html
	@echo build/docs/html/index.html

wheel-test: setup-test
	sh tests/wheel.sh

sanitize: setup-test
	$(PY) tests/sanitize.py -n $(JOBS) --dist worksteal

# Run all four, even if one of them fails.
lint: setup-lint
	@$(MAKE) --no-print-directory --keep-going lint-python lint-types lint-cpp lint-fortran

lint-python:
	$(LINT)/ruff check
	$(LINT)/ruff format --check

lint-types:
	$(LINT)/mypy

lint-cpp:
	@echo "clang-format: $(words $(CPP)) files"
	@$(LINT)/clang-format --dry-run -Werror $(CPP)

# fprettify has no check of its own: any change that it would make counts as a finding.
lint-fortran:
	@echo "fprettify: $(words $(FORTRAN)) files"
	@changes=$$($(FPRETTIFY) --diff $(FORTRAN)) && if [ -n "$$changes" ]; then echo "$$changes"; exit 1; fi

format: setup-lint
	$(LINT)/ruff check --fix-only
	$(LINT)/ruff format
	@$(LINT)/clang-format -i $(CPP)
	@$(FPRETTIFY) $(FORTRAN)

setup:
	@sh setup_machine.sh demo

setup-test:
	@sh setup_machine.sh test

setup-docs:
	@sh setup_machine.sh docs

setup-lint:
	@sh setup_machine.sh lint

# libframe records the interpreter that built it, so a new .venv means a new library.
build/libframe.so: $(wildcard frame/*.py frame/*/*.py frame/templates/*) .venv/pyvenv.cfg
	$(PY) -m frame build

# Written by the same command.
$(MODULE): build/libframe.so ;

# The rpath lets the host find libframe in its own folder.
build/demo_host: $(HOST) build/libframe.so
	@mkdir -p build/host
	$(MPIFORT) $(FFLAGS) -J build/host $(HOST) -o $@ -Lbuild -lframe -Wl,-rpath,'$$ORIGIN'

build/castles: $(CASTLES) build/libframe.so
	@mkdir -p build/castles_modules
	$(MPIFORT) $(FFLAGS) -J build/castles_modules $(CASTLES) -o $@ -Lbuild -lframe -Wl,-rpath,'$$ORIGIN'

build/nekbone: $(NEKBONE) fortran_stub/nekbone/nekbone_ax.inc build/libframe.so
	@mkdir -p build/nekbone_modules
	$(MPIFORT) $(FFLAGS) -J build/nekbone_modules $(NEKBONE) -o $@ -Lbuild -lframe -Wl,-rpath,'$$ORIGIN'

gpu-carry: setup
	@$(MAKE) --no-print-directory build/demo_host
	HOST="$(HOST)" CASTLES="$(CASTLES)" NEKBONE="$(NEKBONE)" sh tests/gpu_carry.sh

clean:
	rm -rf build .carry .pytest_cache .mypy_cache .ruff_cache
