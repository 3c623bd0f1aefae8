// npm run exports: what a user would install is checked, not what stands in the tree. Each package is packed;
// publint and attw read the tarball; then all tarballs are unpacked side by side and every entry is imported.
import { execFileSync } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const bin = (name) => join(repository, 'node_modules/.bin', name);

function run(command, args, options = {}) {
  try {
    const stdout = execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe', ...options });
    return { code: 0, stdout, stderr: '' };
  } catch (error) {
    return { code: error.status ?? 1, stdout: error.stdout ?? '', stderr: error.stderr || error.message };
  }
}

/** The tarball of the package in `folder`, written to `destination` without running its scripts. */
export function pack(folder, destination) {
  const result = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', destination], {
    cwd: folder,
  });
  if (result.code !== 0) throw new Error(`npm pack failed in ${folder}: ${result.stderr}`);
  return join(destination, JSON.parse(result.stdout)[0].filename);
}

function publintProblems(tarball) {
  const result = run(bin('publint'), [tarball, '--strict']);
  if (result.code === 0 && !result.stdout.includes('All good')) return ['publint read nothing'];
  return result.code === 0 ? [] : [`publint: ${result.stdout.trim()}`];
}

function attwProblems(tarball) {
  const result = run(bin('attw'), [tarball, '--profile', 'esm-only', '-f', 'json']);
  if (result.code !== 0) return [`attw: ${result.stdout || result.stderr}`];
  const { resolutions } = JSON.parse(result.stdout).analysis.entrypoints['.'];
  const sawTypes = resolutions['node16-esm'].resolution?.isTypeScript === true;
  return sawTypes ? [] : ['attw saw no types of the entry "."'];
}

/** What publint and attw hold against one tarball; empty where they hold nothing. */
export function tarballProblems(tarball) {
  return [...publintProblems(tarball), ...attwProblems(tarball)];
}

function unpack(tarball, modules) {
  const folder = mkdtempSync(join(modules, '.unpack-'));
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const target = join(modules, manifest.name);
  mkdirSync(join(target, '..'), { recursive: true });
  rmSync(target, { recursive: true, force: true });
  renameSync(folder, target);
  return manifest;
}

/** Unpacks `tarballs` into `folder`/node_modules beside the repository's third-party packages. */
function install(tarballs, folder) {
  const modules = join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  for (const name of readdirSync(join(repository, 'node_modules'))) {
    if (name.startsWith('.') || name === '@heddle' || name === 'heddle') continue;
    symlinkSync(join(repository, 'node_modules', name), join(modules, name));
  }
  return tarballs.map((tarball) => unpack(tarball, modules));
}

/** What goes wrong when every entry of the unpacked packages is imported, and every bin is started. */
function importProblems(manifests, folder) {
  return manifests.flatMap((manifest) => {
    const code = `const names = Object.keys(await import(${JSON.stringify(manifest.name)})); if (!names.length) throw new Error('exports nothing');`;
    const imported = run(process.execPath, ['--input-type=module', '-e', code], { cwd: folder });
    const started = Object.values(manifest.bin ?? {}).map((file) =>
      run(process.execPath, [join(folder, 'node_modules', manifest.name, file), '--version']),
    );
    return [imported, ...started]
      .filter((result) => result.code !== 0)
      .map((result) => `${manifest.name}: ${result.stderr.trim()}`);
  });
}

/** Every problem of the packages in `folders`, packed and unpacked as a user gets them. */
export function packageProblems(folders) {
  const scratch = mkdtempSync(join(tmpdir(), 'heddle-exports-'));
  try {
    const tarballs = folders.map((folder) => pack(folder, scratch));
    const manifests = install(tarballs, scratch);
    return [...tarballs.flatMap(tarballProblems), ...importProblems(manifests, scratch)];
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function main() {
  const folders = globSync('packages/*/package.json', { cwd: repository }).map((file) =>
    resolve(repository, file, '..'),
  );
  if (folders.length === 0) throw new Error('No packages found.');
  const problems = packageProblems(folders);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.stdout.write(`${folders.length} packages checked, ${problems.length} problems.\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
