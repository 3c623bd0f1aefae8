import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isModuleNamespaceObject } from 'node:util/types';
import { Script } from 'node:vm';
import { parse } from 'es-module-lexer/minimal/js';
import { IMPORT_LATER, IMPORT_NAMES, rewriteImports } from '../imports.ts';
import { USER_FILE, type GuestError } from '../../protocol.ts';
import { INSIDE, RESULT_FD } from '../../native/layout.ts';
import type { NativeJob } from './job.ts';

/** Runs the JavaScript of a job in a Node.js of its own, and gives its result. */

type Body = (...values: unknown[]) => Promise<unknown>;
type Namespace = Readonly<Record<string, unknown>>;

const MOST_CHARS = 8_000;
const AsyncFunction = (async () => undefined).constructor as new (...parts: string[]) => Body;

/** Gives the answer: `D` and the value's JSON, or `E` and the error's. */
function finish(kind: 'D' | 'E', json: string): never {
  const bytes = Buffer.from(kind + json);
  for (let at = 0; at < bytes.length;) at += writeSync(RESULT_FD, bytes, at);
  process.exit(0);
}

const cut = (value: unknown): string => String(value).slice(0, MOST_CHARS);

/** The line of a fault in a text that does not compile, which its error does not tell. */
function lineOfFault(code: string): number | undefined {
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

function fail(phase: GuestError['phase'], thrown: unknown, code: string): never {
  const error = thrown instanceof Error ? thrown : null;
  const line = phase === 'compile' ? lineOfFault(code) : undefined;
  const fields: GuestError = {
    phase,
    index: 0,
    name: cut(error?.name ?? 'Error').slice(0, 100),
    message: cut(error?.message ?? thrown),
    stack: cut(error?.stack ?? ''),
    ...(line !== undefined && { line }),
  };
  finish('E', JSON.stringify(fields));
}

const MISSING = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND']);

/** An error of a module that is nowhere is told apart from those of the code. */
function phaseOf(error: unknown): GuestError['phase'] {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return MISSING.has(code as string) ? 'module' : 'run';
}

/** The modules that static imports name, loaded before the code runs. */
async function loadImports(code: string): Promise<ReadonlyMap<string, Namespace>> {
  let specifiers: string[];
  try {
    specifiers = parse(code)[0].flatMap(({ t: type, s: start, e: end }) =>
      type === 1 ? [code.slice(start, end)] : [],
    );
  } catch {
    // The compiler has the better words for it.
    specifiers = [];
  }
  const loaded = new Map<string, Namespace>();
  for (const specifier of specifiers) loaded.set(specifier, (await import(specifier)) as Namespace);
  return loaded;
}

/** What an import binds: names that a CommonJS module has, without saying so, come from its exports. */
function withNames(specifier: string, names: readonly string[], module: Namespace | undefined): Namespace {
  if (module === undefined) throw new Error(`The module ${specifier} was not loaded.`);
  const own = module['default'];
  const missing = names.filter((name) => !(name in module));
  if (missing.length === 0) return module;
  const exported =
    (typeof own === 'object' || typeof own === 'function') && own !== null ? (own as Namespace) : {};
  const unknown = missing.find((name) => !(name in exported));
  if (unknown !== undefined || isModuleNamespaceObject(own))
    throw new SyntaxError(
      `The requested module '${specifier}' does not provide an export named '${unknown}'`,
    );
  return { ...module, ...Object.fromEntries(missing.map((name) => [name, exported[name]])) };
}

async function run(): Promise<void> {
  const job = JSON.parse(readFileSync(INSIDE.job, 'utf8')) as NativeJob;
  if (job.language !== 'javascript') return;
  const { code, globals, values } = job;
  for (const [name, text] of Object.entries(globals))
    Object.assign(globalThis, { [name]: JSON.parse(text) as unknown });
  Object.assign(globalThis, { require: createRequire(`${INSIDE.boot}/block.cjs`) });
  let body: Body;
  try {
    const source = `${rewriteImports(code)}\n//# sourceURL=${USER_FILE}`;
    body = new AsyncFunction(IMPORT_LATER, IMPORT_NAMES, ...Object.keys(values), source);
  } catch (error) {
    fail('compile', error, code);
  }
  let value: unknown;
  try {
    const modules = await loadImports(code);
    value = await body(
      (specifier: string) => import(specifier),
      (specifier: string, names: readonly string[]) => withNames(specifier, names, modules.get(specifier)),
      ...Object.values(values).map((text) => JSON.parse(text) as unknown),
    );
  } catch (error) {
    fail(phaseOf(error), error, code);
  }
  let json: string;
  try {
    json = JSON.stringify(value) ?? 'null';
  } catch (error) {
    fail('result', error, code);
  }
  finish('D', json);
}

// What the code throws later, out of a timer, is its failure as well.
process.on('uncaughtException', (error) => fail(phaseOf(error), error, ''));
void run();
