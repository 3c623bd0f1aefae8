import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { filesIn } from '@heddle/core/files';
import { chunksFrom, readStart } from '../../openapi/body.ts';
import { dataOf } from '../../openapi/send.ts';
import type { NativeToolCall } from '../native-integration.ts';

/** Larger objects become run files as they arrive. */
const MAX_INLINE_BYTES = 2 ** 20;
/** Larger files are stored in parts of at least this size, one of which is in memory at a time. S3 requires 5 MiB. */
const MIN_PART_BYTES = 8 * 2 ** 20;
const MAX_PARTS = 10_000;

/** A run file that is stored in parts. */
export interface LargeFile {
  byteCount: number;
  type: string;
  chunks: AsyncIterable<Uint8Array>;
}

/** Returns the content of a small object. Stores a larger object as a run file, and returns this file. */
export async function readObject(
  { Body, ContentType = '' }: GetObjectCommandOutput,
  { Key }: { Key: string },
  { context: { services } }: NativeToolCall,
): Promise<JsonObject> {
  if (!Body) return { content: dataOf(new Uint8Array(), ContentType), file: null };
  const reader = Body.transformToWebStream().getReader();
  try {
    const start = await readStart(reader, MAX_INLINE_BYTES);
    if (start.isComplete) return { content: dataOf(start.bytes, ContentType), file: null };
    const name = Key.split('/').at(-1) || 'object';
    const chunks = chunksFrom(start.bytes, reader);
    return { content: null, file: { ...(await services.storeFile({ name, type: ContentType, chunks })) } };
  } finally {
    // Closes the connection of a body that was not read to its end.
    await reader.cancel().catch(() => undefined);
  }
}

/** Returns the run file that a call stores in parts; undefined if one request suffices. */
export async function largeFileOf({ args, context }: NativeToolCall): Promise<LargeFile | undefined> {
  const value = getOwn(args, 'file');
  const [record] = isJsonObject(value) ? filesIn(value) : [];
  if (!record || (record as unknown) !== value) return undefined;
  const file = await context.services.openFile(record);
  if (!file || file.bytes <= MIN_PART_BYTES) return undefined;
  const type = getOwn(args, 'contentType');
  return {
    byteCount: file.bytes,
    type: typeof type === 'string' ? type : record.type,
    chunks: file.chunks(),
  };
}

/** Stores a file in parts, and returns the stored object. Parts of an upload that fails are removed. */
export async function storeInParts(
  client: S3Client,
  { Bucket, Key, byteCount, type, chunks }: LargeFile & { Bucket: string; Key: string },
): Promise<{ ContentType: string; ContentLength: number; ETag: string | undefined }> {
  const sdk = await import('@aws-sdk/client-s3');
  const target = { Bucket, Key };
  const { UploadId } = await client.send(
    new sdk.CreateMultipartUploadCommand({ ...target, ContentType: type }),
  );
  const upload = { ...target, UploadId };
  try {
    const Parts: { ETag: string | undefined; PartNumber: number }[] = [];
    for await (const Body of partsOf(chunks, Math.max(MIN_PART_BYTES, Math.ceil(byteCount / MAX_PARTS)))) {
      const PartNumber = Parts.length + 1;
      const { ETag } = await client.send(new sdk.UploadPartCommand({ ...upload, PartNumber, Body }));
      Parts.push({ ETag, PartNumber });
    }
    const { ETag } = await client.send(
      new sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }),
    );
    return { ContentType: type, ContentLength: byteCount, ETag };
  } catch (error) {
    // Without the removal, the service keeps the parts and charges for them. An error of the removal is ignored: the
    // error of the upload is thrown.
    await client.send(new sdk.AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

/** Returns the chunks in parts of this size; the last one is smaller. */
async function* partsOf(chunks: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array, void> {
  let part = new Uint8Array(size);
  let length = 0;
  for await (const chunk of chunks)
    for (let offset = 0; offset < chunk.length;) {
      const slice = chunk.subarray(offset, offset + size - length);
      part.set(slice, length);
      length += slice.length;
      offset += slice.length;
      if (length === size) {
        yield part;
        part = new Uint8Array(size);
        length = 0;
      }
    }
  if (length > 0) yield part.subarray(0, length);
}
