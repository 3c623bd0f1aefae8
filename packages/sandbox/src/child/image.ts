import { setFlagsFromString } from 'node:v8';
import type { CachedDataResult, Context, Isolate, Reference, Script } from 'isolated-vm';
import { flattenReport } from '../image-protocol.ts';
import type { ImageRequest, ImageReport, ModuleFailure } from '../image-protocol.ts';
import { hash, randomBinaryString, readMessage } from './bridge.ts';
import { CONTEXT_FLAGS } from './context-flags.ts';
import type { IsolatedVm } from './realms.ts';

declare const GUEST_SOURCE: string;
declare const require: (file: string) => { ivm: IsolatedVm };

const vm = require(process.argv[2] as string).ivm;
const GUEST = GUEST_SOURCE;

/**
 * Records whether modules read the clock or random numbers while they load: a snapshot would freeze the values for all
 * runs.
 */
const USE_DETECTOR = `(() => {
  let used = false;
  const { random } = Math;
  const Native = Date;
  const { construct } = Reflect;
  const { now } = Native;
  Math.random = () => ((used = true), random());
  Native.now = () => ((used = true), now());
  const Detected = new Proxy(Native, {
    apply: () => ((used = true), Native()),
    construct: (target, args, type) => ((used ||= args.length === 0), construct(target, args, type === Detected ? target : type)),
  });
  const { performance } = globalThis;
  const elapsed = performance.now;
  performance.now = () => ((used = true), elapsed());
  Native.prototype.constructor = Detected;
  globalThis.Date = Detected;
  Object.defineProperty(globalThis, '__heddleUsed', { value: () => used });
})();`;

/** Runs once in a temporary context, so that the snapshot contains the compiled code of these globals. */
const WARM_UP = '__heddle(() => undefined)("run", "function", 0, 1, "return [URL, Buffer]", 0)';

type EnterFunction = Reference<(...invocation: (string | number | boolean)[]) => void>;

interface LoadReport {
  readonly failed: readonly ModuleFailure[];
  /** True if loading used the host, the clock or a random generator. */
  readonly usedHost: boolean;
}

/** Thrown when loading or using the packages exceeds a limit. */
class LimitError extends Error {
  readonly limit: 'time' | 'memory';

  constructor(limit: 'time' | 'memory') {
    super(limit);
    this.limit = limit;
  }
}

function withLimitErrors<T>(isolate: Isolate, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (isolate.isDisposed) throw new LimitError('memory');
    if (String((error as Error | null)?.message).includes('timed out')) throw new LimitError('time');
    throw error;
  }
}

/** Reads the modules' loading report. It is guest data, so every field is checked. */
function readLoadReport(json: unknown): LoadReport {
  const { failed, usedHost } = JSON.parse(String(json)) as LoadReport;
  const modules = failed.slice(0, 50).map(({ module, builtin, message, stack }) => ({
    module: String(module).slice(0, 300),
    builtin: builtin === true,
    message: String(message).slice(0, 1_000),
    stack: String(stack).slice(0, 2_000),
  }));
  return { failed: modules, usedHost: usedHost === true };
}

function evaluate(isolate: Isolate, context: Context, code: string, timeout: number): unknown {
  return withLimitErrors(isolate, () => context.evalSync(code, { timeout }) as unknown);
}

