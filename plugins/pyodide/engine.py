# The Python side of a pyodide box (engine.mjs): does what the words of a command line ask of an interpreter. Part of the
# memory that every interpreter starts from, so what it imports is there at once.
import ast, asyncio, base64, builtins, errno, json, linecache, os, re, runpy, signal, socket, sys, time, traceback, types

WHAT = "python -c CODE, python FILE, python -m MODULE, python - (code on stdin), pip install FILE.whl"
MINE = "<sandglass>"
INTERRUPTED = -2
NOBODYS = sys.excepthook, sys.__excepthook__  # pyodide has put its own there


# --- what this Python has not, or has otherwise ---


def _no_network(*_, **__):
    raise OSError(errno.ENETUNREACH, "a pyodide box has no network")


class _Clock:
    """In the place of a selector: there is nothing to wait for but time."""

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError("asyncio waits for something that cannot come: a pyodide box has no threads, processes or sockets")
        if timeout > 0:
            time.sleep(timeout)
        return []


class _Loop(asyncio.BaseEventLoop):
    """An event loop that needs nothing of the one that JavaScript has."""

    _selector = _Clock()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass


class _Policy(asyncio.events._BaseDefaultEventLoopPolicy):
    _loop_factory = _Loop


def _settle(hooks):
    """Makes of the fresh interpreter one for a program."""

    def sleep(seconds):
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        hooks.sleep(float(seconds))

    time.sleep = sleep
    asyncio.events._set_running_loop(None)
    asyncio.events._set_event_loop_policy(_Policy())
    asyncio.run = asyncio.runners.run
    socket.socket.connect = socket.socket.connect_ex = socket.socket.bind = socket.getaddrinfo = _no_network
    sys.path[:] = [p for p in sys.path if p]
    for name in ("js", "pyodide_js"):
        sys.modules.pop(name, None)
    if os.path.isdir(_site()):
        sys.path.append(_site())


class Unable(Exception):
    """One line for people, and the exit status."""

    def __init__(self, text, status=2):
        super().__init__(text)
        self.status = status


def _flush():
    for f in (sys.stdout, sys.stderr):
        try:
            f.flush()
        except Exception:
            pass


def _tell(exc):
    """The traceback of @exc without frames of ours."""
    tb = exc.__traceback__
    while tb and (tb.tb_frame.f_code.co_filename == MINE or "runpy" in tb.tb_frame.f_code.co_filename):
        tb = tb.tb_next
    if sys.excepthook not in NOBODYS:
        sys.excepthook(type(exc), exc.with_traceback(tb), tb)
        return
    told = traceback.TracebackException(type(exc), exc, tb)
    told.stack[:] = [f for f in told.stack if f.filename != MINE and not f.filename.endswith(".mjs")]
    told.print()


def _guard(fn):
    """Runs @fn as an interpreter runs a program; the exit status."""
    try:
        fn()
        status = 0
    except SystemExit as e:
        status = _status(e.code)
    except KeyboardInterrupt as e:
        _tell(e)
        status = INTERRUPTED
    except Unable as e:
        print(e, file=sys.stderr)
        status = e.status
    except BaseException as e:
        _tell(e)
        status = 1
    return status


