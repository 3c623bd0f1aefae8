import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ImageError } from '../../error.ts';
import { parseMetadata } from '../pep/metadata.ts';
import { parseWheelName, type WheelName } from '../pep/wheel-name.ts';
import { readMetadataFromFile } from '../wheels/wheel-metadata.ts';
import type { AvailableWheel, Source } from './source.ts';

interface WheelFile {
  readonly filename: string;
  readonly wheel: WheelName;
}

/** Returns an operator's folder of wheels as a source. */
export function createWheelhouseSource(folder: string): Source {
  let listing: Promise<Map<string, WheelFile[]>> | undefined;
  return {
    kind: 'wheelhouse',
    async find(name) {
      listing ??= listWheels(folder);
      const files = (await listing).get(name);
      if (files === undefined) return undefined;
      return {
        wheels: await Promise.all(files.map((file) => toAvailableWheel(folder, file))),
        sourceOnlyVersions: [],
      };
    },
    metadataOf: ({ filename }) => readMetadataFromFile(join(folder, filename)),
  };
}

/** Returns the SHA-256 of a file in the lock's format. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return `sha256:${hash.digest('hex')}`;
}

async function listWheels(folder: string): Promise<Map<string, WheelFile[]>> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new ImageError('registry_unavailable', 'The configured folder of wheels cannot be read.', {
      cause: error,
    });
  });
  const wheels = names.flatMap((filename) => {
    const wheel = parseWheelName(filename);
    return wheel ? [{ filename, wheel }] : [];
  });
  return Map.groupBy(wheels, ({ wheel }) => wheel.name);
}

async function toAvailableWheel(folder: string, { filename, wheel }: WheelFile): Promise<AvailableWheel> {
  const path = join(folder, filename);
  const metadata = parseMetadata(await readMetadataFromFile(path));
  return {
    source: 'wheelhouse',
    filename,
    wheel,
    location: filename,
    digest: await digestOf(path),
    size: (await stat(path)).size,
    requiresPython: metadata?.requiresPython ?? '',
    yanked: undefined,
    metadata: undefined,
  };
}
