import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of an archive. Some fields can have values that occur only in hostile archives. */
export interface ZipEntry {
  readonly path: string;
  readonly content?: string | Uint8Array;
  /** True if the content is compressed; default true. */
  readonly isCompressed?: boolean;
  /** Unix file mode, such as 0o120777 for a symbolic link. */
  readonly mode?: number;
  /** The uncompressed size that the archive declares; default: the actual size. */
  readonly claimedSize?: number;
  readonly isEncrypted?: boolean;
}

/** Returns a zip archive of the entries, which may be invalid. */
export function createZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directoryParts: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { name, commonHeader, data } = encodeEntry(entry);
    const localSignature = Buffer.alloc(4);
    localSignature.writeUInt32LE(0x04034b50);
    const centralPrefix = Buffer.alloc(6);
    centralPrefix.writeUInt32LE(0x02014b50);
    centralPrefix.writeUInt16LE(entry.mode === undefined ? 20 : 0x0314, 4);
    const trailer = Buffer.alloc(14);
    trailer.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 6);
    trailer.writeUInt32LE(offset, 10);
    directoryParts.push(centralPrefix, commonHeader, trailer, name);
    parts.push(localSignature, commonHeader, name, data);
    offset += 4 + commonHeader.length + name.length + data.length;
  }
  const directoryBytes = Buffer.concat(directoryParts);
  const endRecord = Buffer.alloc(22);
  endRecord.writeUInt32LE(0x06054b50);
  endRecord.writeUInt16LE(entries.length, 8);
  endRecord.writeUInt16LE(entries.length, 10);
  endRecord.writeUInt32LE(directoryBytes.length, 12);
  endRecord.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, directoryBytes, endRecord]);
}

function encodeEntry({
  path,
  content = '',
  isCompressed = true,
  claimedSize,
  isEncrypted = false,
}: ZipEntry) {
  const bytes = Buffer.from(content);
  const data = isCompressed ? deflateRawSync(bytes) : bytes;
  const name = Buffer.from(path);
  const commonHeader = Buffer.alloc(26);
  commonHeader.writeUInt16LE(20, 0);
  commonHeader.writeUInt16LE(isEncrypted ? 0x0801 : 0x0800, 2);
  commonHeader.writeUInt16LE(isCompressed ? 8 : 0, 4);
  commonHeader.writeUInt16LE(0x21, 8);
  commonHeader.writeUInt32LE(crc32(bytes), 10);
  commonHeader.writeUInt32LE(data.length, 14);
  commonHeader.writeUInt32LE(claimedSize ?? bytes.length, 18);
  commonHeader.writeUInt16LE(name.length, 22);
  return { name, commonHeader, data };
}
