import {
  checkWorkflow,
  compile,
  EngineError,
  parseWorkflow,
  parseWorkflowText,
  readPlan,
} from '@heddle/core';
import type {
  CompileOptions,
  DefinitionStore,
  Diagnostic,
  Json,
  ParseResult,
  Plan,
  PlanLimits,
} from '@heddle/core';
import type { HostFeature, TriggerInfo } from '@heddle/core/drafts';
import { blockTypeInfos } from './executors/registry.ts';
import type { Registry } from './executors/registry.ts';
import { mapMaybePromise } from './map-maybe-promise.ts';
import type { SharedStores } from './store/stores.ts';
import type { DeployedVersion, WorkflowSource } from './types.ts';

/** A plan and the version of its deployment. The version is undefined if the caller passed the workflow or the plan. */
export interface VersionedPlan {
  plan: Plan;
  version: number | undefined;
}

/** The deployed workflow that a child run executes. */
export interface ResolvedChild {
  /** The id or name of the workflow. */
  workflow: string;
  /** Version of the deployment; default: the newest. */
  version?: number;
}

/** Compiles, deploys and finds workflows. */
export class Definitions {
  readonly #stores: Pick<SharedStores, 'definitions'>;
  readonly #options: CompileOptions;
  readonly #plans = new Map<string, Plan>();
  readonly #storedHashes = new Set<string>();
  /** Deployed versions, by number and id. */
  readonly #versions = new Map<string, VersionedPlan>();
  readonly #now: () => number;

  constructor(dependencies: {
    stores: Pick<SharedStores, 'definitions'>;
    registry: Registry;
    limits: Partial<PlanLimits> | undefined;
    triggers: readonly TriggerInfo[] | undefined;
    features: readonly HostFeature[];
    now: () => number;
  }) {
    this.#stores = dependencies.stores;
    this.#now = dependencies.now;
    const { limits, triggers } = dependencies;
    this.#options = {
      blockTypes: blockTypeInfos(dependencies.registry),
      features: dependencies.features,
      ...(limits && { limits }),
      ...(triggers && { triggers }),
    };
  }

  /**
   * Returns the plan of an exported workflow, passed as a JSON value or as text. Throws WORKFLOW_INVALID with every
   * diagnostic in `details`.
   */
  compile(
    workflow: unknown,
    options: { fileName?: string; compat?: boolean } = {},
  ): { plan: Plan; diagnostics: Diagnostic[] } {
    const parseResult = parse(workflow, options);
    if (!parseResult.workflow) throw workflowInvalidError(parseResult.diagnostics);
    const compileResult = compile(parseResult.workflow, this.#optionsFor(options));
    const diagnostics = [...parseResult.diagnostics, ...compileResult.diagnostics];
    if (!compileResult.ok || parseResult.diagnostics.some(({ severity }) => severity === 'error'))
      throw workflowInvalidError(diagnostics);
    return { plan: compileResult.plan, diagnostics };
  }

  /** Returns the diagnostics of a workflow. `compile` refuses exactly the workflows with an error here. */
  check(workflow: unknown, options: { fileName?: string; compat?: boolean }): Diagnostic[] {
    const { workflow: parsedWorkflow, diagnostics } = parse(workflow, options);
    return parsedWorkflow
      ? [...diagnostics, ...checkWorkflow(parsedWorkflow, this.#optionsFor(options))]
      : diagnostics;
  }

  #optionsFor({ compat }: { compat?: boolean }): CompileOptions {
    return { ...this.#options, ...(compat && { compat: true }) };
  }

  async deploy(
    workflow: unknown,
    options: { fileName?: string; compat?: boolean },
  ): Promise<DeployedVersion> {
    const { plan, diagnostics } = this.compile(workflow, options);
    await this.storePlan(plan);
    const { id: workflowId, name } = plan.workflow;
    const version = await this.#stores.definitions.deploy({
      workflowId,
      name,
      planHash: plan.hash,
      atMs: this.#now(),
    });
    return { workflowId, name, version, planHash: plan.hash, diagnostics };
  }

  /**
   * Returns the plan of a deployed workflow, a passed workflow or a passed plan. Throws WORKFLOW_NOT_FOUND,
   * WORKFLOW_INVALID.
   */
  async resolve(source: WorkflowSource, version?: number): Promise<VersionedPlan> {
    if (typeof source !== 'string') {
      return {
        plan: 'plan' in source ? source.plan : this.compile(source.workflow, source).plan,
        version: undefined,
      };
    }
    const deployedPlan = await this.find(source, version);
    if (deployedPlan) return deployedPlan;
    const versionPhrase = version === undefined ? '' : ` in version ${version}`;
    throw new EngineError(
      'WORKFLOW_NOT_FOUND',
      `There is no deployed workflow "${source}"${versionPhrase}. Deploy it first, or pass the workflow itself.`,
      {
        details: { workflow: source },
      },
    );
  }

  /** Returns the deployed workflow with this id or name. Default version: the newest. */
  async find(reference: string, version?: number): Promise<VersionedPlan | undefined> {
    const key = `${version} ${reference}`;
    const cachedVersion = version === undefined ? undefined : this.#versions.get(key);
    if (cachedVersion) return cachedVersion;
    const deployment = await this.#stores.definitions.find(reference, version);
    if (!deployment) return undefined;
    const versionedPlan = { plan: await this.plan(deployment.planHash), version: deployment.version };
    // A deployed version never changes, but its name may later belong to another workflow.
    if (version !== undefined && deployment.workflowId === reference) this.#versions.set(key, versionedPlan);
    return versionedPlan;
  }

  /** Stores the plan, unless this process has stored it before; synchronously if the store is synchronous. */
  storePlan(plan: Plan): Promise<void> | void {
    if (this.#storedHashes.has(plan.hash)) return undefined;
    return mapMaybePromise(this.#stores.definitions.putPlan(plan.hash, plan as unknown as Json), () => {
      this.#storedHashes.add(plan.hash);
    });
  }

  /** Returns the stored plan with this hash. Throws JOURNAL_CORRUPT, PLAN_FORMAT_UNSUPPORTED. */
  async plan(hash: string): Promise<Plan> {
    const cachedPlan = this.#plans.get(hash);
    if (cachedPlan) return cachedPlan;
    const plan = await readStoredPlan(this.#stores.definitions, hash);
    this.#plans.set(hash, plan);
    return plan;
  }
}

/** Returns the stored plan with this hash. Throws JOURNAL_CORRUPT, PLAN_FORMAT_UNSUPPORTED. */
export async function readStoredPlan(
  definitions: Pick<DefinitionStore, 'plan'>,
  hash: string,
): Promise<Plan> {
  const storedJson = await definitions.plan(hash);
  if (storedJson === undefined)
    throw new EngineError('JOURNAL_CORRUPT', `The plan ${hash} is not in the store.`);
  return readPlan(storedJson);
}

function parse(workflow: unknown, { fileName }: { fileName?: string }): ParseResult {
  const options = fileName === undefined ? {} : { fileName };
  return typeof workflow === 'string'
    ? parseWorkflowText(workflow, options)
    : parseWorkflow(workflow, options);
}

function workflowInvalidError(diagnostics: readonly Diagnostic[]): EngineError {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const [firstError] = errors;
  const moreErrors = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new EngineError(
    'WORKFLOW_INVALID',
    `The workflow cannot run: ${firstError?.message ?? 'it has errors'}${moreErrors}`,
    {
      details: { diagnostics: diagnostics as unknown as Json },
    },
  );
}
