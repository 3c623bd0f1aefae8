import { readFile } from 'node:fs/promises';
import type { BuildContext } from '../../builder.ts';
import { ImageError, isImageError } from '../../error.ts';
import { compressionOf, decompressText } from '../archive/decompress.ts';
import { MAX_INDEX_BYTES, MAX_INDEX_TEXT_BYTES } from '../limits.ts';
import type { Archive } from './archives.ts';
import { PackageCatalogue } from './catalogue.ts';
import { fetchRelease, type Release } from './release.ts';

/** Debian's names for Node.js architectures. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Returns the architecture of packages for this host. Throws ImageError incompatible_platform. */
export function debianArchitecture(): string {
  const architecture = ARCHITECTURES[process.arch];
  if (architecture !== undefined && process.platform === 'linux') return architecture;
  throw new ImageError(
    'incompatible_platform',
    `There are no native images for ${process.platform} on ${process.arch}.`,
  );
}

/** The packages of all archives, and warnings. */
export interface ArchiveContents {
  readonly catalogue: PackageCatalogue;
  readonly warnings: readonly string[];
}

async function fetchIndex(url: string, digest: string, context: BuildContext): Promise<Uint8Array> {
  try {
    const { path } = await context.fetchVerified(url, `sha256:${digest}`, { maxBytes: MAX_INDEX_BYTES });
    return await readFile(path);
  } catch (error) {
    if (!isImageError(error) || error.code !== 'package_not_found') throw error;
    throw new ImageError(
      'registry_unavailable',
      `The archive lists an index that it does not have: ${error.message}`,
    );
  }
}

/** Fetches the index of one component, with the best compression that the archive offers. */
async function fetchComponentIndex(
  { mirrorUrl, suite }: Archive,
  release: Release,
  folder: string,
  context: BuildContext,
): Promise<string> {
  for (const extension of ['.xz', '.gz', '']) {
    const path = `${folder}/Packages${extension}`;
    const digest = release.files.get(path);
    const compression = compressionOf(path);
    if (digest === undefined || compression === undefined) continue;
    const suiteUrl = `${mirrorUrl}dists/${suite}/`;
    const url = release.supportsByHash
      ? `${suiteUrl}${folder}/by-hash/SHA256/${digest}`
      : `${suiteUrl}${path}`;
    const bytes = await fetchIndex(url, digest, context);
    const name = `The index ${path} of ${new URL(mirrorUrl).host}`;
    return decompressText(bytes, { compression, maxBytes: MAX_INDEX_TEXT_BYTES, name });
  }
  throw new ImageError(
    'registry_unavailable',
    `${new URL(mirrorUrl).host} ${suite} has no index ${folder}/Packages.`,
  );
}

/**
 * Reads the packages of all archives.
 * @throws ImageError registry_unavailable, integrity_error, incompatible_platform.
 */
export async function readArchives(
  archives: readonly Archive[],
  context: BuildContext,
): Promise<ArchiveContents> {
  const architecture = debianArchitecture();
  const catalogue = new PackageCatalogue();
  const warnings: string[] = [];
  for (const archive of archives) {
    context.reportProgress(`reading ${new URL(archive.mirrorUrl).host} ${archive.suite}`);
    const release = await fetchRelease(archive, context);
    warnings.push(...release.warnings);
    for (const component of archive.components) {
      const index = await fetchComponentIndex(
        archive,
        release,
        `${component}/binary-${architecture}`,
        context,
      );
      catalogue.add(index, { baseUrl: archive.mirrorUrl });
    }
  }
  return { catalogue, warnings };
}
