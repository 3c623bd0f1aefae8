"""The part of the requests library that blocks use, for interpreters whose image does not contain the library."""

import base64 as _base64
import json as _json
import types as _types
from collections.abc import MutableMapping as _MutableMapping
from http import HTTPStatus as _HTTPStatus
from http.cookies import SimpleCookie as _SimpleCookie
from urllib.parse import urlencode as _urlencode

from heddle_sync import HostError as _HostError, call as _call


class RequestException(OSError):
    def __init__(self, *args, request=None, response=None):
        super().__init__(*args)
        self.request = request
        self.response = response


class ConnectionError(RequestException):
    pass


class HTTPError(RequestException):
    pass


class Timeout(RequestException):
    pass


class TooManyRedirects(RequestException):
    pass


class InvalidURL(RequestException, ValueError):
    pass


class JSONDecodeError(RequestException, _json.JSONDecodeError):
    def __init__(self, error):
        _json.JSONDecodeError.__init__(self, error.msg, error.doc, error.pos)
        self.request = self.response = None


exceptions = _types.SimpleNamespace(
    RequestException=RequestException,
    ConnectionError=ConnectionError,
    ConnectTimeout=Timeout,
    HTTPError=HTTPError,
    InvalidURL=InvalidURL,
    JSONDecodeError=JSONDecodeError,
    ReadTimeout=Timeout,
    Timeout=Timeout,
    TooManyRedirects=TooManyRedirects,
)
ConnectTimeout = ReadTimeout = Timeout
_EXCEPTIONS_BY_CODE = {"EGRESS_TIMEOUT": Timeout}


class _Codes(dict):
    __getattr__ = dict.__getitem__


codes = _Codes({status.name.lower(): status.value for status in _HTTPStatus})


class CaseInsensitiveDict(_MutableMapping):
    def __init__(self, data=None, **kwargs):
        self._store = {}
        self.update(data or {}, **kwargs)

    def __setitem__(self, name, value):
        self._store[name.lower()] = (name, value)

    def __getitem__(self, name):
        return self._store[name.lower()][1]

    def __delitem__(self, name):
        del self._store[name.lower()]

    def __iter__(self):
        return (name for name, _ in self._store.values())

    def __len__(self):
        return len(self._store)

    def __repr__(self):
        return repr(dict(self.items()))


class Response:
    def __init__(self, fields, content, request):
        self.status_code = fields["status"]
        self.reason = fields["statusText"]
        self.url = fields["url"]
        self.content = content
        self.request = request
        self.headers = CaseInsensitiveDict()
        self.cookies = {}
        self.history = []
        for name, value in fields["headers"]:
            previous = self.headers.get(name)
            self.headers[name] = value if previous is None else f"{previous}, {value}"
            if name.lower() == "set-cookie":
                self.cookies.update({key: morsel.value for key, morsel in _SimpleCookie(value).items()})
        self.encoding = self._charset()

    def _charset(self):
        media_type, *options = self.headers.get("content-type", "").split(";")
        for option in options:
            name, _, value = option.strip().partition("=")
            if name.lower() == "charset":
                return value.strip("\"' ")
        return "ISO-8859-1" if media_type.strip().startswith("text/") else None

    @property
    def ok(self):
        return self.status_code < 400

    @property
    def is_redirect(self):
        return "location" in self.headers and self.status_code in (301, 302, 303, 307, 308)

    @property
    def apparent_encoding(self):
        return "utf-8"

    @property
    def text(self):
        try:
            return self.content.decode(self.encoding or "utf-8", "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")

    def json(self, **options):
        try:
            return _json.loads(self.content if self.encoding in (None, "ISO-8859-1") else self.text, **options)
        except _json.JSONDecodeError as error:
            raise JSONDecodeError(error) from None

    def iter_content(self, chunk_size=1, decode_unicode=False):
        data, size = (self.text if decode_unicode else self.content), chunk_size or max(1, len(self.content))
        return (data[start : start + size] for start in range(0, len(data), size))

    def iter_lines(self, chunk_size=512, decode_unicode=False):
        return iter((self.text if decode_unicode else self.content).splitlines())

    def raise_for_status(self):
        if self.status_code >= 400:
            side = "Client" if self.status_code < 500 else "Server"
            text = f"{self.status_code} {side} Error: {self.reason} for url: {self.url}"
            raise HTTPError(text, request=self.request, response=self)

    def close(self):
        pass

    def __bool__(self):
        return self.ok

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __repr__(self):
        return f"<Response [{self.status_code}]>"


def _bytes(value):
    return value.encode("utf-8") if isinstance(value, str) else bytes(value)


