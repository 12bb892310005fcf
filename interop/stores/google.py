"""A server with the requests of Google Cloud Storage's XML interface that clients of objects make, in memory: objects with generations, conditions on
them, metadata, ranges, listings and uploads in parts. Other servers of that kind do not compare generations.

  google.py PORT
"""

import hashlib
import http.server
import sys
import threading
import urllib.parse
import xml.sax.saxutils

LOCK = threading.Lock()
OBJECTS = {}  # key: (generation, bytes, metadata)
UPLOADS = {}  # id: (key, metadata, parts)
LAST = [0]


def number():
    LAST[0] += 1
    return LAST[0]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code):
        self.answer(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    def request(self):
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = url.path[1:].partition("/")
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if bucket != "lath":
            return self.refuse(404, "NoSuchBucket")
        with LOCK:
            return getattr(self, f"on_{self.command.lower()}")(urllib.parse.unquote(key), query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = request

    def metadata(self):
        return [(name, value) for name, value in self.headers.items() if name.lower().startswith("x-goog-meta-")]

    def store(self, key, data, metadata):
        generation = number()
        OBJECTS[key] = (generation, data, metadata)
        return self.answer(200, b"", self.heads(generation, data, metadata))

    @staticmethod
    def heads(generation, data, metadata):
        tag = hashlib.md5(data).hexdigest()
        return [("ETag", f'"{tag}"'), ("x-goog-generation", str(generation)), ("Last-Modified", "Sun, 29 Nov 2026 12:00:00 GMT"), *metadata]

    def on_put(self, key, query, body):
        if "uploadId" in query:
            if query["uploadId"] not in UPLOADS:
                return self.refuse(404, "NoSuchUpload")
            UPLOADS[query["uploadId"]][2][int(query["partNumber"])] = body
            return self.answer(200, b"", [("ETag", f'"{hashlib.md5(body).hexdigest()}"')])
        wanted = self.headers.get("x-goog-if-generation-match")
        if wanted is not None and int(wanted) != OBJECTS.get(key, (0,))[0]:
            return self.refuse(412, "PreconditionFailed")
        return self.store(key, body, self.metadata())

    def on_post(self, key, query, body):
        if "uploads" in query:
            name = str(number())
            UPLOADS[name] = (key, self.metadata(), {})
            return self.answer(200, f"<InitiateMultipartUploadResult><Bucket>lath</Bucket><Key>{xml.sax.saxutils.escape(key)}</Key><UploadId>{name}</UploadId></InitiateMultipartUploadResult>".encode())
        if query.get("uploadId") not in UPLOADS:
            return self.refuse(404, "NoSuchUpload")
        _, metadata, parts = UPLOADS.pop(query["uploadId"])
        generation, data = number(), b"".join(parts[part] for part in sorted(parts))
        OBJECTS[key] = (generation, data, metadata)
        tag = hashlib.md5(data).hexdigest()
        self.answer(200, f"<CompleteMultipartUploadResult><Bucket>lath</Bucket><Key>{xml.sax.saxutils.escape(key)}</Key><ETag>\"{tag}\"</ETag></CompleteMultipartUploadResult>".encode(), [("x-goog-generation", str(generation))])

    def on_delete(self, key, query, _):
        if "uploadId" in query:
            UPLOADS.pop(query["uploadId"], None)
        else:
            OBJECTS.pop(key, None)
        self.answer(204)

    def on_get(self, key, query, _):
        if "uploads" in query:
            return self.answer(200, "".join(f"<UploadId>{name}</UploadId>" for name in UPLOADS).encode())
        if not key:
            return self.listing(query)
        if key not in OBJECTS:
            return self.refuse(404, "NoSuchKey")
        generation, data, metadata = OBJECTS[key]
        heads = self.heads(generation, data, metadata)
        wanted = self.headers.get("Range")
        if wanted is None:
            return self.answer(200, data, heads)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        start, end = (max(0, len(data) - int(last)), len(data)) if not first else (int(first), min(len(data), int(last or len(data)) + 1))
        if start >= len(data):
            return self.refuse(416, "InvalidRange")
        return self.answer(206, data[start:end], [*heads, ("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")])

    on_head = on_get

    def listing(self, query):
        prefix, after, slash = query.get("prefix", ""), query.get("start-after", ""), query.get("delimiter")
        entries, folders = [], set()
        for key in sorted(OBJECTS):
            if not key.startswith(prefix) or key <= after:
                continue
            rest = key[len(prefix) :]
            if slash and slash in rest:
                folders.add(prefix + rest.split(slash)[0] + slash)
                continue
            tag = hashlib.md5(OBJECTS[key][1]).hexdigest()
            entries.append(f"<Contents><Key>{xml.sax.saxutils.escape(key)}</Key><LastModified>2026-11-29T12:00:00.000Z</LastModified><ETag>\"{tag}\"</ETag><Size>{len(OBJECTS[key][1])}</Size></Contents>")
        entries += [f"<CommonPrefixes><Prefix>{xml.sax.saxutils.escape(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders)]
        self.answer(200, f"<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{''.join(entries)}</ListBucketResult>".encode())


http.server.ThreadingHTTPServer.request_queue_size = 128
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
