import { importedFile, type Manifest, type Module } from './sources.ts';

/** The packages that a package may import. */
interface Layer {
  /** Packages of this repository. */
  readonly ourPackages: readonly string[];
  /** Third-party packages: patterns, or all packages that package.json declares. */
  readonly thirdPartyPackages: readonly RegExp[] | 'declared';
}

/** The layer table of docs/architecture.md. The check fails for a package without a row here. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  core: {
    ourPackages: [],
    thirdPartyPackages: [/^zod(\/|$)/, /^graphology(-[a-z-]+)?(\/|$)/, /^@noble\/hashes(\/|$)/, /^acorn$/],
  },
  sandbox: { ourPackages: [], thirdPartyPackages: 'declared' },
  images: { ourPackages: ['@heddle/sandbox'], thirdPartyPackages: 'declared' },
  engine: { ourPackages: ['@heddle/core', '@heddle/sandbox'], thirdPartyPackages: 'declared' },
  temporal: { ourPackages: ['@heddle/core', '@heddle/engine'], thirdPartyPackages: 'declared' },
  blocks: { ourPackages: ['@heddle/core', '@heddle/engine'], thirdPartyPackages: 'declared' },
  api: { ourPackages: ['@heddle/core', '@heddle/engine'], thirdPartyPackages: 'declared' },
  service: {
    // From @heddle/sandbox: the type of image sources, and their errors.
    ourPackages: ['@heddle/core', '@heddle/engine', '@heddle/sandbox', '@heddle/images', '@heddle/api'],
    thirdPartyPackages: 'declared',
  },
  studio: { ourPackages: [], thirdPartyPackages: 'declared' },
  cli: {
    ourPackages: [
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
    thirdPartyPackages: 'declared',
  },
};

const ENGINE_FOLDER = 'packages/engine/src/';

/** Folders within a package, each with the folders that its modules may not import. */
const FOLDER_RULES: readonly (readonly [folder: string, forbidden: readonly string[]])[] = [
  [`${ENGINE_FOLDER}records/`, [`${ENGINE_FOLDER}execution/`, `${ENGINE_FOLDER}runtime/`]],
  [`${ENGINE_FOLDER}execution/`, [`${ENGINE_FOLDER}runtime/`]],
  [
    `${ENGINE_FOLDER}runtime/local/`,
    [`${ENGINE_FOLDER}runtime/leased/`, `${ENGINE_FOLDER}runtime/segments/`],
  ],
  [
    `${ENGINE_FOLDER}runtime/segments/`,
    [`${ENGINE_FOLDER}runtime/local/`, `${ENGINE_FOLDER}runtime/leased/`],
  ],
  [`${ENGINE_FOLDER}runtime/leased/`, [`${ENGINE_FOLDER}runtime/segments/`]],
];

const TEST_ONLY_IMPORTS = [/^vitest$/, /^fast-check$/, /^node:/];
const PURE_PACKAGES = new Set(['core']);

/** Code that is built into one file: its imports are devDependencies, which reach the user inside that file. */
const BUNDLED_FILE = /^packages\/sandbox\/src\/guest\//;

function packageNameOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
}

function folderProblem(file: string, target: string): string | undefined {
  const [, forbiddenFolders] = FOLDER_RULES.find(([folder]) => file.startsWith(folder)) ?? [];
  const forbiddenFolder = forbiddenFolders?.find((folder) => target.startsWith(folder));
  return forbiddenFolder && `it may not import ${forbiddenFolder}`;
}

function relativeImportProblem(module: Module, specifier: string): string | undefined {
  const target = importedFile(module.file, specifier);
  const packagePath = `packages/${module.packageFolder}/`;
  const machinePath = `${packagePath}src/machine/`;
  if (!target.startsWith(packagePath) && !(module.isTest && target.startsWith('test/'))) {
    return 'leaves its package';
  }
  if (module.packageFolder === 'core' && module.file.startsWith(machinePath) && !module.isTest) {
    if (!target.startsWith(machinePath))
      return 'leaves core/src/machine, which imports nothing outside itself';
  }
  return folderProblem(module.file, target);
}

function layerProblem(module: Module, specifier: string): string | undefined {
  const layer = LAYERS[module.packageFolder];
  if (!layer) return `has no row in the layer table: packages/${module.packageFolder}`;
  const name = packageNameOf(specifier);
  if (name.startsWith('@heddle/') || name === 'heddle') {
    return layer.ourPackages.includes(name)
      ? undefined
      : `packages/${module.packageFolder} may not import it`;
  }
  if (
    layer.thirdPartyPackages === 'declared' ||
    layer.thirdPartyPackages.some((pattern) => pattern.test(specifier))
  )
    return undefined;
  return `packages/${module.packageFolder} may import only what its layer lists`;
}

function bareImportProblem(module: Module, specifier: string, manifest: Manifest): string | undefined {
  if (module.isTest && TEST_ONLY_IMPORTS.some((pattern) => pattern.test(specifier))) return undefined;
  if (module.packageFolder === 'core' && module.file.includes('/src/machine/') && !module.isTest) {
    return 'core/src/machine imports nothing outside itself';
  }
  if (specifier.startsWith('node:')) {
    return PURE_PACKAGES.has(module.packageFolder)
      ? `packages/${module.packageFolder} is pure: it imports no module of Node.js`
      : undefined;
  }
  const problem = layerProblem(module, specifier);
  if (problem) return problem;
  const allowsDevDependencies = module.isTest || BUNDLED_FILE.test(module.file);
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const declaredDependencies = {
    ...dependencies,
    ...peerDependencies,
    ...(allowsDevDependencies ? devDependencies : {}),
  };
  return packageNameOf(specifier) in declaredDependencies ? undefined : 'package.json does not declare it';
}

/** Returns a sentence for every import of `module` that the layer table forbids. */
export function importProblems(module: Module, manifest: Manifest): string[] {
  return module.imports.flatMap((specifier) => {
    const problem = specifier.startsWith('.')
      ? relativeImportProblem(module, specifier)
      : bareImportProblem(module, specifier, manifest);
    return problem ? [`${module.file} imports ${specifier}: ${problem}`] : [];
  });
}

/** Returns a sentence for every dependency of `manifest` that the layer table forbids for `folder`. */
export function dependencyProblems(folder: string, manifest: Manifest): string[] {
  const module = { packageFolder: folder } as Module;
  return Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).flatMap((name) => {
    const problem = layerProblem(module, name);
    return problem ? [`${manifest.name} depends on ${name}: ${problem}`] : [];
  });
}
