import { createWriteStream } from 'node:fs';
import { isAbsolute, join, normalize } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Installer } from './cache.ts';
import { type Env, runCommand } from './command.ts';

/** The service of Temporal that returns the URL of the archive for a platform. */
export const DOWNLOAD_SERVICE_URL = 'https://temporal.download';

const REQUEST_TIMEOUT_MS = 15_000;
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;
const UNPACK_TIMEOUT_MS = 60_000;

const ARCHES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

interface Archive {
  readonly archiveUrl: string;
  readonly fileToExtract: string;
}

/**
 * Returns an installer that downloads the Temporal CLI like the SDK's test environment: it asks `serviceUrl` for the
 * archive of this platform, downloads it and unpacks the one file. The SDK's own function also starts the server, so it
 * cannot be used here.
 */
export function createDownloadInstaller(
  version: string,
  options: { serviceUrl: string; env: Env },
): Installer {
  return async (scratchFolder) => {
    try {
      const archive = await requestArchive(version, options.serviceUrl);
      const file = join(scratchFolder, 'archive.tar.gz');
      await downloadTo(archive.archiveUrl, file);
      const args = ['-xzf', file, '-C', scratchFolder, archive.fileToExtract];
      const result = await runCommand('tar', args, { env: options.env, timeoutMs: UNPACK_TIMEOUT_MS });
      if (result.problem !== undefined) return { problem: result.problem };
      return { file: join(scratchFolder, archive.fileToExtract) };
    } catch (error) {
      return { problem: messageOf(error) };
    }
  };
}

async function requestArchive(version: string, serviceUrl: string): Promise<Archive> {
  const arch = ARCHES[process.arch];
  if (!arch) throw new Error(`there is no archive for the architecture ${process.arch}`);
  const query = new URLSearchParams({ arch, platform: process.platform, format: 'tar.gz' });
  const url = `${serviceUrl}/cli/${version}?${query.toString()}`;
  const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} returned status ${response.status}`);
  const { archiveUrl, fileToExtract } = (await response.json()) as Partial<Archive>;
  if (typeof archiveUrl !== 'string' || typeof fileToExtract !== 'string' || isUnsafePath(fileToExtract)) {
    throw new Error(`${url} returned no valid archive`);
  }
  // An HTTPS service must not redirect to an unencrypted archive.
  if (serviceUrl.startsWith('https:') && !archiveUrl.startsWith('https:')) {
    throw new Error(`${url} returned an unencrypted archive URL: ${archiveUrl}`);
  }
  return { archiveUrl, fileToExtract };
}

/** True for a path that leads out of the folder into which it is unpacked, or that `tar` would read as an option. */
function isUnsafePath(name: string): boolean {
  return isAbsolute(name) || normalize(name).startsWith('..') || name.startsWith('-');
}

async function downloadTo(url: string, file: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS) });
  if (!response.ok || !response.body) throw new Error(`${url} returned status ${response.status}`);
  await pipeline(Readable.fromWeb(response.body), createWriteStream(file));
}

/** Returns the message of an error and its cause: the message of `fetch` alone is only "fetch failed". */
function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
