# sandglass: one Makefile. `make help` says what there is.
#
# Flavours live in folders of their own (B=build/san SAN=1), so that they never fight. Every src/<folder> becomes one
# archive, those above control together libapp.a; the order between them is the include rule of tests/layers.sh.

B ?= build
CC ?= gcc
PREFIX ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0
SHELL := /bin/bash
PKG_CONFIG ?= pkg-config

LUA_CFLAGS := $(shell $(PKG_CONFIG) --cflags lua5.4 2>/dev/null)
WARN := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wwrite-strings -Wpointer-arith -Wcast-qual -Wformat=2 -Wundef \
	-Wswitch-enum -Wimplicit-fallthrough $(if $(findstring clang,$(CC)),,-Wimplicit-fallthrough=5 -Wno-format-truncation) \
	-Wnull-dereference -Wdouble-promotion -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection
PLAIN_OPT := -O2 -g -D_FORTIFY_SOURCE=2 -ftrivial-auto-var-init=zero $(HARDEN) \
	$(if $(findstring clang,$(CC)),-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang)
ifdef SAN
OPT := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDSAN := -fsanitize=address,undefined $(if $(shell command -v ld.gold),-fuse-ld=gold)
else ifdef TSAN
# the calls of the sanitizer hide from gcc what is set
OPT := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer -Wno-maybe-uninitialized -Wno-null-dereference
LDSAN := -fsanitize=thread
else
OPT := $(PLAIN_OPT)
endif
CFLAGS ?=
ALL_CFLAGS := -std=gnu17 -D_GNU_SOURCE -DSANDGLASS_VERSION='"$(VERSION)"' -DSANDGLASS_PREFIX='"$(PREFIX)"' \
	-Isrc -I. -I$B/gen $(LUA_CFLAGS) $(WARN) $(OPT) -pthread -fPIE $(CFLAGS)
LDFLAGS_ALL := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -pthread $(LDSAN) $(LDFLAGS)

# --- archives -----------------------------------------------------------------------------------------------------
FOLDERS := base wire loop record query http action sandbox proxy control phrase app launcher keeper guest script tls screen
# what only the main program has
app_DIRS := luahost secrets models hosted web exchange sessions check catalog suite inside mcp supervisor ops serve login \
	terminal cli
dirs = $(addprefix src/,$(or $($1_DIRS),$1))
srcs = $(wildcard $(addsuffix /*.c,$(call dirs,$1)) $(addsuffix /*/*.c,$(call dirs,$1)))
main_src = $(filter %/main.c %_main.c,$(call srcs,$1))
lib_src = $(filter-out $(call main_src,$1) $(EXCLUDE_$1),$(call srcs,$1))
objs = $(patsubst %.c,$B/%.o,$1)
READ_SRC := $(wildcard src/record/read/*.c)
EXCLUDE_record := $(READ_SRC)
UI_SRC := $(filter-out ui/replay_main.c,$(wildcard ui/*.c ui/*/*.c))

