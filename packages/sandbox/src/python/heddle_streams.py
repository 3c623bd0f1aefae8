"""Console output: lines of stdout and stderr in the order in which they are written."""

import io

MAX_LINE_CHARS = 65_536


class _LineSplitter:
    """Splits written text into lines."""

    def __init__(self):
        self.print = None
        self.begin()

    def begin(self):
        """Starts the output of a job."""
        self.tail = ""
        self.full = False

    def add(self, text):
        if self.full:
            return
        *lines, tail = (self.tail + text).split("\n")
        for line in lines:
            self.emit(line)
        while len(tail) > MAX_LINE_CHARS:
            self.emit(tail[:MAX_LINE_CHARS])
            tail = tail[MAX_LINE_CHARS:]
        self.tail = tail

    def emit(self, line):
        # Once the host accepts no more lines, none are sent.
        self.full = self.full or not self.print(line)

    def end(self):
        if self.tail:
            self.emit(self.tail)
            self.tail = ""


line_splitter = _LineSplitter()


class _ByteStream(io.RawIOBase):
    def __init__(self, text_stream):
        self.text_stream = text_stream

    def writable(self):
        return True

    def write(self, data):
        self.text_stream.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of a job."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name, fd):
        self.name = name
        self.fd = fd
        self.buffer = _ByteStream(self)

    def fileno(self):
        return self.fd

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        line_splitter.add(text)
        return len(text)

    def reconfigure(self, **options):
        pass

    def close(self):
        pass


stdout = Stream("<stdout>", 1)
stderr = Stream("<stderr>", 2)