def _multipart(data, files):
    """Returns a multipart form with files, and its content type."""
    boundary = f"----heddle{_base64.b16encode(__import__('os').urandom(12)).decode('ascii')}"
    out = bytearray()
    parts = [(name, (None, str(value), None)) for name, value in (data or {}).items()]
    for name, file in files.items() if isinstance(files, dict) else files:
        file = file if isinstance(file, tuple) else (getattr(file, "name", name), file)
        parts.append((name, (file[0], file[1], file[2] if len(file) > 2 else "application/octet-stream")))
    for name, (filename, content, content_type) in parts:
        content = content.read() if hasattr(content, "read") else content
        out += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'.encode()
        if filename is not None:
            out += f'; filename="{filename}"\r\nContent-Type: {content_type}'.encode()
        out += b"\r\n\r\n" + _bytes(content) + b"\r\n"
    return bytes(out + f"--{boundary}--\r\n".encode()), f"multipart/form-data; boundary={boundary}"


def _body(data, json, files):
    """Returns the body, and the content type that it implies."""
    if files:
        return _multipart(data, files)
    if data is None or data == {}:
        return (None, None) if json is None else (_json.dumps(json).encode("utf-8"), "application/json")
    if isinstance(data, (str, bytes, bytearray)):
        return _bytes(data), None
    if hasattr(data, "read"):
        return _bytes(data.read()), None
    return _urlencode(data, doseq=True).encode("ascii"), "application/x-www-form-urlencoded"


def _with_params(url, params):
    if not params:
        return url
    query = params if isinstance(params, str) else _urlencode(_without_none(params), doseq=True)
    base, separator, fragment = url.partition("#")
    return f"{base}{'&' if '?' in base else '?'}{query}{separator}{fragment}"


def _without_none(params):
    pairs = params.items() if hasattr(params, "items") else params
    return [(name, value) for name, value in pairs if value is not None]


def _seconds(timeout):
    if isinstance(timeout, tuple):
        timeouts = [value for value in timeout if value is not None]
        return sum(timeouts) if len(timeouts) == len(timeout) else None
    return timeout


class Session:
    def __init__(self):
        self.headers = CaseInsensitiveDict({"User-Agent": "heddle", "Accept": "*/*"})
        self.auth = None
        self.params = {}
        self.cookies = {}
        self.verify = True

    def request(self, method, url, params=None, data=None, headers=None, cookies=None, files=None, auth=None,
                timeout=None, allow_redirects=True, proxies=None, hooks=None, stream=None, verify=None, cert=None,
                json=None):
        body, content_type = _body(data, json, files)
        sent_headers = CaseInsensitiveDict(self.headers)
        if content_type is not None:
            sent_headers["Content-Type"] = content_type
        jar = {**self.cookies, **(cookies or {})}
        if jar:
            sent_headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in jar.items())
        credentials = auth or self.auth
        if isinstance(credentials, (tuple, list)):
            pair = ":".join(str(part) for part in credentials).encode("utf-8")
            sent_headers["Authorization"] = f"Basic {_base64.b64encode(pair).decode('ascii')}"
        sent_headers.update(headers or {})
        all_params = [*_without_none(self.params), *_without_none(params or {})] if not isinstance(params, str) else params
        head = {
            "url": _with_params(url, all_params),
            "method": method.upper(),
            "headers": [[name, str(value)] for name, value in sent_headers.items() if value is not None],
            "redirect": "follow" if allow_redirects else "manual",
        }
        if (seconds := _seconds(timeout)) is not None:
            head["timeoutMs"] = seconds * 1000
        response = self._send(head, body)
        self.cookies.update(response.cookies)
        return response

    def _send(self, head, body):
        request = _types.SimpleNamespace(method=head["method"], url=head["url"], body=body,
                                         headers=CaseInsensitiveDict(dict(head["headers"])))
        try:
            fields, content = _call("fetch", head, body)
        except _HostError as error:
            raise _EXCEPTIONS_BY_CODE.get(error.code, ConnectionError)(str(error), request=request) from None
        return Response(fields, content, request)

    def get(self, url, **options):
        return self.request("GET", url, **options)

    def options(self, url, **options):
        return self.request("OPTIONS", url, **options)

    def head(self, url, **options):
        return self.request("HEAD", url, **{"allow_redirects": False, **options})

    def post(self, url, data=None, json=None, **options):
        return self.request("POST", url, data=data, json=json, **options)

    def put(self, url, data=None, **options):
        return self.request("PUT", url, data=data, **options)

    def patch(self, url, data=None, **options):
        return self.request("PATCH", url, data=data, **options)

    def delete(self, url, **options):
        return self.request("DELETE", url, **options)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def session():
    return Session()


def request(method, url, **options):
    return Session().request(method, url, **options)


def get(url, params=None, **options):
    return request("GET", url, params=params, **options)


def options(url, **options):
    return request("OPTIONS", url, **options)


def head(url, **options):
    return request("HEAD", url, **{"allow_redirects": False, **options})


def post(url, data=None, json=None, **options):
    return request("POST", url, data=data, json=json, **options)


def put(url, data=None, **options):
    return request("PUT", url, data=data, **options)


def patch(url, data=None, **options):
    return request("PATCH", url, data=data, **options)


def delete(url, **options):
    return request("DELETE", url, **options)
