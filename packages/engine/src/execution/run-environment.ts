import { BlockError, EngineError } from '@heddle/core';
import type { Clock, Json, Plan } from '@heddle/core';
import type { EnvironmentValue, TenantEnvironments } from '../environment.ts';
import { createRedactor, MIN_SECRET_CHARS, NO_SECRETS } from '../secrets/redactor.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { after } from './answer.ts';
import { Keeper } from '../records/sanitizer.ts';
import { environmentReads } from './plan-queries.ts';
import type { EnvironmentReads } from './plan-queries.ts';
import type { Values } from '../records/values.ts';

/** Shorter secrets can be guessed by trying what is redacted. */
const SHORT_SECRET_CHARS = 8;

/** Values that were read so many milliseconds ago are not read again. */
const FRESH_MS = 1000;

type Texts = { readonly [name: string]: string };
type Given = { readonly [name: string]: EnvironmentValue };

/** What the blocks of one run can read of its environment. Redacts the secrets among it. */
export interface RunEnvironment extends Redactor {
  /** Values of `{{NAME}}`, by name. */
  readonly values: Texts;
  /** Prepares the run's data for its record. */
  readonly keeper: Keeper;
  /** Reads values that may have changed before `block` runs; undefined: there is nothing to wait for. Rejects with ENVIRONMENT_UNAVAILABLE. */
  refresh(block: string): Promise<void> | undefined;
}

interface EnvironmentsParts {
  /** The environment of workflows that belong to no tenant. */
  env: Given;
  tenants: TenantEnvironments | undefined;
  tenant: (this: void, workflowId: string) => Promise<string | undefined> | string | undefined;
  values: Values;
  clock: Clock;
  report: (error: unknown, runId: string | undefined) => void;
}

/** The environments of the runs of a process. */
export class Environments {
  private readonly parts: EnvironmentsParts;
  private readonly nothing: RunEnvironment;
  private readonly untenanted = new WeakMap<Plan, RunEnvironment>();
  /** The last redactor of a plan, and the secrets that it was made of. */
  private readonly redactors = new WeakMap<Plan, { made: string; redactor: Redactor }>();
  private readonly warned = new Set<string>();

  constructor(parts: EnvironmentsParts) {
    this.parts = parts;
    this.nothing = constantEnvironment({}, NO_SECRETS, parts.values);
    this.warn(parts.env);
  }

  /**
   * Returns the environment of a run of `plan`, read once. A plan that reads nothing gets an empty one at once, and its
   * data is not redacted: else its runs would tell whether a guess is the secret of another workflow.
   *
   * Throws ENVIRONMENT_UNAVAILABLE.
   */
  open(plan: Plan): RunEnvironment | Promise<RunEnvironment> {
    const reads = environmentReads(plan);
    if (reads.blocks.size === 0) return this.nothing;
    return after(this.parts.tenant(plan.workflow.id), (tenant) =>
      tenant === undefined ? this.withoutTenant(plan, reads) : this.ofTenant(plan, reads, tenant),
    );
  }

  private withoutTenant(plan: Plan, reads: EnvironmentReads): RunEnvironment {
    const known = this.untenanted.get(plan);
    if (known) return known;
    const { env, values } = this.parts;
    const readable = pick(env, reads.all ? Object.keys(env) : reads.names);
    const environment = constantEnvironment(textsOf(readable), createRedactor(secretsOf(readable)), values);
    this.untenanted.set(plan, environment);
    return environment;
  }

  private async ofTenant(plan: Plan, reads: EnvironmentReads, tenant: string): Promise<RunEnvironment> {
    const { tenants, values, clock } = this.parts;
    if (!tenants) return this.nothing;
    const environment = new TenantEnvironment({
      reads,
      values,
      clock,
      read: () => this.read(tenants, tenant, reads),
      redactor: (secrets) => this.redactorOf(plan, secrets),
    });
    await environment.load();
    return environment;
  }

