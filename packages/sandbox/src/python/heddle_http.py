"""Routes http.client, and libraries built on it, to the host's fetch, which enforces the egress policy, instead of sockets."""

import http.client
import io

import heddle_sync

_DROPPED_HEADERS = {"content-encoding", "transfer-encoding", "content-length", "connection"}


def _decode_chunked(body):
    out = bytearray()
    stream = io.BytesIO(body)
    while size := int(stream.readline().split(b";")[0] or b"0", 16):
        out += stream.read(size)
        stream.readline()
    return bytes(out)


def _request(scheme, host, data):
    """Converts a request written by http.client to the host's format."""
    header_data, _, body = data.partition(b"\r\n\r\n")
    request_line, *lines = header_data.decode("latin-1").split("\r\n")
    method, target, _ = request_line.split(" ", 2)
    headers = [[name, value.strip()] for name, _, value in (line.partition(":") for line in lines)]
    values = {name.lower(): value for name, value in headers}
    if "chunked" in values.get("transfer-encoding", "").lower():
        body = _decode_chunked(body)
    headers = [pair for pair in headers if pair[0].lower() not in _DROPPED_HEADERS]
    url = target if "://" in target else f"{scheme}://{host}{target}"
    head = {"url": url, "method": method, "headers": headers, "redirect": "manual"}
    return head, body if body or "content-length" in values else None


def _response(method, fields, body):
    """Converts the host's answer to the format that http.client reads."""
    lines = [f"HTTP/1.1 {fields['status']} {fields['statusText']}".rstrip()]
    for name, value in fields["headers"]:
        if name.lower() not in _DROPPED_HEADERS or method == "HEAD" and name.lower() == "content-length":
            lines.append(f"{name}: {value}")
    if method != "HEAD":
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _is_complete(data):
    """Returns whether the request is completely written."""
    header_data, separator, body = data.partition(b"\r\n\r\n")
    headers = header_data.lower()
    if not separator:
        return False
    if b"\r\ntransfer-encoding: chunked" in headers:
        return body.endswith(b"0\r\n\r\n")
    _, _, length = headers.partition(b"\r\ncontent-length:")
    return len(body) >= int(length.split(b"\r\n")[0] or 0)


class _Exchange:
    """Stands in for a socket: sends a request as soon as it is completely written."""

    def __init__(self, scheme, host):
        self.scheme = scheme
        self.host = host
        self.written = bytearray()
        self.response = b""

    def sendall(self, data):
        self.written += data
        if _is_complete(self.written):
            self.send()

    def send(self):
        head, body = _request(self.scheme, self.host, bytes(self.written))
        self.written.clear()
        fields, content = heddle_sync.call("fetch", head, body)
        self.response = _response(head["method"], fields, content)

    def makefile(self, mode="rb", *rest, **options):
        if self.written:
            self.send()
        return io.BytesIO(self.response)

    def settimeout(self, seconds):
        pass

    def setsockopt(self, *option):
        pass

    def shutdown(self, how):
        pass

    def close(self):
        pass


def _authority(connection):
    host = f"[{connection.host}]" if ":" in connection.host else connection.host
    return host if connection.port == connection.default_port else f"{host}:{connection.port}"


def _connect(scheme):
    def connect(self):
        if self._tunnel_host:
            raise heddle_sync.HostError("EGRESS_DENIED", "Proxies are not supported here: connect to the host directly.")
        self.sock = _Exchange(scheme, _authority(self))

    return connect


def install():
    """Patches http.client. Must run before urllib.request is imported, which checks for HTTPS only once."""
    http.client.HTTPConnection.connect = _connect("http")
    if not hasattr(http.client, "HTTPSConnection"):

        class HTTPSConnection(http.client.HTTPConnection):
            default_port = http.client.HTTPS_PORT

            def __init__(self, host, port=None, *, context=None, **options):
                super().__init__(host, port, **options)
                self._context = context

        http.client.HTTPSConnection = HTTPSConnection
        http.client._create_https_context = lambda version: None
    http.client.HTTPSConnection.connect = _connect("https")
