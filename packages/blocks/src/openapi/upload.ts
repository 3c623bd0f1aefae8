import { BlockError, getOwn } from '@heddle/core/blocks';
import { filesIn } from '@heddle/core/files';
import { withRetries } from './retry.ts';
import { fileOf } from './request.ts';
import type { ServiceRequest } from './request.ts';
import type { ToolInvocation, ServiceResponse } from './send.ts';
import { ArgumentError } from './wire.ts';

/** A file to send. */
interface Source {
  size: number;
  type: string;
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Sends a request once, within the rate limit of the key. */
type Send = (request: ServiceRequest) => Promise<ServiceResponse | BlockError>;

/** Bytes of one request: a multiple of 256 KiB, as services require. */
const CHUNK_BYTES = 3 * 2 ** 20;
/** The status "Resume Incomplete": the service has a part of the file. */
const INCOMPLETE = 308;

/** Returns the file that an upload sends. Throws an ArgumentError. */
export async function sourceOf(
  { argument }: { argument: string },
  { args, context: { services } }: ToolInvocation,
): Promise<Source> {
  const value = getOwn(args, argument);
  if (value === undefined || value === null) throw new ArgumentError(`"${argument}" is missing`);
  const [record] = filesIn(value);
  if (record && (record as unknown) === value) {
    const content = await services.openFile(record);
    if (!content) throw new ArgumentError(`"${argument}" is not a file of this run`);
    return { size: content.bytes, type: record.type, chunks: content.chunks() };
  }
  const { bytes, type } = await fileOf(argument, value, services);
  return { size: bytes.length, type, chunks: [bytes] };
}

/** Returns the headers that announce a file. */
export function uploadHeaders({ size, type }: Source): ServiceRequest['headers'] {
  return [
    ['x-upload-content-type', type],
    ['x-upload-content-length', String(size)],
  ];
}

/**
 * Sends a file in parts to the URL in the response to the first request. Returns the last response. A part whose
 * request fails temporarily is sent again from the first byte that the service lacks.
 *
 * Throws a BlockError: HTTP_FAILED.
 */
export async function uploadParts(
  source: Source,
  {
    firstResponse,
    request,
    call,
    send,
  }: { firstResponse: ServiceResponse; request: ServiceRequest; call: ToolInvocation; send: Send },
): Promise<ServiceResponse> {
  const url = sessionUrlOf(firstResponse, request, call);
  const put = (range: string, body: Uint8Array): Promise<ServiceResponse | BlockError> =>
    send({
      ...request,
      ...{ method: 'PUT', url, body, redirect: 'manual' },
      // The URL itself gives access: the credential is not sent.
      headers: [['content-range', `bytes ${range}/${source.size}`]],
    });
  let start = 0;
  for await (const chunk of slicesOf(source)) {
    const end = start + chunk.length;
    let unsentStart = start;
    const response = await withRetries(
      call.context,
      async () => {
        const body = chunk.subarray(unsentStart - start);
        const result = await put(source.size === 0 ? '*' : `${unsentStart}-${end - 1}`, body);
        if (!(result instanceof BlockError) || !result.retryable) return result;
        const progress = await put('*', new Uint8Array());
        if (progress instanceof BlockError) return result;
        if (progress.status !== INCOMPLETE || receivedBytesIn(progress) >= end) return progress;
        unsentStart = Math.max(start, receivedBytesIn(progress));
        return result;
      },
      ({ retryable }) => retryable,
    );
    if (response.status !== INCOMPLETE) return response;
    if (receivedBytesIn(response) !== end)
      throw uploadError(call, 'has received a different part of the file than was sent');
    start = end;
  }
  throw uploadError(call, 'expects more than the whole file');
}

/** Returns how many bytes the service has. */
function receivedBytesIn({ headers }: ServiceResponse): number {
  const [, lastByte] = /^bytes=0-(\d{1,15})$/.exec(headers['range'] ?? '') ?? [];
  return lastByte === undefined ? 0 : Number(lastByte) + 1;
}

/** Returns the URL for the parts. It must belong to the service, so that no other host gets the file. */
function sessionUrlOf({ headers }: ServiceResponse, { url }: ServiceRequest, call: ToolInvocation): string {
  const location = headers['location'] ?? '';
  const sessionUrl = location !== '' && URL.canParse(location, url) ? new URL(location, url) : undefined;
  if (sessionUrl?.origin === new URL(url).origin && sessionUrl.username === '') return sessionUrl.href;
  throw uploadError(
    call,
    sessionUrl
      ? `names a URL at ${sessionUrl.origin} for the file, which is another host`
      : 'names no URL for the file',
  );
}

function uploadError({ tool }: ToolInvocation, problem: string): BlockError {
  return new BlockError(
    'HTTP_FAILED',
    `The upload of the tool "${tool.id}" failed: the service ${problem}.`,
    {
      retryable: false,
    },
  );
}

/** Returns the file in slices of `CHUNK_BYTES`; one empty slice for an empty file. */
async function* slicesOf({ chunks, size }: Source): AsyncGenerator<Uint8Array, void> {
  if (size === 0) yield new Uint8Array();
  // Chunks of stored files already have this size.
  for await (const chunk of chunks)
    for (let offset = 0; offset < chunk.length; offset += CHUNK_BYTES)
      yield chunk.subarray(offset, offset + CHUNK_BYTES);
}
