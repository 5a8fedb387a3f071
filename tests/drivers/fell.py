"""Runs a command, waits for all that it leaves behind (a supervisor outlives its console), and names each one that fell: that a
fault of its own ended, which no exit status of the command tells."""
import ctypes, os, signal, subprocess, sys
FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS)
PR_SET_CHILD_SUBREAPER = 36

ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
subprocess.Popen(sys.argv[1:])
while True:
    try:
        pid, status = os.wait()
    except ChildProcessError:
        break
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in FAULTS:
        print("fell:", signal.Signals(os.WTERMSIG(status)).name)
