import { BlockError, EngineError } from '@heddle/core';
import type { Clock, Json, Plan } from '@heddle/core';
import { MIN_SECRET_CHARS } from '../secrets/encodings.ts';
import { followingStream } from '../secrets/redaction-stream.ts';
import type { RedactionStream } from '../secrets/redaction-stream.ts';
import { createRedactor, NO_SECRETS } from '../secrets/redactor.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { chain } from '../maybe-async.ts';
import { Sanitizer } from '../records/sanitizer.ts';
import { environmentReads } from './plan-queries.ts';
import type { EnvironmentReads } from './plan-queries.ts';
import type { Values } from '../records/values.ts';

/** A value of `{{NAME}}`. A string is a secret; `{ value, secret: false }` may be recorded and shown. */
export type EnvironmentValue = string | { value: string; secret: false };

/**
 * Source of the tenants' environment values. Names may be listed at any time. Values are read only in the process where a run
 * of the tenant starts, is recovered or executes a block that reads them. Errors are reported, and callers receive
 * ENVIRONMENT_UNAVAILABLE.
 */
export interface TenantEnvironments {
  /** Returns the names of the tenant's values. */
  names(this: void, tenant: string): Promise<readonly string[]> | readonly string[];
  /** Returns the current values of the `names` that the tenant has. */
  values(
    this: void,
    tenant: string,
    names: readonly string[],
  ): Promise<{ [name: string]: EnvironmentValue }> | { [name: string]: EnvironmentValue };
}

/** Shorter secrets can be guessed by testing which texts are redacted. */
const SHORT_SECRET_CHARS = 8;

/** Values that were read within this time are not read again. */
const FRESH_MS = 1000;

type Texts = { readonly [name: string]: string };
type EnvironmentValues = { readonly [name: string]: EnvironmentValue };

/** The environment values that the blocks of one run can read. Redacts the secrets in the run's data. */
export interface RunEnvironment extends Redactor {
  /** The values of `{{NAME}}`, by name. */
  readonly values: Texts;
  /** Prepares the run's data for its record. */
  readonly sanitizer: Sanitizer;
  /** Reads the values again before `block` runs, if they may have changed; else returns undefined. Rejects with ENVIRONMENT_UNAVAILABLE. */
  refresh(block: string): Promise<void> | undefined;
  /** Adds `value` to the redacted secrets: a credential that a block of the run gets. */
  addSecret(name: string, value: string): void;
}

interface EnvironmentsParts {
  /** The environment of workflows without a tenant. */
  env: EnvironmentValues;
  tenants: TenantEnvironments | undefined;
  tenant: (this: void, workflowId: string) => Promise<string | undefined> | string | undefined;
  values: Values;
  clock: Clock;
  report: (error: unknown, runId: string | undefined) => void;
}

/** Creates the environments of a process's runs. */
export class Environments {
  readonly #parts: EnvironmentsParts;
  readonly #untenanted = new WeakMap<Plan, ReadValues>();
  /** The last redactor of a plan, with the secrets that it redacts. */
  readonly #redactors = new WeakMap<Plan, { secrets: string; redactor: Redactor }>();
  readonly #warned = new Set<string>();

  constructor(parts: EnvironmentsParts) {
    this.#parts = parts;
    this.#warn(parts.env);
  }

  /**
   * Returns the environment of a run of `plan`. A plan that reads no values gets an empty environment without a promise.
   * Its data is not redacted: otherwise its runs would reveal if a guessed text is the secret of another workflow.
   *
   * Throws ENVIRONMENT_UNAVAILABLE.
   */
  open(plan: Plan): RunEnvironment | Promise<RunEnvironment> {
    const reads = environmentReads(plan);
    if (reads.blocks.size === 0) return this.#constant(plan, NO_VALUES);
    return chain(this.#parts.tenant(plan.workflow.id), (tenant) =>
      tenant === undefined ? this.#withoutTenant(plan, reads) : this.#ofTenant(plan, reads, tenant),
    );
  }

