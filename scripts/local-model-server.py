"""Runs the llama.cpp server on a model file until it is told to end.

Arguments: the model file, and the file to write the base URL to. scripts/local-model starts it.
"""

import os
import signal
import sys

import xllamacpp


def main() -> None:
    model, url_file = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 8192  # shared by the slots: 4096 each
    params.n_parallel = 2
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.endpoint_metrics = True
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    address = server.listening_address
    with open(url_file + ".new", "w") as file:
        file.write(f"{address}/v1\n")
    os.replace(url_file + ".new", url_file)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    # Without the interpreter's own end: nothing needs saving, and a call under way may take long.
    os._exit(0)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