EVENTS := $(sort $(wildcard src/*/events.def))
COMMANDS := $(wildcard src/*/commands*.def)
EVENT_GEN := $(addprefix $B/gen/,event_kinds.inc event_bodies.inc event_table.inc event_records.inc event_names.inc event_docs.inc events.json)
GEN := $(EVENT_GEN) $B/gen/commands.inc

# order for the linker: upper before lower
STACK := app phrase control proxy sandbox action http query record read loop wire base
lib = $(patsubst %,$B/lib%.a,$1)

SQLITE_LIBS := -lsqlite3 -lzstd
LIBS_base := -ljansson -lsodium -lutf8proc
LIBS_loop := -luv
LIBS_record := $(SQLITE_LIBS) -lgit2
LIBS_ALL := -larchive -lgit2 -lz $(SQLITE_LIBS) -lcurl -lseccomp -lvterm -luv -ljansson -lsodium -lutf8proc -lncursesw -ltinfo -lm -lutil

PROGRAMS := sandglass sandglass-replay sandglass-launcher sandglass-keeper sandglass-guest sandglass-host \
	sandglass-tls sandglass-screen sandglass-git
BINS := $(addprefix $B/,$(PROGRAMS) sandglass-guest.gz)

.PHONY: all
all: $(BINS)

define archive
$B/lib$1.a: $$(call objs,$$(call lib_src,$1))
	@rm -f $$@
	@$$(if $$^,ar rcs $$@ $$^,ar rcs $$@)
endef
$(foreach f,$(FOLDERS),$(eval $(call archive,$f)))
$B/libread.a: $(call objs,$(READ_SRC))
	@rm -f $@
	@ar rcs $@ $^
$B/libui.a: $(call objs,$(UI_SRC))
	@rm -f $@
	@ar rcs $@ $^

$B/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
# the schema is part of the binary
$B/src/record/read/schema.o $B/src/query/views.o: $(wildcard schema/*.sql)
$B/src/sandbox/pyodide/pyodide_find.o: $(wildcard plugins/pyodide/*)
$B/%.o: %.S
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# Declarations of events become code by a Lua program, run by the liblua that we link: no interpreter is needed.
$B/gen/run_lua: schema/run_lua.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) -O1 $(LUA_CFLAGS) $< -o $@ -llua5.4
# one run makes them all; a file that stays equal keeps its time, so that little is compiled anew
$B/gen/events.made: $B/gen/run_lua schema/events.lua $(EVENTS)
	@$B/gen/run_lua schema/events.lua $B/gen $(EVENTS)
	@touch $@
$(EVENT_GEN): $B/gen/events.made ;
$B/gen/commands.inc: $(COMMANDS) src/control/commands.awk
	@mkdir -p $(@D)
	@awk -f src/control/commands.awk $(COMMANDS) > $@.tmp && (cmp -s $@.tmp $@ || mv $@.tmp $@); rm -f $@.tmp; touch $@

# lua/ is part of the program: its bytes by .incbin, its names in a table
LUA_FILES := $(sort $(wildcard lua/*.lua lua/*/*.lua lua/*/*/*.lua plugins/*/*.lua lua/agents/*.js)) lua/README.md ui/README.md plugins/README.md
$B/gen/lua_files.inc: $(LUA_FILES) Makefile
	@mkdir -p $(@D)
	@n=0; for f in $(LUA_FILES); do echo "LUA_FILE(lua_$$n, \"$${f#lua/}\")"; n=$$((n+1)); done > $@
$B/gen/lua_files.S: $(LUA_FILES) Makefile
	@mkdir -p $(@D)
	@{ echo '	.section .rodata'; n=0; for f in $(LUA_FILES); do \
		echo "	.global lua_$${n}_begin"; echo "lua_$${n}_begin: .incbin \"$$f\""; \
		echo "	.global lua_$${n}_end"; echo "lua_$${n}_end: .byte 0"; n=$$((n+1)); done; \
		echo '	.section .note.GNU-stack,"",@progbits'; } > $@
$B/gen/lua_files.o: $B/gen/lua_files.S
	@$(CC) -c $< -o $@
$B/src/luahost/library.o: $B/gen/lua_files.inc
$B/libapp.a: $B/gen/lua_files.o

# a comma would end the argument of $(call)
comma := ,
GROUP := -Wl$(comma)--start-group
UNGROUP := -Wl$(comma)--end-group

define link
@mkdir -p $(@D)
@echo "  LINK  $@"
@$(CC) $(LDFLAGS_ALL) -o $@ $1
endef

# --- programs -----------------------------------------------------------------------------------------------------
$B/sandglass: $(call objs,$(call main_src,app)) $(call lib,app) $B/libui.a $(call lib,$(filter-out app,$(STACK)))
	$(call link,$(call objs,$(call main_src,app)) $(GROUP) $(filter %.a,$^) $(UNGROUP) $(LIBS_ALL))
$B/sandglass-replay: $B/ui/replay_main.o $B/libui.a $(call lib,phrase query read wire base)
	$(call link,$< $(GROUP) $(filter %.a,$^) $(UNGROUP) $(SQLITE_LIBS) $(LIBS_base) -lvterm -lncursesw -ltinfo)
$B/sandglass-host: $(call objs,$(call main_src,script)) $(call lib,script wire base)
	$(call link,$(call objs,$(call main_src,script)) $(GROUP) $(filter %.a,$^) $(UNGROUP) -llua5.4 -lseccomp $(LIBS_base) -lm)

$B/sandglass-tls: $(call objs,$(call main_src,tls)) $(call lib,tls wire base)
	$(call link,$(call objs,$(call main_src,tls)) $(GROUP) $(filter %.a,$^) $(UNGROUP) -lssl -lcrypto -lseccomp $(LIBS_base))

$B/sandglass-screen: $(call objs,$(call main_src,screen)) $(call lib,screen) $B/libui.a $(call lib,wire base)
	$(call link,$(call objs,$(call main_src,screen)) $(GROUP) $(filter %.a,$^) $(UNGROUP) -lvterm -lseccomp $(LIBS_base))

$B/sandglass-git: $(call objs,$(call main_src,sandbox)) $(call lib,sandbox action http query record read loop wire base)
	$(call link,$(call objs,$(call main_src,sandbox)) $(GROUP) $(filter %.a,$^) $(UNGROUP) -lgit2 -lz $(SQLITE_LIBS) -luv $(LIBS_base))

# Launcher, keeper and guest are static: they run where our libraries are not. No sanitizer is in them, so that the flavor
# build/san links the objects of build.
S := $(patsubst build/san,build,$B)/static
STATIC_CFLAGS := $(filter-out $(OPT) -fPIE -fsanitize=%,$(ALL_CFLAGS)) $(PLAIN_OPT)
$B/sandglass-%: $S/%.a
	@echo "  LINK  $@ (static)"
	@$(CC) -static $(if $(filter guest,$*),-s) -o $@ $(shell find $S -name '*.o' -path '*/src/$*/*main.o') -Wl,--start-group $^ -Wl,--end-group -ljansson -lsodium -lseccomp
$B/sandglass-guest.gz: $B/sandglass-guest
	@gzip -9nc $< >$@.new && mv $@.new $@
STATIC_SRC = $(filter-out src/base/text/%,$(call srcs,base)) $(call srcs,wire) $(call srcs,$1)
define static_archive
$S/$1.a: $$(patsubst %.c,$S/%.o,$$(call STATIC_SRC,$1))
	@rm -f $$@
	@ar rcs $$@ $$^
endef
$(foreach f,launcher keeper guest,$(eval $(call static_archive,$f)))
$S/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC    $< (static)"
	@$(CC) $(STATIC_CFLAGS) -MMD -MP -c $< -o $@

# --- unit tests ---------------------------------------------------------------------------------------------------
# what a test of a folder is linked with
LINK_base := base
LINK_wire := wire base
LINK_loop := loop wire base
LINK_read := read wire base
LINK_record := record read loop wire base
LINK_query := query record read loop wire base
LINK_http := http loop wire base
LINK_action := action query record read loop wire base
LINK_sandbox := sandbox guest action http query record read loop wire base
LINK_proxy := proxy sandbox guest action http query record read loop wire base
LINK_control := control proxy sandbox action http query record read loop wire base
LINK_app := app phrase control proxy sandbox action http query record read loop wire base ui
LINK_supervisor := $(LINK_app)
LINK_script := script wire base
LINK_guest := guest wire base
LINK_keeper := keeper wire base
LINK_launcher := launcher wire base
LINK_ui := ui phrase query record read loop wire base
LIBS_script := -llua5.4 -lm -lseccomp

UNIT := $(wildcard tests/unit/*/t_*.c)
UNIT_BIN := $(patsubst tests/unit/%.c,$B/tests/%,$(UNIT))
.SECONDEXPANSION:
$(filter $B/tests/script/%,$(UNIT_BIN)): | $B/sandglass-host
# what tests are made of: compiled apart, so that a change of an archive only links anew
$B/test-objs/%.o: tests/%.c | $(GEN)
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -Itests/unit -MMD -MP -c $< -o $@
.SECONDARY:
$B/tests/%: $B/test-objs/unit/%.o $$(call lib,$$(LINK_$$(subst /,,$$(dir $$*))))
	@mkdir -p $(@D)
	@echo "  TEST  $@"
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS_ALL) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
		$(LIBS_$(subst /,,$(dir $*))) $(LIBS_ALL)