/** Loads the bundle without a connection to the host, as when a snapshot is created. */
function loadUnconnected({ code, cpuMs, memoryMiB }: ImageRequest): LoadReport {
  const isolate = new vm.Isolate({ memoryLimit: memoryMiB });
  try {
    const context = isolate.createContextSync();
    for (const script of [GUEST, USE_DETECTOR, code]) evaluate(isolate, context, script, cpuMs);
    const loadReport = readLoadReport(evaluate(isolate, context, '__heddleImage.report()', cpuMs));
    const used = evaluate(isolate, context, '__heddleUsed()', cpuMs) === true;
    return { ...loadReport, usedHost: loadReport.usedHost || used };
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

/** Connects the guest runtime of a fresh realm. `onEnd` gets the message with the result or error of a job. */
function connect(
  isolate: Isolate,
  context: Context,
  timeout: number,
  onEnd: (message: string) => void,
): EnterFunction {
  const post = new vm.Callback((text: unknown) => {
    const message = readMessage(text);
    if (message?.kind === 'random') return randomBinaryString(message.byteCount);
    if (message?.kind === 'hash') return hash(message);
    if (message?.kind === 'result' || message?.kind === 'error') onEnd(String(text));
    return undefined;
  });
  return withLimitErrors(isolate, () => {
    const boot = context.evalSync('__heddle', { timeout, reference: true }) as Reference<
      (post: unknown) => unknown
    >;
    return boot.applySync(undefined, [post], { timeout, result: { reference: true } }) as EnterFunction;
  });
}

/** The last message of a job that found all modules. */
const LOADED_MESSAGE = 'D"loaded"';

/** Runs a job that requires all modules. */
function requireAll(isolate: Isolate, enter: EnterFunction, { modules, cpuMs }: ImageRequest): void {
  // Avoids built-ins that packages may have replaced, such as the array iterator.
  const code = `${modules.map((name) => `require(${JSON.stringify(name)});`).join(' ')} return 'loaded';`;
  withLimitErrors(isolate, () =>
    enter.applySync(undefined, ['run', 'function', 0, 1, code, 0], { timeout: cpuMs }),
  );
}

/** Returns the failure for modules that prevent jobs from running. `endMessage` is guest data. */
function unusableFailure(endMessage: string): ModuleFailure {
  const stack = endMessage.slice(0, 2_000);
  return { module: '', builtin: false, message: 'no code can run with them', stack };
}

/** Loads the bundle with a connection to the host, as in runs of an image without a snapshot. Makes V8's code cache. */
function loadConnected(request: ImageRequest): { loadReport: LoadReport; cache: Uint8Array } {
  const { code, cpuMs, memoryMiB } = request;
  const isolate = new vm.Isolate({ memoryLimit: memoryMiB });
  try {
    const context = isolate.createContextSync();
    evaluate(isolate, context, GUEST, cpuMs);
    let endMessage = '';
    const enter = connect(isolate, context, cpuMs, (message) => (endMessage ||= message));
    const script = isolate.compileScriptSync(code, { produceCachedData: true }) as Script & CachedDataResult;
    withLimitErrors(isolate, () => script.runSync(context, { timeout: cpuMs }) as unknown);
    let loadReport = readLoadReport(evaluate(isolate, context, '__heddleImage.report()', cpuMs));
    if (loadReport.failed.length === 0) {
      requireAll(isolate, enter, request);
      // For example a module that freezes the global object: no job could start after it.
      if (endMessage !== LOADED_MESSAGE)
        loadReport = { ...loadReport, failed: [unusableFailure(endMessage)] };
    }
    return { loadReport, cache: new Uint8Array(script.cachedData?.copy() ?? new ArrayBuffer(0)) };
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

/** Returns whether a job finds all modules in a context of the snapshot. */
function isUsable(snapshot: ArrayBuffer, request: ImageRequest): boolean {
  const { cpuMs, memoryMiB } = request;
  const isolate = new vm.Isolate({ memoryLimit: memoryMiB, snapshot: new vm.ExternalCopy(snapshot) });
  try {
    const context = isolate.createContextSync();
    let endMessage = '';
    const enter = connect(isolate, context, cpuMs, (message) => (endMessage ||= message));
    requireAll(isolate, enter, request);
    return endMessage === LOADED_MESSAGE;
  } catch (error) {
    if (error instanceof LimitError) return false;
    throw error;
  } finally {
    if (!isolate.isDisposed) isolate.dispose();
  }
}

function makeImage(request: ImageRequest): ImageReport {
  const unconnectedReport = loadUnconnected(request);
  const isPure = unconnectedReport.failed.length === 0 && !unconnectedReport.usedHost;
  if (isPure && request.snapshot) {
    process.send?.(flattenReport({ t: 'snapshot' } satisfies ImageReport));
    const snapshot = vm.Isolate.createSnapshot([{ code: GUEST }, { code: request.code }], WARM_UP).copy();
    for (const flag of CONTEXT_FLAGS) setFlagsFromString(flag);
    if (isUsable(snapshot, request))
      return { t: 'made', kind: 'snapshot', data: new Uint8Array(snapshot), why: '' };
  }
  const { loadReport, cache } = loadConnected(request);
  if (loadReport.failed.length > 0) return { t: 'failed', modules: loadReport.failed };
  const reason = isPure
    ? 'they cannot be stored in a snapshot'
    : 'they read the time, random numbers or the host while they load';
  return { t: 'made', kind: 'cache', data: cache, why: reason };
}

process.on('message', (request: ImageRequest) => {
  let report: ImageReport;
  try {
    report = makeImage(request);
  } catch (error) {
    if (error instanceof LimitError) report = { t: 'limit', limit: error.limit };
    else {
      const { message, stack } = error as Error;
      report = { t: 'failed', modules: [{ module: '', builtin: false, message, stack: String(stack) }] };
    }
  }
  process.send?.(flattenReport(report), () => process.disconnect());
});
process.on('disconnect', () => process.exit(0));