def _status(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 255
    print(code, file=sys.stderr)
    return 1


def _main(**names):
    """A new module __main__."""
    m = types.ModuleType("__main__")
    m.__dict__.update(__builtins__=builtins, **names)
    sys.modules["__main__"] = m
    return m.__dict__


def _run_code(text, name, where):
    if name != "<string>" and isinstance(text, str):
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec", dont_inherit=True), where)


def _run_file(path):
    try:
        if os.path.isdir(path):
            sys.path[0] = path
            runpy.run_path(path, run_name="__main__")
            return
        with open(path, "rb") as f:
            text = f.read()
    except OSError as e:
        raise Unable(f"python: can't open file {os.path.join(os.getcwd(), path)!r}: [Errno {e.errno}] {e.strerror}")
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    exec(compile(text, path, "exec", dont_inherit=True), _main(__file__=path, __cached__=None))


def _run_module(name):
    sys.path[0] = os.getcwd()
    if name == "pip":
        _pip(sys.argv[1:])
        return
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except ImportError as e:
        if e.__traceback__ and "runpy" in traceback.extract_tb(e.__traceback__)[-1].filename:
            raise Unable(f"python: {e}", 1)
        raise


# --- wheels ---


def _site():
    return os.path.join(os.path.expanduser("~"), ".local", "lib", "python%d.%d" % sys.version_info[:2], "site-packages")


def _pip(words):
    import importlib.metadata, zipfile

    files = [w for w in words[1:] if not w.startswith("-")]
    if words[:1] == ["list"]:
        for d in sorted({(d.name, d.version) for d in importlib.metadata.distributions()}):
            print("%s %s" % d)
        return
    if words[:1] != ["install"] or not files:
        raise Unable("pip: here it knows 'pip install FILE.whl ...' and 'pip list'", 1)
    for path in files:
        name = os.path.basename(path)
        if not name.endswith(".whl"):
            raise Unable(f"pip: '{path}' is no wheel, and a pyodide box has no network: put wheels (FILE.whl) into it", 1)
        parts = name[:-4].split("-")
        if len(parts) < 5 or not (parts[-1] == "any" or "wasm32" in parts[-1]):
            raise Unable(f"pip: '{name}' is built for {parts[-1]}: expected a wheel of pure Python (...-none-any.whl)", 1)
        try:
            with zipfile.ZipFile(path) as z:
                os.makedirs(_site(), exist_ok=True)
                z.extractall(_site())
        except (OSError, zipfile.BadZipFile) as e:
            raise Unable(f"pip: cannot install '{path}': {e}", 1)
        print("Installed", "-".join(parts[:2]))


# --- interactive ---


def _interact():
    import code

    sys.ps1, sys.ps2 = getattr(sys, "ps1", ">>> "), getattr(sys, "ps2", "... ")
    console = code.InteractiveConsole(_main())

    def ask(prompt=""):
        sys.stdout.flush()
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.removesuffix("\n")

    console.raw_input = ask
    console.interact(banner="", exitmsg="")


def _shell(mark, hooks):
    """A shell that stays (sandbox/shell.h). A command is MARK:TURN:CODE. in lines, the mark without its first character, the
    code as base64; its last expression is shown. After each: the mark, a status and the turn. A line with the mark begins
    anew: what came before it is part of a command whose rest a ^C has taken from the terminal, or was typed for a program
    that has not read it. A command without code follows a ^C: when it is over, the ^C is, too."""
    where, terminal, out, begin = _main(), sys.stdin, sys.stdout, mark[1:] + ":"
    busy, late, left = False, False, None

    def on_sigint(*_):
        nonlocal late
        if busy:
            raise KeyboardInterrupt
        late = True

    def ask():
        nonlocal late
        text, late = "", False
        while True:
            hooks.idle(1)
            line = terminal.readline()
            hooks.idle(0)
            if not line:
                return None, None
            text = line.strip() if line.startswith(begin) else text and text + line.strip()
            if text.endswith("."):
                turn, _, code = text[len(begin):-1].partition(":")
                try:
                    return int(turn), base64.b64decode(code, validate=True).decode("utf-8", "replace")
                except ValueError:  # there is something else in it
                    text = ""

    def one(text):
        nonlocal left
        if late:
            raise KeyboardInterrupt
        try:
            tree = ast.parse(text, "<shell>")
            linecache.cache["<shell>"] = (len(text), None, text.splitlines(True), "<shell>")
            last = ast.Interactive([tree.body.pop()]) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<shell>", "exec", dont_inherit=True), where)
            if last:
                exec(compile(last, "<shell>", "single", dont_inherit=True), where)
        except SystemExit as e:
            left = e

    def status_of(text):
        nonlocal busy
        try:
            busy = True
            return _guard(lambda: one(text))
        except KeyboardInterrupt:  # while its end was told: excepthook may be the program's own
            return INTERRUPTED
        finally:
            busy = False

    signal.signal(signal.SIGINT, on_sigint)
    status, turn = 0, 0
    while turn is not None:
        _flush()
        out.write("%s:%d:%d%s" % (mark, 130 if status == INTERRUPTED else status, turn, mark[0]))
        out.flush()
        turn, code = ask()
        status = status_of(code) if code else 0
        if turn is not None and not code:
            hooks.settle()
        if left:
            raise left


# --- the command line ---


def _options(words):
    """What is to be run, after the interpreter's own options."""
    i = 0
    while i < len(words):
        w = words[i]
        if w == "-" or not w.startswith("-"):
            break
        i += 1
        if w in ("-V", "--version"):
            print("Python", sys.version.split()[0])
            raise SystemExit(0)
        if w.startswith("--"):
            raise Unable(f"python: a pyodide box knows no option {w} ({WHAT})")
        for at, letter in enumerate(w[1:], 2):
            if letter in "cm":
                rest = w[at:]
                if not rest and i == len(words):
                    raise Unable(f"python: argument expected for the -{letter} option")
                return letter, rest or words[i], words[i + (not rest):]
            if letter in "WX":
                i += not w[at:]
                break
            if letter == "i":
                return "i", None, words[i:]
            if letter not in "bBdEhIOPqRsSuvx":
                raise Unable(f"python: a pyodide box knows no option -{letter} ({WHAT})")
    if i < len(words):
        return ("-" if words[i] == "-" else "f"), words[i], words[i + 1:]
    return ("i" if sys.stdin.isatty() else "-"), None, []


def _python(words):
    kind, what, rest = _options(words)
    sys.argv = [{"c": "-c", "m": "-m", "f": what, "-": "-"}.get(kind, ""), *rest]
    sys.path.insert(0, "")
    if kind == "c":
        _run_code(what, "<string>", _main())
    elif kind == "m":
        _run_module(what)
    elif kind == "f":
        _run_file(what)
    elif kind == "i":
        _interact()
    else:
        _run_code(sys.stdin.buffer.read(), "<stdin>", _main())


def start(argv, env, cwd, hooks):
    """@argv, @env ("NAME=value"), @cwd: bytes as Latin-1 text. The exit status; INTERRUPTED: by SIGINT."""

    def work():
        words = [os.fsdecode(w.encode("latin-1")) for w in argv]
        os.environ.clear()
        for pair in env:
            name, _, value = os.fsdecode(pair.encode("latin-1")).partition("=")
            if name:
                os.environ[name] = value
        _settle(hooks)
        try:
            os.chdir(os.fsdecode(cwd.encode("latin-1")))
        except OSError as e:
            raise Unable(f"python: cannot enter '{cwd}': {e.strerror}", 126)
        if words[0] == "pip":
            _pip(words[1:])
        elif words[0] == "shell":
            _shell(words[1], hooks)
        else:
            _python(words[1:])

    status = _guard(work)
    try:
        import atexit

        atexit._run_exitfuncs()
    except BaseException as e:
        _tell(e)
    _flush()
    return status