# tests that open boxes need the small programs
$(filter $B/tests/sandbox/% $B/tests/launcher/% $B/tests/keeper/% $B/tests/app/% $B/tests/supervisor/%,$(UNIT_BIN)): | \
	$B/sandglass-launcher $B/sandglass-keeper $B/sandglass-guest.gz
$(filter $B/tests/app/% $B/tests/supervisor/%,$(UNIT_BIN)): | $B/sandglass-host
# tests that take the place of the Lua host
$B/tests/app/t_op_%: LDFLAGS_ALL += -Wl,--wrap=luahost_answer
# a driver of the test's own, and programs that are not beside it
$B/tests/supervisor/%: LDFLAGS_ALL += -Wl,--wrap=driver_find -Wl,--wrap=paths_libexec

.PHONY: t unit
t: $B/tests/$(T)
	$B/tests/$(T)
unit: $(if $D,$(filter $B/tests/$D/%,$(UNIT_BIN)),$(UNIT_BIN))
	@B=$B tests/run $^

# --- what people type ---------------------------------------------------------------------------------------------
.PHONY: help demo check test test-long test-agents bench san tsan tidy format-check install uninstall deps clean fuzz golden

help:
	@echo 'make             build (into $$B, default build/)'
	@echo 'make demo        install what is missing, build, show the demo'
	@echo 'make test        install what is missing, build, run every test (<= 14 minutes)'
	@echo 'make check       unit tests, golden screens, one end to end (<= 2 minutes)'
	@echo 'make test-agents the real agents from npm in boxes, with a scripted model (installs them: 2 GB)'
	@echo 'make test-long   1,000 kills, soaks, long fuzzing'
	@echo 'make bench       speed and size as ratios to their floors'
	@echo 'make san         unit tests and the whole supervisor under ASan and UBSan'
	@echo 'make tsan        what has threads, under TSan'
	@echo 'make tidy        clang-tidy;  make format-check   clang-format'
	@echo 'make deps        install the packages that building and testing need'
	@echo 'make install     into PREFIX=$(PREFIX) (DESTDIR respected);  make uninstall'

