import type { BuildContext } from '../../builder.ts';
import { parseWheelName } from '../pep/wheel-name.ts';
import { fetchMetadata } from '../wheels/remote-metadata.ts';
import type { AvailableWheel, Source } from './source.ts';

/** The wheels of a Pyodide distribution: file name → SHA-256, from the lock file of the interpreter's distribution. */
export type PyodideWheelDigests = Readonly<Record<string, string>>;

/**
 * Returns a mirror of a Pyodide distribution as a source. Its files are verified with the digests of the distribution's
 * lock file.
 */
export function createPyodideSource(
  url: string,
  wheelDigests: PyodideWheelDigests,
  context: BuildContext,
): Source {
  const rootUrl = url.endsWith('/') ? url : `${url}/`;
  const availableWheels = Object.entries(wheelDigests).flatMap(([filename, sha256]) => {
    const wheel = parseWheelName(filename);
    if (!wheel) return [];
    const availableWheel: AvailableWheel = {
      source: 'pyodide',
      filename,
      wheel,
      location: new URL(filename, rootUrl).href,
      digest: `sha256:${sha256}`,
      size: undefined,
      requiresPython: '',
      yanked: undefined,
      metadata: undefined,
    };
    return [availableWheel];
  });
  return {
    kind: 'pyodide',
    find(name) {
      const matchingWheels = availableWheels.filter(({ wheel }) => wheel.name === name);
      return Promise.resolve(
        matchingWheels.length === 0 ? undefined : { wheels: matchingWheels, sourceOnlyVersions: [] },
      );
    },
    metadataOf: (availableWheel) => fetchMetadata(availableWheel, context),
  };
}
