import { BlockError, EngineError } from '@heddle/core';
import type { Clock, Json, Plan } from '@heddle/core';
import { MIN_SECRET_CHARS } from '../secrets/encodings.ts';
import { createDynamicRedactionStream } from '../secrets/redaction-stream.ts';
import type { RedactionStream } from '../secrets/redaction-stream.ts';
import { createRedactor, NO_SECRETS } from '../secrets/redactor.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { mapMaybePromise } from '../map-maybe-promise.ts';
import { Sanitizer } from '../records/sanitizer.ts';
import { environmentReads } from './plan-queries.ts';
import type { EnvironmentReads } from './plan-queries.ts';
import type { Values } from '../records/values.ts';

/** A value of `{{NAME}}`. A string is a secret; `{ value, secret: false }` may be recorded and shown. */
export type EnvironmentValue = string | { value: string; secret: false };

/**
 * Source of the tenants' environment values. Names may be listed at any time. Values are read only in a process where a
 * run of the tenant starts, is recovered or executes a block that reads them, or where the tenant's data is redacted.
 * Errors are reported, and callers receive ENVIRONMENT_UNAVAILABLE.
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

/** Shorter secrets can be guessed by testing which strings are redacted. */
const SHORT_SECRET_CHARS = 8;

/** Time for which values are cached. */
const CACHE_MS = 1000;

type StringMap = { readonly [name: string]: string };
type EnvironmentValues = { readonly [name: string]: EnvironmentValue };

/** The environment values that the blocks of one run can read. Redacts the secrets in the run's data. */
export interface RunEnvironment extends Redactor {
  /** The values of `{{NAME}}`, by name. */
  readonly values: StringMap;
  /** Prepares the run's data for its record. */
  readonly sanitizer: Sanitizer;
  /**
   * Reads the values again before `block` runs, if they may have changed; else returns undefined. Rejects with
   * ENVIRONMENT_UNAVAILABLE.
   */
  refresh(block: string): Promise<void> | undefined;
  /** Adds `value` to the redacted secrets: a credential that a block of the run gets. */
  addSecret(name: string, value: string): void;
}

interface EnvironmentDependencies {
  /** The environment of workflows without a tenant. */
  env: EnvironmentValues;
  tenantEnvironments: TenantEnvironments | undefined;
  tenant: (this: void, workflowId: string) => Promise<string | undefined> | string | undefined;
  values: Values;
  clock: Clock;
  onError: (error: unknown, runId: string | undefined) => void;
}

/** Creates the environments of a process's runs. */
export class Environments {
  readonly #dependencies: EnvironmentDependencies;
  readonly #valuesWithoutTenant = new WeakMap<Plan, RunValues>();
  /** The last redactor of a plan, with the secrets that it redacts. */
  readonly #redactors = new WeakMap<Plan, { secrets: string; redactor: Redactor }>();
  readonly #warnedSecrets = new Set<string>();

  constructor(dependencies: EnvironmentDependencies) {
    this.#dependencies = dependencies;
    this.#warnAboutShortSecrets(dependencies.env);
  }

  /**
   * Returns the environment of a run of `plan`. A plan that reads no values gets an empty environment,
   * synchronously. Its data is not redacted: otherwise its runs would reveal whether a guessed string is the secret of
   * another workflow.
   *
   * Throws ENVIRONMENT_UNAVAILABLE.
   */
  open(plan: Plan): RunEnvironment | Promise<RunEnvironment> {
    const reads = environmentReads(plan);
    if (reads.blocks.size === 0) return this.#createConstant(plan, NO_VALUES);
    return mapMaybePromise(this.#dependencies.tenant(plan.workflow.id), (tenant) =>
      tenant === undefined
        ? this.#createWithoutTenant(plan, reads)
        : this.#createForTenant(plan, reads, tenant),
    );
  }

  #createWithoutTenant(plan: Plan, reads: EnvironmentReads): RunEnvironment {
    let runValues = this.#valuesWithoutTenant.get(plan);
    if (!runValues) {
      const { env } = this.#dependencies;
      const readableValues = pick(env, reads.readsAll ? Object.keys(env) : reads.names);
      const secrets = secretsOf(readableValues);
      runValues = { strings: stringsOf(readableValues), secrets, redactor: createRedactor(secrets) };
      this.#valuesWithoutTenant.set(plan, runValues);
    }
    return this.#createConstant(plan, runValues);
  }

  #createConstant(plan: Plan, runValues: RunValues): RunEnvironment {
    const { values } = this.#dependencies;
    return new ConstantEnvironment(
      { values, redactorOf: (secrets) => this.#redactorOf(plan, secrets) },
      runValues,
    );
  }

  async #createForTenant(plan: Plan, reads: EnvironmentReads, tenant: string): Promise<RunEnvironment> {
    const { tenantEnvironments, values, clock } = this.#dependencies;
    if (!tenantEnvironments) return this.#createConstant(plan, NO_VALUES);
    const environment = new TenantRunEnvironment({
      reads,
      values,
      clock,
      read: () => this.#read(tenantEnvironments, tenant, reads),
      redactorOf: (secrets) => this.#redactorOf(plan, secrets),
    });
    await environment.load();
    return environment;
  }

  async #read(
    tenantEnvironments: TenantEnvironments,
    tenant: string,
    { names, readsAll }: EnvironmentReads,
  ): Promise<EnvironmentValues> {
    try {
      const requestedNames = readsAll ? await tenantEnvironments.names(tenant) : names;
      const values =
        requestedNames.length === 0
          ? {}
          : pick(await tenantEnvironments.values(tenant, requestedNames), requestedNames);
      this.#warnAboutShortSecrets(values);
      return values;
    } catch (error) {
      this.#dependencies.onError(error, undefined);
      throw new EngineError(
        'ENVIRONMENT_UNAVAILABLE',
        'The environment values of the workflow cannot be read now. Try again later.',
      );
    }
  }

  #redactorOf(plan: Plan, secrets: { readonly [name: string]: readonly string[] }): Redactor {
    const serializedSecrets = JSON.stringify(secrets);
    const cached = this.#redactors.get(plan);
    if (cached?.secrets === serializedSecrets) return cached.redactor;
    const redactor = createRedactor(secrets);
    this.#redactors.set(plan, { secrets: serializedSecrets, redactor });
    return redactor;
  }

  /** Warns once about each secret that is too short. */
  #warnAboutShortSecrets(values: EnvironmentValues): void {
    for (const [name, value] of Object.entries(secretsOf(values))) {
      const { length } = value.trim();
      const id = JSON.stringify([name, value]);
      if (length === 0 || length >= SHORT_SECRET_CHARS || this.#warnedSecrets.has(id)) continue;
      this.#warnedSecrets.add(id);
      const reason =
        length < MIN_SECRET_CHARS
          ? `It has fewer than ${MIN_SECRET_CHARS} characters and is not redacted.`
          : `It has fewer than ${SHORT_SECRET_CHARS} characters: it can be guessed, and ordinary data that contains it is redacted.`;
      this.#dependencies.onError(
        new Error(`The secret {{${name}}} is too short to be protected. ${reason}`),
        undefined,
      );
    }
  }
}