# A whole build takes every core, unless -j says otherwise.
CORES = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

deps:
	@B=$B tests/deps.sh

demo:
	@B=$B tests/deps.sh demo
	@$(MAKE) $(CORES) --no-print-directory all
	@$B/sandglass demo

check:
	@B=$B tests/deps.sh check
	@if clang-format --version 2>/dev/null | grep -q 'version 14'; then $(MAKE) --no-print-directory format-check; else echo 'format-check left out: clang-format 14 is not installed'; fi
	@$(MAKE) $(CORES) --no-print-directory all unit-programs
	@B=$B tests/suite check

test: deps
	@$(MAKE) $(CORES) --no-print-directory all test-helpers $B/tests/ui/t_keys_fuzz
	@$(MAKE) $(CORES) --no-print-directory B=build/san SAN=1 all unit-programs
	@B=$B tests/suite test

test-agents: deps
	@$(MAKE) $(CORES) --no-print-directory all
	@tests/npm/agents.sh $B/agents
	@tests/npm/python.sh $B/py
	@tests/npm/clients.sh $B/clients
	@SANDGLASS=$(abspath $B/sandglass) tests/e2e/agents.sh
	@SANDGLASS=$(abspath $B/sandglass) AGENTS_DIR=$(abspath $B/agents) tests/e2e/agents_terminal.sh
	@SANDGLASS=$(abspath $B/sandglass) AGENTS_DIR=$(abspath $B/agents) tests/e2e/agents_login.sh
	@SANDGLASS=$(abspath $B/sandglass) LONG=1 tests/e2e/agents_cases.sh
	@SANDGLASS=$(abspath $B/sandglass) tests/e2e/agents_files.sh
	@SANDGLASS=$(abspath $B/sandglass) tests/e2e/serve_py.sh
	@SANDGLASS=$(abspath $B/sandglass) CLIENTS_ALL=1 tests/e2e/clients.sh

