import type { Json, JsonObject } from '@heddle/core';
import { googleError, textOf } from './simulated-service.ts';
import type { SimulatedService, SimulatedRequest, SimulatedResponse } from './simulated-service.ts';

interface DriveFile {
  id: string;
  name: string;
  mimeType: string;
  content: Buffer;
  parents: Json;
}

interface UploadSession {
  file: DriveFile;
  parts: Buffer[];
  receivedBytes: number;
}

const DOCUMENT_MIME_TYPE = 'application/vnd.google-apps.document';
const FOLDER_MIME_TYPE = 'application/vnd.google-apps.folder';
/** The size of each part except the last one must be a multiple of this. */
const PART_SIZE_MULTIPLE = 256 * 1024;

const errorResponse = (code: number, reason: string, message: string): SimulatedResponse => ({
  status: code,
  body: { error: { code, message, errors: [{ domain: 'global', reason, message }] } },
});

const metadataOf = ({ id, name, mimeType, content, parents }: DriveFile): JsonObject => ({
  ...{ kind: 'drive#file', id, name, mimeType, parents },
  ...(!mimeType.startsWith('application/vnd.google-apps.') && { size: String(content.length) }),
});

/** Returns what is wrong with a part of a file; undefined if the part is valid. */
function problemOf(
  range: string,
  { bytes, total, receivedBytes }: { bytes: Buffer; total: number; receivedBytes: number },
): string | undefined {
  const [firstByte = 0, lastByte = 0] = range.split('-').map(Number);
  if (firstByte !== receivedBytes || lastByte - firstByte + 1 !== bytes.length)
    return 'Invalid Content-Range';
  const isLast = lastByte + 1 === total;
  return isLast || bytes.length % PART_SIZE_MULTIPLE === 0
    ? undefined
    : 'Parts must have a multiple of 256 KiB';
}

/**
 * Simulates the API of developers.google.com/workspace/drive: files with metadata, resumable uploads, content with
 * alt=media, exports of documents. Rate limits have status 403 and a reason.
 */
export function createGoogleDrive(): SimulatedService {
  const files = new Map<string, DriveFile>();
  const sessions = new Map<string, UploadSession>();
  const addFile = (file: Omit<DriveFile, 'id'>): DriveFile => {
    const addedFile = { ...file, id: `file-${files.size + 1}` };
    files.set(addedFile.id, addedFile);
    return addedFile;
  };
  for (const name of ['Notes', 'Plan', 'Report'])
    addFile({ name, mimeType: DOCUMENT_MIME_TYPE, content: Buffer.from(`# ${name}`), parents: ['root'] });

  const startUpload = ({ baseUrl, body, query, headers }: SimulatedRequest): SimulatedResponse => {
    if (query.get('uploadType') !== 'resumable')
      return errorResponse(400, 'badRequest', 'Unsupported uploadType');
    const { name = 'Untitled', mimeType = headers['x-upload-content-type'] ?? '', parents = ['root'] } = body;
    const id = `upload-${sessions.size + 1}`;
    const file = {
      id: '',
      name: textOf(name),
      mimeType: textOf(mimeType),
      content: Buffer.alloc(0),
      parents,
    };
    sessions.set(id, { file, parts: [], receivedBytes: 0 });
    const location = `${baseUrl}/upload/drive/v3/files?uploadType=resumable&upload_id=${id}`;
    return { headers: { location }, body: null };
  };

  const receivePart = ({ query, headers, bytes }: SimulatedRequest): SimulatedResponse => {
    const session = sessions.get(query.get('upload_id') ?? '');
    if (!session) return errorResponse(404, 'notFound', 'Upload session not found');
    const [, range, totalText] = /^bytes (\*|\d+-\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
    if (range === undefined) return errorResponse(400, 'badRequest', 'Missing Content-Range');
    const total = Number(totalText);
    const problem =
      range === '*' ? undefined : problemOf(range, { bytes, total, receivedBytes: session.receivedBytes });
    if (problem !== undefined) return errorResponse(400, 'badRequest', problem);
    session.parts.push(bytes);
    session.receivedBytes += bytes.length;
    if (session.receivedBytes < total) {
      const rangeHeader =
        session.receivedBytes === 0 ? {} : { range: `bytes=0-${session.receivedBytes - 1}` };
      return { status: 308, headers: rangeHeader, body: null };
    }
    if (session.file.id === '')
      Object.assign(session.file, addFile({ ...session.file, content: Buffer.concat(session.parts) }));
    return { body: metadataOf(session.file) };
  };

  const list = ({ query }: SimulatedRequest): SimulatedResponse => {
    const token = query.get('pageToken');
    const startIndex = token === null ? 0 : Number(/^page-(\d+)$/.exec(token)?.[1] ?? Number.NaN);
    const size = Number(query.get('pageSize') ?? 100);
    if (Number.isNaN(startIndex) || size < 1 || size > 1000)
      return errorResponse(400, 'invalid', 'Invalid Value');
    const nextPage = startIndex + size < files.size ? { nextPageToken: `page-${startIndex + size}` } : {};
    return {
      body: { files: [...files.values()].slice(startIndex, startIndex + size).map(metadataOf), ...nextPage },
    };
  };

  const download = (file: DriveFile): SimulatedResponse => {
    if (file.mimeType.startsWith('application/vnd.google-apps.'))
      return errorResponse(403, 'fileNotDownloadable', 'Only files with binary content can be downloaded.');
    return { headers: { 'content-type': file.mimeType }, body: file.content };
  };

  const exportFile = (file: DriveFile, { query }: SimulatedRequest): SimulatedResponse => {
    if (file.mimeType !== DOCUMENT_MIME_TYPE)
      return errorResponse(403, 'fileNotExportable', 'Export only supports documents.');
    const type = query.get('mimeType');
    if (type === null) return errorResponse(400, 'required', 'Required parameter: mimeType');
    if (!['application/pdf', 'text/plain'].includes(type))
      return errorResponse(400, 'badRequest', 'The requested conversion is not supported.');
    return { headers: { 'content-type': type }, body: file.content };
  };

  const respondForFile = (
    request: SimulatedRequest,
    [, id = '', action]: readonly string[],
  ): SimulatedResponse => {
    const file = files.get(id);
    if (!file) return errorResponse(404, 'notFound', `File not found: ${id}.`);
    if (request.method === 'DELETE') {
      files.delete(id);
      return { status: 204, body: Buffer.alloc(0) };
    }
    if (action === 'export') return exportFile(file, request);
    return request.query.get('alt') === 'media' ? download(file) : { body: metadataOf(file) };
  };

  return (request) => {
    const { method, path, query, body } = request;
    if (path === '/upload/drive/v3/files') {
      if (method === 'POST') return startUpload(request);
      return method === 'PUT' && query.has('upload_id')
        ? receivePart(request)
        : googleError(404, 'NOT_FOUND', 'Not Found');
    }
    if (path === '/drive/v3/files') {
      if (method === 'GET') return list(request);
      const { name = 'Untitled', mimeType = FOLDER_MIME_TYPE, parents = ['root'] } = body;
      return {
        body: metadataOf(
          addFile({ name: textOf(name), mimeType: textOf(mimeType), content: Buffer.alloc(0), parents }),
        ),
      };
    }
    const match = /^\/drive\/v3\/files\/([^/]+)(?:\/(export))?$/.exec(path);
    return match ? respondForFile(request, match) : googleError(404, 'NOT_FOUND', 'Not Found');
  };
}
