import { importedFile, type Manifest, type Module } from './sources.ts';

/** The packages that a package may import. */
interface Layer {
  /** Packages of this repository. */
  readonly ours: readonly string[];
  /** Third-party packages: patterns, or all packages that package.json declares. */
  readonly others: readonly RegExp[] | 'declared';
}

/** The layer table of docs/architecture.md. The check fails for a package without a row here. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  core: {
    ours: [],
    others: [/^zod(\/|$)/, /^graphology(-[a-z-]+)?(\/|$)/, /^@noble\/hashes(\/|$)/, /^acorn$/],
  },
  sandbox: { ours: [], others: 'declared' },
  images: { ours: ['@heddle/sandbox'], others: 'declared' },
  engine: { ours: ['@heddle/core', '@heddle/sandbox'], others: 'declared' },
  temporal: { ours: ['@heddle/core', '@heddle/engine'], others: 'declared' },
  blocks: { ours: ['@heddle/core', '@heddle/engine'], others: 'declared' },
  api: { ours: ['@heddle/core', '@heddle/engine'], others: 'declared' },
  service: {
    // From @heddle/sandbox: the type of image sources, and their errors.
    ours: ['@heddle/core', '@heddle/engine', '@heddle/sandbox', '@heddle/images', '@heddle/api'],
    others: 'declared',
  },
  studio: { ours: [], others: 'declared' },
  cli: {
    ours: [
      '@heddle/core',
      '@heddle/sandbox',
      '@heddle/images',
      '@heddle/engine',
      '@heddle/temporal',
      '@heddle/blocks',
      '@heddle/api',
      '@heddle/service',
      '@heddle/studio',
    ],
    others: 'declared',
  },
};

const ENGINE = 'packages/engine/src/';

/** Folders within a package, each with the folders that its modules may not import. */
const FOLDERS: readonly (readonly [folder: string, forbidden: readonly string[]])[] = [
  [`${ENGINE}records/`, [`${ENGINE}execution/`, `${ENGINE}runtime/`]],
  [`${ENGINE}execution/`, [`${ENGINE}runtime/`]],
  [`${ENGINE}runtime/local/`, [`${ENGINE}runtime/leased/`, `${ENGINE}runtime/segments/`]],
  [`${ENGINE}runtime/segments/`, [`${ENGINE}runtime/local/`, `${ENGINE}runtime/leased/`]],
  [`${ENGINE}runtime/leased/`, [`${ENGINE}runtime/segments/`]],
];

const TEST_ONLY = [/^vitest$/, /^fast-check$/, /^node:/];
const PURE = new Set(['core']);

/** Code that is built into one file: its imports are devDependencies, which reach the user inside that file. */
const BUNDLED = /^packages\/sandbox\/src\/guest\//;

function bareName(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
}

function folderProblem(file: string, target: string): string | undefined {
  const [, forbidden] = FOLDERS.find(([folder]) => file.startsWith(folder)) ?? [];
  const forbiddenFolder = forbidden?.find((folder) => target.startsWith(folder));
  return forbiddenFolder && `it may not import ${forbiddenFolder}`;
}

function relativeProblem(module: Module, specifier: string): string | undefined {
  const target = importedFile(module.file, specifier);
  const home = `packages/${module.package}/`;
  const machine = `${home}src/machine/`;
  if (!target.startsWith(home) && !(module.isTest && target.startsWith('test/'))) {
    return 'leaves its package';
  }
  if (module.package === 'core' && module.file.startsWith(machine) && !module.isTest) {
    if (!target.startsWith(machine)) return 'leaves core/src/machine, which imports nothing outside itself';
  }
  return folderProblem(module.file, target);
}

function layerProblem(module: Module, specifier: string): string | undefined {
  const layer = LAYERS[module.package];
  if (!layer) return `has no row in the layer table: packages/${module.package}`;
  const name = bareName(specifier);
  if (name.startsWith('@heddle/') || name === 'heddle') {
    return layer.ours.includes(name) ? undefined : `packages/${module.package} may not import it`;
  }
  if (layer.others === 'declared' || layer.others.some((allowed) => allowed.test(specifier)))
    return undefined;
  return `packages/${module.package} may import only what its layer lists`;
}

function bareProblem(module: Module, specifier: string, manifest: Manifest): string | undefined {
  if (module.isTest && TEST_ONLY.some((allowed) => allowed.test(specifier))) return undefined;
  if (module.package === 'core' && module.file.includes('/src/machine/') && !module.isTest) {
    return 'core/src/machine imports nothing outside itself';
  }
  if (specifier.startsWith('node:')) {
    return PURE.has(module.package)
      ? `packages/${module.package} is pure: it imports no module of Node.js`
      : undefined;
  }
  const problem = layerProblem(module, specifier);
  if (problem) return problem;
  const allowsDev = module.isTest || BUNDLED.test(module.file);
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const declared = { ...dependencies, ...peerDependencies, ...(allowsDev ? devDependencies : {}) };
  return bareName(specifier) in declared ? undefined : 'package.json does not declare it';
}

/** Returns a sentence for every import of `module` that the layer table forbids. */
export function importProblems(module: Module, manifest: Manifest): string[] {
  return module.imports.flatMap((specifier) => {
    const problem = specifier.startsWith('.')
      ? relativeProblem(module, specifier)
      : bareProblem(module, specifier, manifest);
    return problem ? [`${module.file} imports ${specifier}: ${problem}`] : [];
  });
}

/** Returns a sentence for every dependency of `manifest` that the layer table forbids for `folder`. */
export function dependencyProblems(folder: string, manifest: Manifest): string[] {
  const module = { package: folder } as Module;
  return Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).flatMap((name) => {
    const problem = layerProblem(module, name);
    return problem ? [`${manifest.name} depends on ${name}: ${problem}`] : [];
  });
}