  #withoutTenant(plan: Plan, reads: EnvironmentReads): RunEnvironment {
    let read = this.#untenanted.get(plan);
    if (!read) {
      const { env } = this.#parts;
      const readable = pick(env, reads.all ? Object.keys(env) : reads.names);
      const secrets = secretsOf(readable);
      read = { texts: textsOf(readable), secrets, redactor: createRedactor(secrets) };
      this.#untenanted.set(plan, read);
    }
    return this.#constant(plan, read);
  }

  #constant(plan: Plan, read: ReadValues): RunEnvironment {
    const { values } = this.#parts;
    return new ConstantEnvironment({ values, redactor: (secrets) => this.#redactorOf(plan, secrets) }, read);
  }

  async #ofTenant(plan: Plan, reads: EnvironmentReads, tenant: string): Promise<RunEnvironment> {
    const { tenants, values, clock } = this.#parts;
    if (!tenants) return this.#constant(plan, NO_VALUES);
    const environment = new TenantEnvironment({
      reads,
      values,
      clock,
      read: () => this.#read(tenants, tenant, reads),
      redactor: (secrets) => this.#redactorOf(plan, secrets),
    });
    await environment.load();
    return environment;
  }

  async #read(
    tenants: TenantEnvironments,
    tenant: string,
    { names, all }: EnvironmentReads,
  ): Promise<EnvironmentValues> {
    try {
      const wanted = all ? await tenants.names(tenant) : names;
      const read = wanted.length === 0 ? {} : pick(await tenants.values(tenant, wanted), wanted);
      this.#warn(read);
      return read;
    } catch (error) {
      this.#parts.report(error, undefined);
      throw new EngineError(
        'ENVIRONMENT_UNAVAILABLE',
        'The environment values of the workflow cannot be read now. Try again later.',
      );
    }
  }

  #redactorOf(plan: Plan, secrets: { readonly [name: string]: readonly string[] }): Redactor {
    const serialized = JSON.stringify(secrets);
    const known = this.#redactors.get(plan);
    if (known?.secrets === serialized) return known.redactor;
    const redactor = createRedactor(secrets);
    this.#redactors.set(plan, { secrets: serialized, redactor });
    return redactor;
  }

  /** Warns once about each secret that is too short. */
  #warn(read: EnvironmentValues): void {
    for (const [name, value] of Object.entries(secretsOf(read))) {
      const { length } = value.trim();
      const id = JSON.stringify([name, value]);
      if (length === 0 || length >= SHORT_SECRET_CHARS || this.#warned.has(id)) continue;
      this.#warned.add(id);
      const why =
        length < MIN_SECRET_CHARS
          ? `It has fewer than ${MIN_SECRET_CHARS} characters and is not redacted.`
          : `It has fewer than ${SHORT_SECRET_CHARS} characters: it can be guessed, and ordinary data that contains it is redacted.`;
      this.#parts.report(new Error(`The secret {{${name}}} is too short to be protected. ${why}`), undefined);
    }
  }
}

/** Values that a run reads, and the redactor of the secrets among them. */
interface ReadValues {
  texts: Texts;
  secrets: Texts;
  redactor: Redactor;
}

const NO_VALUES: ReadValues = { texts: {}, secrets: {}, redactor: NO_SECRETS };

interface EnvironmentParts {
  values: Values;
  redactor: (secrets: { readonly [name: string]: readonly string[] }) => Redactor;
}

/** The environment of a run whose values do not change. */
class ConstantEnvironment implements RunEnvironment {
  values: Texts;
  readonly sanitizer: Sanitizer;
  readonly #redactorOf: EnvironmentParts['redactor'];
  #redactor: Redactor;
  /** Every secret read so far: the run's data may contain a secret that has been replaced since then. */
  readonly #seen = new Map<string, Set<string>>();

  constructor({ values, redactor }: EnvironmentParts, read: ReadValues) {
    this.values = read.texts;
    this.sanitizer = new Sanitizer(values, this);
    this.#redactorOf = redactor;
    this.#redactor = read.redactor;
    for (const [name, value] of Object.entries(read.secrets)) this.#see(name, value);
  }

  text(text: string): string {
    return this.#redactor.text(text);
  }

  json(value: Json): Json {
    return this.#redactor.json(value);
  }

  /** Returns a stream that also redacts secrets that are added while it is used. */
  stream(): RedactionStream {
    return followingStream(() => this.#redactor);
  }

  refresh(_block: string): Promise<void> | undefined {
    return undefined;
  }

  addSecret(name: string, value: string): void {
    if (!this.#seen.get(name)?.has(value)) this.addSecrets({ [name]: value });
  }

  protected addSecrets(secrets: Texts): void {
    for (const [name, value] of Object.entries(secrets)) this.#see(name, value);
    const all = [...this.#seen].map(([name, values]): [string, string[]] => [name, [...values]]);
    this.#redactor = this.#redactorOf(Object.fromEntries(all));
  }

  #see(name: string, value: string): void {
    const values = this.#seen.get(name);
    if (values) values.add(value);
    else this.#seen.set(name, new Set([value]));
  }
}

interface TenantParts extends EnvironmentParts {
  reads: EnvironmentReads;
  clock: Clock;
  read: () => Promise<EnvironmentValues>;
}

/** The environment of a tenant's run, whose values may change during the run. */
class TenantEnvironment extends ConstantEnvironment {
  readonly #parts: TenantParts;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TenantParts) {
    super(parts, NO_VALUES);
    this.#parts = parts;
  }

  override refresh(block: string): Promise<void> | undefined {
    const { reads, clock } = this.#parts;
    if (!reads.blocks.has(block) || clock.now() - this.#readMs < FRESH_MS) return undefined;
    return this.load().catch((error: unknown) => {
      const { message, code } = error as EngineError;
      throw new BlockError(code, message, { retryable: true });
    });
  }

  /** Reads the values. Throws ENVIRONMENT_UNAVAILABLE. */
  async load(): Promise<void> {
    const read = await this.#parts.read();
    this.addSecrets(secretsOf(read));
    this.values = textsOf(read);
    this.#readMs = this.#parts.clock.now();
  }
}

function pick(given: EnvironmentValues, names: readonly string[]): EnvironmentValues {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function textsOf(given: EnvironmentValues): Texts {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, typeof value === 'string' ? value : value.value]),
  );
}

function secretsOf(given: EnvironmentValues): Texts {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
