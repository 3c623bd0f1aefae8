import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Manifest, packageFolders, readJson, readText, repositoryFolder } from './sources.ts';

/** A package in the lock file. */
interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** A package that is allowed although its licence is not in `ALLOWED_LICENCES`. */
interface LicenceException {
  readonly name: string;
  readonly licence: string;
  readonly reason: string;
}

interface RootManifest extends Manifest {
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

const exceptions = readJson<readonly LicenceException[]>('test/repo/licences.json');

const ALLOWED_LICENCES = new Set(['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD']);

const lockedPackages = readJson<{ packages: Record<string, LockedPackage> }>('package-lock.json').packages;
const rootManifest = readJson<RootManifest>('package.json');
const installedPackages = Object.entries(lockedPackages).filter(
  ([path, entry]) => path.includes('node_modules/') && !entry.link,
);
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 13);

/** Returns the names of all packages that our packages install or bundle, directly or through a dependency. */
function shippedPackages(): Set<string> {
  const manifests = packageFolders().map((folder) => readJson<Manifest>(`packages/${folder}/package.json`));
  const names = new Set(
    manifests.flatMap((manifest) => Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })),
  );
  for (const name of names) {
    for (const [path, entry] of installedPackages) {
      if (nameOf(path) !== name) continue;
      const allDependencies = {
        ...entry.dependencies,
        ...entry.optionalDependencies,
        ...entry.peerDependencies,
      };
      for (const dependency of Object.keys(allDependencies)) names.add(dependency);
    }
  }
  return names;
}

/** Returns whether `ALLOWED_LICENCES` has all licences of an SPDX expression, or of one side of an `OR`. */
function isAllowed(licence: string | undefined): boolean {
  const alternatives = (licence ?? '').replaceAll(/[()]/g, '').split(' OR ');
  return alternatives.some((alternative) =>
    alternative.split(' AND ').every((name) => ALLOWED_LICENCES.has(name.trim())),
  );
}

/** Returns the declared licence of the package at `path`, or else Unlicense if its file LICENSE has that text. */
function licenceOf(path: string, { license }: LockedPackage): string | undefined {
  if (license !== undefined) return license;
  const file = join(repositoryFolder, path, 'LICENSE');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return text.startsWith('This is free and unencumbered software released into the public domain.')
    ? 'Unlicense'
    : undefined;
}

/** Returns the shipped packages whose licence is not allowed, with the licence. */
function packagesWithDisallowedLicences(): { name: string; licence: string | undefined }[] {
  const names = shippedPackages();
  const entries = installedPackages.filter(([path]) => names.has(nameOf(path)));
  if (entries.length < 5)
    throw new Error('The lock file has fewer than 5 shipped packages: its format may have changed.');
  return entries
    .map(([path, entry]) => ({ name: nameOf(path), licence: licenceOf(path, entry) }))
    .filter(({ licence }) => !isAllowed(licence));
}

describe('dependencies', () => {
  it('that our packages install or bundle have a permissive licence or are an exception', () => {
    const isException = (dependency: { name: string; licence: string | undefined }): boolean =>
      exceptions.some(({ name, licence }) => name === dependency.name && licence === dependency.licence);
    expect(packagesWithDisallowedLicences().filter((dependency) => !isException(dependency))).toEqual([]);
  });

  it('are an exception only with a reason, and only if it is needed', () => {
    const neededExceptions = packagesWithDisallowedLicences().map(
      ({ name, licence }) => `${name}: ${licence}`,
    );
    expect(
      exceptions.filter(({ name, licence }) => !neededExceptions.includes(`${name}: ${licence}`)),
    ).toEqual([]);
    expect(exceptions.filter(({ reason }) => reason.length < 40)).toEqual([]);
  });

  it.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0)', true],
    ['MIT AND GPL-3.0', false],
    ['GPL-3.0', false],
    [undefined, false],
  ])('with the licence %s are allowed: %s', (licence, allowed) => {
    expect(isAllowed(licence)).toBe(allowed);
  });

  it('are pinned to exact versions', () => {
    const manifests = [
      rootManifest,
      ...packageFolders().map((folder) => readJson<Manifest>(`packages/${folder}/package.json`)),
    ];
    const unpinnedDependencies = manifests.flatMap((manifest) =>
      Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${manifest.name}: ${name}@${version}`),
    );
    expect(unpinnedDependencies).toEqual([]);
  });

  // If a release is not yet in the registry for some platform, an override in package.json keeps the earlier release.
  it('are locked for every platform, else npm ci refuses the lock file', () => {
    const names = new Set(installedPackages.map(([path]) => nameOf(path)));
    const optionalNames = installedPackages.flatMap(([, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}),
    );
    expect(optionalNames.length).toBeGreaterThan(10);
    expect(optionalNames.filter((name) => !names.has(name))).toEqual([]);
  });

  it('with an install script are allowed or refused by name', () => {
    const namesWithScripts = installedPackages
      .filter(([, entry]) => entry.hasInstallScript)
      .map(([path]) => nameOf(path));
    expect(namesWithScripts).toContain('node');
    expect(namesWithScripts.filter((name) => !(name in rootManifest.allowScripts))).toEqual([]);
  });

  it('pin a Node of the major version that the packages and the bin require', () => {
    const majorVersion = rootManifest.devDependencies?.['node']?.split('.')[0];
    const bin = readText('packages/cli/bin/heddle.js');
    expect(bin).toContain(`const MIN_NODE = ${majorVersion};`);
    for (const folder of packageFolders()) {
      expect(readJson<Manifest>(`packages/${folder}/package.json`).engines).toEqual({
        node: `>=${majorVersion}`,
      });
    }
    expect(process.versions.node.split('.')[0]).toBe(majorVersion);
  });
});