  private async read(
    tenants: TenantEnvironments,
    tenant: string,
    { names, all }: EnvironmentReads,
  ): Promise<Given> {
    try {
      const wanted = all ? await tenants.names(tenant) : names;
      const read = wanted.length === 0 ? {} : pick(await tenants.values(tenant, wanted), wanted);
      this.warn(read);
      return read;
    } catch (error) {
      this.parts.report(error, undefined);
      throw new EngineError(
        'ENVIRONMENT_UNAVAILABLE',
        'The environment values of the workflow cannot be read now. Try again later.',
      );
    }
  }

  private redactorOf(plan: Plan, secrets: { readonly [name: string]: readonly string[] }): Redactor {
    const made = JSON.stringify(secrets);
    const known = this.redactors.get(plan);
    if (known?.made === made) return known.redactor;
    const redactor = createRedactor(secrets);
    this.redactors.set(plan, { made, redactor });
    return redactor;
  }

  /** Warns once of each secret that is too short. */
  private warn(read: Given): void {
    for (const [name, value] of Object.entries(secretsOf(read))) {
      const { length } = value.trim();
      const id = JSON.stringify([name, value]);
      if (length === 0 || length >= SHORT_SECRET_CHARS || this.warned.has(id)) continue;
      this.warned.add(id);
      const why =
        length < MIN_SECRET_CHARS
          ? `It has fewer than ${MIN_SECRET_CHARS} characters and is not redacted.`
          : `It has fewer than ${SHORT_SECRET_CHARS} characters: it can be guessed, and ordinary data that contains it is redacted.`;
      this.parts.report(new Error(`The secret {{${name}}} is too short to be protected. ${why}`), undefined);
    }
  }
}

function constantEnvironment(texts: Texts, redactor: Redactor, values: Values): RunEnvironment {
  return { ...redactor, values: texts, keeper: new Keeper(values, redactor), refresh: () => undefined };
}

interface TenantParts {
  reads: EnvironmentReads;
  values: Values;
  clock: Clock;
  read: () => Promise<Given>;
  redactor: (secrets: { readonly [name: string]: readonly string[] }) => Redactor;
}

/** The environment of a run of a tenant, whose values may change while the run goes on. */
class TenantEnvironment implements RunEnvironment {
  values: Texts = {};
  readonly keeper: Keeper;
  private readonly parts: TenantParts;
  private redactor = NO_SECRETS;
  /** Every secret that was read: the run's data may hold one that was replaced since. */
  private readonly seen = new Map<string, Set<string>>();
  private readMs = Number.NEGATIVE_INFINITY;

  constructor(parts: TenantParts) {
    this.parts = parts;
    this.keeper = new Keeper(parts.values, this);
  }

  text(text: string): string {
    return this.redactor.text(text);
  }

  json(value: Json): Json {
    return this.redactor.json(value);
  }

  refresh(block: string): Promise<void> | undefined {
    const { reads, clock } = this.parts;
    if (!reads.blocks.has(block) || clock.now() - this.readMs < FRESH_MS) return undefined;
    return this.load().catch((error: unknown) => {
      const { message, code } = error as EngineError;
      throw new BlockError(code, message, { retryable: true });
    });
  }

  /** Reads the values. Throws ENVIRONMENT_UNAVAILABLE. */
  async load(): Promise<void> {
    const read = await this.parts.read();
    for (const [name, value] of Object.entries(secretsOf(read)))
      this.seen.set(name, (this.seen.get(name) ?? new Set()).add(value));
    const secrets = [...this.seen].map(([name, all]): [string, string[]] => [name, [...all]]);
    this.redactor = this.parts.redactor(Object.fromEntries(secrets));
    this.values = textsOf(read);
    this.readMs = this.parts.clock.now();
  }
}

function pick(given: Given, names: readonly string[]): Given {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function textsOf(given: Given): Texts {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, typeof value === 'string' ? value : value.value]),
  );
}

function secretsOf(given: Given): Texts {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
