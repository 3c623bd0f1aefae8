import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of an archive. Some fields can have values that occur only in hostile archives. */
export interface ZipEntry {
  readonly path: string;
  readonly content?: string | Uint8Array;
  /** True if the content is compressed; default true. */
  readonly deflate?: boolean;
  /** Mode of a Unix file, such as 0o120777 for a link. */
  readonly mode?: number;
  /** The declared size. */
  readonly claimedSize?: number;
  readonly encrypted?: boolean;
}

/** Returns a zip archive of the entries, which may be invalid. */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const { name, head, data } = encodeEntry(entry);
    const local = Buffer.alloc(4);
    local.writeUInt32LE(0x04034b50);
    const central = Buffer.alloc(6);
    central.writeUInt32LE(0x02014b50);
    central.writeUInt16LE(entry.mode === undefined ? 20 : 0x0314, 4);
    const trailer = Buffer.alloc(14);
    trailer.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 6);
    trailer.writeUInt32LE(at, 10);
    directory.push(central, head, trailer, name);
    parts.push(local, head, name, data);
    at += 4 + head.length + name.length + data.length;
  }
  const entriesBytes = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(entriesBytes.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, entriesBytes, end]);
}

function encodeEntry({ path, content = '', deflate = true, claimedSize, encrypted = false }: ZipEntry) {
  const bytes = Buffer.from(content);
  const data = deflate ? deflateRawSync(bytes) : bytes;
  const name = Buffer.from(path);
  const head = Buffer.alloc(26);
  head.writeUInt16LE(20, 0);
  head.writeUInt16LE(encrypted ? 0x0801 : 0x0800, 2);
  head.writeUInt16LE(deflate ? 8 : 0, 4);
  head.writeUInt16LE(0x21, 8);
  head.writeUInt32LE(crc32(bytes), 10);
  head.writeUInt32LE(data.length, 14);
  head.writeUInt32LE(claimedSize ?? bytes.length, 18);
  head.writeUInt16LE(name.length, 22);
  return { name, head, data };
}
