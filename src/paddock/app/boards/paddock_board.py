"""Runs in the environment of a board, with its Python: serves TensorBoard or VisualDL on a Unix socket.

    python paddock_board.py tensorboard|visualdl SOCKET PREFIX fast|slow LANGUAGE DIRECTORY

Both are WSGI applications, and listen on a TCP port only by their own command lines: a port is open to every user of
the machine, a socket in a private directory is not. PREFIX: the path below which everything lies. `fast`: TensorBoard
may start its data server, which does listen on a port, in a network of its own. It ends when its standard input does.
"""

import os
import sys
import threading
from typing import Any


class UnixServer:
    """What TensorBoard calls the server of its application (`tensorboard.program.TensorBoardServer`)."""

    def __init__(self, application: Any, path: str, *, threaded: bool) -> None:
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            def log_request(self, *words: object) -> None:
                """Nothing: each address has the secret of the session in it."""

            def address_string(self) -> str:
                return "-"  # a Unix socket's peer has none

        self._server = make_server(f"unix://{path}", 0, application, threaded=threaded, request_handler=Quiet)

    def serve_forever(self) -> None:
        self._server.serve_forever()

    def get_url(self) -> str:
        return "http://localhost:1/"

    def print_serving_message(self) -> None:
        """Nothing: it would name a port."""


def serve_tensorboard(path: str, prefix: str, fast: str, language: str, directory: str) -> None:
    from tensorboard import default, program  # type: ignore[import-not-found, unused-ignore]

    board = program.TensorBoard(
        plugins=default.get_plugins(),
        server_class=lambda application, flags: UnixServer(application, path, threaded=True),
    )
    board.configure(argv=["tensorboard", f"--logdir={directory}", f"--path_prefix={prefix}", f"--load_fast={fast}"])
    sys.exit(board.main())


def serve_visualdl(path: str, prefix: str, fast: str, language: str, directory: str) -> None:
    from visualdl.server.app import ParseArgs, create_app  # type: ignore[import-not-found, unused-ignore]

    # Without a language it asks the browser, and fails where that wants neither English nor Chinese.
    arguments = ParseArgs(logdir=[directory], public_path=prefix, language=language, telemetry=False)
    # Its readers are not made for several threads: its own command serves one request at a time too.
    UnixServer(create_app(arguments), path, threaded=False).serve_forever()


def end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def main(name: str, path: str, prefix: str, speed: str, language: str, directory: str) -> None:
    threading.Thread(target=end_with_input, daemon=True).start()
    serve = {"tensorboard": serve_tensorboard, "visualdl": serve_visualdl}[name]
    serve(path, prefix, "auto" if speed == "fast" else "false", language, directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
