import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';

/** A file for an archive: its path and bytes. */
export interface StoredFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Signatures of a file, of its entry in the directory, and of the end of the directory. */
const LOCAL_SIGNATURE = 0x04034b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
/** Version 2.0 of the format, which is needed to extract the files. */
const FORMAT_VERSION = 20;
/** The flag for names in UTF-8. */
const UTF8_FLAG = 0x0800;
/** 1 January 1980, the earliest date in zip archives. Fixed, so that equal files produce equal archives. */
const EARLIEST_DATE = 0x21;
const MAX_ENTRIES = 0xffff;
const MAX_BYTES = 0xffffffff;

/**
 * Writes files, in the given order, to a zip archive without compression, so that their bytes can be used in place.
 * ZIP64 is not supported, because images have lower limits.
 */
export async function writeStoredZip(path: string, files: AsyncIterable<StoredFile>): Promise<void> {
  await pipeline(Readable.from(archiveParts(files)), createWriteStream(path, { flags: 'wx' }));
}

async function* archiveParts(files: AsyncIterable<StoredFile>): AsyncGenerator<Uint8Array> {
  const directory: Buffer[] = [];
  let offset = 0;
  for await (const { path, bytes } of files) {
    const name = Buffer.from(path);
    const fields = fieldsOf(bytes, name);
    directory.push(centralHeader(fields, offset), name);
    const localHeader = Buffer.concat([uint32(LOCAL_SIGNATURE), fields, name]);
    yield localHeader;
    yield bytes;
    offset += localHeader.byteLength + bytes.byteLength;
  }
  const directoryBytes = Buffer.concat(directory);
  const count = directory.length / 2;
  if (count > MAX_ENTRIES || offset + directoryBytes.byteLength > MAX_BYTES) {
    throw new RangeError('The archive is too large for its format.');
  }
  const endRecord = Buffer.alloc(22);
  endRecord.writeUInt32LE(END_SIGNATURE, 0);
  endRecord.writeUInt16LE(count, 8);
  endRecord.writeUInt16LE(count, 10);
  endRecord.writeUInt32LE(directoryBytes.byteLength, 12);
  endRecord.writeUInt32LE(offset, 16);
  yield Buffer.concat([directoryBytes, endRecord]);
}

/** Returns the fields that both headers of a file contain. */
function fieldsOf(bytes: Uint8Array, name: Buffer): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(FORMAT_VERSION, 0);
  fields.writeUInt16LE(UTF8_FLAG, 2);
  fields.writeUInt16LE(EARLIEST_DATE, 8);
  fields.writeUInt32LE(crc32(bytes), 10);
  fields.writeUInt32LE(bytes.byteLength, 14);
  fields.writeUInt32LE(bytes.byteLength, 18);
  fields.writeUInt16LE(name.byteLength, 22);
  return fields;
}

/** Returns a file's header in the central directory: the common fields, and the offset of the file. */
function centralHeader(fields: Buffer, offset: number): Buffer {
  const version = Buffer.alloc(2);
  version.writeUInt16LE(FORMAT_VERSION);
  const attributes = Buffer.alloc(14);
  attributes.writeUInt32LE(offset, 10);
  return Buffer.concat([uint32(CENTRAL_SIGNATURE), version, fields, attributes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