test-long:
	@B=$B tests/deps.sh
	@$(MAKE) $(CORES) --no-print-directory all unit-programs helpers
	@B=$B tests/suite long

san: deps
	@$(MAKE) $(CORES) --no-print-directory B=build/san SAN=1 all unit-programs
	@B=build/san tests/suite san

# Data races in what has threads. Address randomization must be off for it; t_loop tests a child that shares our memory,
# which the thread sanitizer does not let it do.
TSAN_TESTS := $(filter $B/tests/record/%,$(UNIT_BIN)) $B/tests/loop/t_stream
tsan:
	@$(MAKE) $(CORES) --no-print-directory B=build/tsan TSAN=1 $(TSAN_TESTS:$B/%=build/tsan/%)
	@TEST_TIMEOUT=900 B=build/tsan setarch -R tests/run $(TSAN_TESTS:$B/%=build/tsan/%)

.PHONY: unit-programs helpers test-helpers
unit-programs: $(UNIT_BIN)

# programs that only tests and measurements use
HELPER_BIN := $(patsubst tests/%.c,$B/helpers/%,$(wildcard tests/sessions/make_session.c tests/bench/bench_*.c tests/crash/*.c tests/drivers/*.c tests/hostile/*.c))
helpers: $(HELPER_BIN) test-helpers
test-helpers: $(filter-out $B/helpers/bench/%,$(HELPER_BIN))
$B/helpers/bench/bench_lua: $B/test-objs/bench/bench_lua.o $(call lib,script wire base)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS_ALL) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
		$(LIBS_script) $(LIBS_base)
$B/helpers/%: $B/test-objs/%.o $(call lib,app phrase control proxy sandbox action http query record read guest loop wire base) $B/libui.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS_ALL) -o $@ $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS_ALL)

# Fuzz targets: with a plain main they replay their corpus in `make test`; `make fuzz` (clang) looks for more.
FUZZ := $(patsubst tests/fuzz/f_%.c,%,$(wildcard tests/fuzz/f_*.c))
FUZZ_TIME ?= 20
test-helpers: $(FUZZ:%=$B/fuzz/f_%)
# the app's own parsers, or the Lua host's: the two never share a program
FUZZ_APP := import terminal vt events cassette vetted text keys spec mcp gittree plain_lines hook
fuzz_libs = $(if $(filter plugin,$1),$B/src/luahost/library.o $B/gen/lua_files.o) \
	$(if $(filter $(FUZZ_APP),$1),$B/libui.a $(call lib,app),$(call lib,script)) \
	$(call lib,phrase control proxy sandbox action http query record read guest loop wire base)
$B/fuzz/f_%: tests/fuzz/f_%.c tests/fuzz/main.c $$(call fuzz_libs,$$*) $(GEN)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes $(if $(FUZZER),-fsanitize=fuzzer) -MMD -MP $(LDFLAGS_ALL) -o $@ $< $(if $(FUZZER),,tests/fuzz/main.c) \
		-Wl,--start-group $(filter %.a %.o,$^) -Wl,--end-group $(LIBS_ALL) -llua5.4
fuzz:
	@$(MAKE) $(CORES) --no-print-directory B=build/fuzz CC=clang SAN=1 FUZZER=1 CFLAGS=-fsanitize=fuzzer-no-link $(FUZZ:%=build/fuzz/fuzz/f_%)
	@for f in $(FUZZ); do echo "== $$f"; mkdir -p build/fuzz/corpus/$$f; \
		build/fuzz/fuzz/f_$$f -max_total_time=$(FUZZ_TIME) -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=build/fuzz/$$f- build/fuzz/corpus/$$f tests/fuzz/corpus/$$f || exit 1; done

# Golden screens anew; the difference is for a person to look at.
golden: $B/tests/ui/t_screens
	@GOLDEN=1 $< >/dev/null; git --no-pager diff --stat -- tests/screens

bench: deps
	@$(MAKE) $(CORES) --no-print-directory all helpers
	@B=$B tests/bench/run

tidy:
	clang-tidy --quiet $(wildcard src/*/*.c src/*/*/*.c ui/*.c ui/*/*.c) -- -std=gnu17 -D_GNU_SOURCE -Isrc -I. -I$B/gen \
		-DSANDGLASS_VERSION='"$(VERSION)"'
format-check:
	@clang-format --dry-run --Werror $(wildcard src/*/*.[ch] src/*/*/*.[ch] ui/*.[ch] ui/*/*.[ch])

LIBEXEC := $(DESTDIR)$(PREFIX)/libexec/sandglass
SHARE := $(DESTDIR)$(PREFIX)/share/sandglass
COMPLETION := $(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions/sandglass zsh/site-functions/_sandglass \
	fish/vendor_completions.d/sandglass.fish)
MAN := $(addprefix $(DESTDIR)$(PREFIX)/share/man/,man1/sandglass.1 man3/sandglass-lua.3 man5/sandglass-policy.5 man7/sandglass-filter.7 \
	man7/sandglass-tutorial.7 man7/sandglass-console.7 man7/sandglass-backends.7 man7/sandglass-events.7)
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(LIBEXEC) $(SHARE)
	install $B/sandglass $B/sandglass-replay $(DESTDIR)$(PREFIX)/bin/
	install $B/sandglass-launcher $B/sandglass-keeper $B/sandglass-guest $B/sandglass-host \
		$B/sandglass-tls $B/sandglass-screen $B/sandglass-git $(LIBEXEC)/
	install -m 644 $B/sandglass-guest.gz $(LIBEXEC)/
	cp -R lua $(SHARE)/
	install -m 644 plugins/deepagents/sandglass_backend.py $(SHARE)/
	install -m 644 schema/README.md $(SHARE)/FORMAT.md
	install -m 644 schema/events.json $(SHARE)/events.schema.json
	install -m 755 schema/check_proof.sh $(SHARE)/
	install -d $(dir $(COMPLETION))
	for f in $(COMPLETION); do case $$f in *.fish) sh=fish;; */_sandglass) sh=zsh;; *) sh=bash;; esac; \
		$B/sandglass completion $$sh > $$f && chmod 644 $$f || exit 1; done
	install -d $(dir $(MAN))
	for f in $(MAN); do page=$${f##*/}; $B/sandglass help --man $${page%.*} > $$f && chmod 644 $$f || exit 1; done
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/sandglass $(DESTDIR)$(PREFIX)/bin/sandglass-replay $(COMPLETION) $(MAN)
	rm -rf $(LIBEXEC) $(SHARE)

clean:
	rm -rf build

-include $(sort $(shell find $B $S -name '*.d' 2>/dev/null))