/** The values that a run can read, the secrets among them, and the redactor of these secrets. */
interface RunValues {
  strings: StringMap;
  secrets: StringMap;
  redactor: Redactor;
}

const NO_VALUES: RunValues = { strings: {}, secrets: {}, redactor: NO_SECRETS };

interface RunEnvironmentDependencies {
  values: Values;
  redactorOf: (secrets: { readonly [name: string]: readonly string[] }) => Redactor;
}

/** The environment of a run, with values that do not change. */
class ConstantEnvironment implements RunEnvironment {
  values: StringMap;
  readonly sanitizer: Sanitizer;
  readonly #redactorOf: RunEnvironmentDependencies['redactorOf'];
  #redactor: Redactor;
  /** Every secret so far, by name: the run's data may contain secrets that have been replaced since then. */
  readonly #allSecrets = new Map<string, Set<string>>();

  constructor({ values, redactorOf }: RunEnvironmentDependencies, initialValues: RunValues) {
    this.values = initialValues.strings;
    this.sanitizer = new Sanitizer(values, this);
    this.#redactorOf = redactorOf;
    this.#redactor = initialValues.redactor;
    for (const [name, value] of Object.entries(initialValues.secrets)) this.#recordSecret(name, value);
  }

  redactText(text: string): string {
    return this.#redactor.redactText(text);
  }

  redactJson(value: Json): Json {
    return this.#redactor.redactJson(value);
  }

  /** Returns a stream that also redacts secrets that are added while it is used. */
  createStream(): RedactionStream {
    return createDynamicRedactionStream(() => this.#redactor);
  }

  refresh(_block: string): Promise<void> | undefined {
    return undefined;
  }

  addSecret(name: string, value: string): void {
    if (!this.#allSecrets.get(name)?.has(value)) this.addSecrets({ [name]: value });
  }

  protected addSecrets(secrets: StringMap): void {
    for (const [name, value] of Object.entries(secrets)) this.#recordSecret(name, value);
    const secretEntries = [...this.#allSecrets].map(([name, values]): [string, string[]] => [
      name,
      [...values],
    ]);
    this.#redactor = this.#redactorOf(Object.fromEntries(secretEntries));
  }

  #recordSecret(name: string, value: string): void {
    const values = this.#allSecrets.get(name);
    if (values) values.add(value);
    else this.#allSecrets.set(name, new Set([value]));
  }
}

interface TenantRunEnvironmentDependencies extends RunEnvironmentDependencies {
  reads: EnvironmentReads;
  clock: Clock;
  read: () => Promise<EnvironmentValues>;
}

/** The environment of a tenant's run, with values that may change during the run. */
class TenantRunEnvironment extends ConstantEnvironment {
  readonly #dependencies: TenantRunEnvironmentDependencies;
  #lastReadMs = Number.NEGATIVE_INFINITY;

  constructor(dependencies: TenantRunEnvironmentDependencies) {
    super(dependencies, NO_VALUES);
    this.#dependencies = dependencies;
  }

  override refresh(block: string): Promise<void> | undefined {
    const { reads, clock } = this.#dependencies;
    if (!reads.blocks.has(block) || clock.now() - this.#lastReadMs < CACHE_MS) return undefined;
    return this.load().catch((error: unknown) => {
      const { message, code } = error as EngineError;
      throw new BlockError(code, message, { retryable: true });
    });
  }

  /** Reads the values. Throws ENVIRONMENT_UNAVAILABLE. */
  async load(): Promise<void> {
    const values = await this.#dependencies.read();
    this.addSecrets(secretsOf(values));
    this.values = stringsOf(values);
    this.#lastReadMs = this.#dependencies.clock.now();
  }
}

function pick(values: EnvironmentValues, names: readonly string[]): EnvironmentValues {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function stringsOf(values: EnvironmentValues): StringMap {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : value.value]),
  );
}

function secretsOf(values: EnvironmentValues): StringMap {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
