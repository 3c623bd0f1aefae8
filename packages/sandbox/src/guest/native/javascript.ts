import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isModuleNamespaceObject } from 'node:util/types';
import { Script } from 'node:vm';
import { parse } from 'es-module-lexer/minimal/js';
import { DYNAMIC_IMPORT, STATIC_IMPORT, rewriteImports } from '../imports.ts';
import { USER_FILE, type GuestError } from '../../protocol.ts';
import { JAIL_PATHS, RESULT_FD } from '../../native/layout.ts';
import type { NativeJob } from './job.ts';

/** Runs a job's JavaScript code in a separate Node.js process and writes the result. */

type UserFunction = (...values: unknown[]) => Promise<unknown>;
type Namespace = Readonly<Record<string, unknown>>;

const MAX_CHARS = 8_000;
const AsyncFunction = (async () => undefined).constructor as new (...parts: string[]) => UserFunction;

/** Writes the result: `D` and the value as JSON, or `E` and the error as JSON, as in messages (child/bridge.ts). */
function finish(kind: 'D' | 'E', json: string): never {
  const bytes = Buffer.from(kind + json);
  for (let offset = 0; offset < bytes.length;) offset += writeSync(RESULT_FD, bytes, offset);
  process.exit(0);
}

const truncate = (value: unknown): string => String(value).slice(0, MAX_CHARS);

/** Returns the line of a syntax error; the error of the constructor does not report it. */
function syntaxErrorLine(code: string): number | undefined {
  try {
    void new Script(`(async function () {\n${code}\n})`, { filename: USER_FILE, lineOffset: -1 });
    return undefined;
  } catch (error) {
    const line = new RegExp(`^${USER_FILE.replace('.', '\\.')}:(\\d+)`).exec(
      (error as Error).stack ?? '',
    )?.[1];
    return line === undefined ? undefined : Number(line);
  }
}

function fail(phase: GuestError['phase'], thrownValue: unknown, code: string): never {
  const error = thrownValue instanceof Error ? thrownValue : null;
  const line = phase === 'compile' ? syntaxErrorLine(code) : undefined;
  const fields: GuestError = {
    phase,
    index: 0,
    name: truncate(error?.name ?? 'Error').slice(0, 100),
    message: truncate(error?.message ?? thrownValue),
    stack: truncate(error?.stack ?? ''),
    ...(line !== undefined && { line }),
  };
  finish('E', JSON.stringify(fields));
}

const MISSING_MODULE_CODES = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND']);

/** Returns the category of an error: a missing module is distinguished from other errors of the code. */
function errorCategoryOf(error: unknown): GuestError['phase'] {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return MISSING_MODULE_CODES.has(code as string) ? 'module' : 'run';
}

/** Loads the modules of static imports before the code runs. */
async function loadImports(code: string): Promise<ReadonlyMap<string, Namespace>> {
  let specifiers: string[];
  try {
    // The lexer's fields: `t` is 1 for a static import, `s` and `e` delimit the specifier.
    specifiers = parse(code)[0].flatMap(({ t: type, s: start, e: end }) =>
      type === 1 ? [code.slice(start, end)] : [],
    );
  } catch {
    // The compiler reports syntax errors better.
    specifiers = [];
  }
  const namespaces = new Map<string, Namespace>();
  for (const specifier of specifiers) namespaces.set(specifier, (await import(specifier)) as Namespace);
  return namespaces;
}

/** Returns the bindings of an import. Names that a CommonJS module does not declare are taken from its exports. */
function completeNamespace(
  specifier: string,
  names: readonly string[],
  module: Namespace | undefined,
): Namespace {
  if (module === undefined) throw new Error(`The module ${specifier} was not loaded.`);
  const defaultExport = module['default'];
  const missingNames = names.filter((name) => !(name in module));
  if (missingNames.length === 0) return module;
  const commonJsExports =
    (typeof defaultExport === 'object' || typeof defaultExport === 'function') && defaultExport !== null
      ? (defaultExport as Namespace)
      : {};
  const unknownName = missingNames.find((name) => !(name in commonJsExports));
  if (unknownName !== undefined || isModuleNamespaceObject(defaultExport))
    throw new SyntaxError(
      `The requested module '${specifier}' does not provide an export named '${unknownName}'`,
    );
  return { ...module, ...Object.fromEntries(missingNames.map((name) => [name, commonJsExports[name]])) };
}

async function run(): Promise<void> {
  const job = JSON.parse(readFileSync(JAIL_PATHS.job, 'utf8')) as NativeJob;
  if (job.language !== 'javascript') return;
  const { code, globals, values } = job;
  for (const [name, text] of Object.entries(globals))
    Object.assign(globalThis, { [name]: JSON.parse(text) as unknown });
  Object.assign(globalThis, { require: createRequire(`${JAIL_PATHS.boot}/block.cjs`) });
  let userFunction: UserFunction;
  try {
    const source = `${rewriteImports(code)}\n//# sourceURL=${USER_FILE}`;
    userFunction = new AsyncFunction(DYNAMIC_IMPORT, STATIC_IMPORT, ...Object.keys(values), source);
  } catch (error) {
    fail('compile', error, code);
  }
  let value: unknown;
  try {
    const modules = await loadImports(code);
    value = await userFunction(
      (specifier: string) => import(specifier),
      (specifier: string, names: readonly string[]) =>
        completeNamespace(specifier, names, modules.get(specifier)),
      ...Object.values(values).map((text) => JSON.parse(text) as unknown),
    );
  } catch (error) {
    fail(errorCategoryOf(error), error, code);
  }
  let json: string;
  try {
    json = JSON.stringify(value) ?? 'null';
  } catch (error) {
    fail('result', error, code);
  }
  finish('D', json);
}

// An error thrown later, for example in a timer, also fails the job.
process.on('uncaughtException', (error) => fail(errorCategoryOf(error), error, ''));
void run();
