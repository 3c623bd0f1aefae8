import { expect } from 'vitest';
import { draftOf } from '../../support/draft.ts';
import { HOOK_CREDENTIALS, startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders, SimulatedHook } from '../../support/hook-providers.ts';
import type { Steps } from '../../support/scale.ts';
import { START_TIME_MS, startProcess } from '../trigger-process.ts';
import type { Backend, TriggerProcess } from '../trigger-process.ts';
import { PROVIDERS, createWebhookWorkflow } from '../webhook-setup.ts';
import { HOOK_TYPES, ORIGIN } from './setup.ts';

const DAY_MS = 24 * 3_600_000;
/** Longer than the lease that a killed process may still have. */
const LEASE_EXPIRY_MS = 3 * 60_000;
const POLL_OPTIONS = { timeout: 60_000, interval: 50 };
/** Each phase must have more steps than this. */
const MIN_STEPS = 5;

type ProviderName = SimulatedHook['provider'];
type Phase = 'created' | 'checked' | 'removed';

/** Waits until `find` returns the value. */
async function waitForValue<Value>(find: () => Promise<Value>, value: Value, message = ''): Promise<void> {
  await expect.poll(find, { ...POLL_OPTIONS, message }).toBe(value);
}

/** A process with a workflow that has a webhook at a provider. After its death, another process replaces it. */
class HookProcess {
  readonly #backend: Backend;
  readonly #providerName: ProviderName;
  readonly #providers: HookProviders;
  #process: TriggerProcess | undefined;
  #nowMs = START_TIME_MS;
  #key = '';
  #workflowId = '';

  constructor(backend: Backend, name: ProviderName, providers: HookProviders) {
    this.#backend = backend;
    this.#providerName = name;
    this.#providers = providers;
  }

  /** Creates a workflow without deploying it. */
  async prepare(): Promise<void> {
    const process = await this.#start();
    const { key, workspaceId } = await process.call<{ key: string; workspaceId: string }>('createWorkspace');
    this.#key = key;
    const credential = await this.#request<{ id: string }>('POST', '/credentials', {
      ...{ workspaceId, type: 'service_account', providerId: 'shop' },
      credentials: JSON.stringify({ apiToken: HOOK_CREDENTIALS[this.#providerName] }),
    });
    const { type, fields } = HOOK_TYPES[this.#providerName];
    const workflow = createWebhookWorkflow({ ...fields, triggerCredentials: credential.id }, { type });
    const { id } = await this.#request<{ id: string }>('POST', '/workflows', { workspaceId, name: 'Hooked' });
    await this.#request('PUT', `/workflows/${id}/state`, draftOf(workflow));
    this.#workflowId = id;
  }

  /** Deploys or undeploys the workflow. */
  changeDeployment(method: 'POST' | 'DELETE'): Promise<void> {
    return this.#request(method, `/workflows/${this.#workflowId}/deploy`);
  }

  async isDeployed(): Promise<boolean> {
    const path = `/workflows/${this.#workflowId}/deployment`;
    return (await this.#request<{ isDeployed: boolean }>('GET', path)).isDeployed;
  }

  /**
   * Runs `work` until the process dies at the step or `isDone` returns true. Returns true if the process has died;
   * another process has then replaced it.
   */
  async runUntilKilled(killStep: number, work: () => Promise<void>, isDone: () => boolean): Promise<boolean> {
    const process = this.#requireProcess();
    await process.call('tick', { nowMs: this.#nowMs, killStep }).catch(() => undefined);
    await work().catch((error: unknown) => {
      if (!process.isDead()) throw error;
    });
    const isOver = async (): Promise<boolean> => {
      await this.advance(100).catch(() => undefined);
      return process.isDead() || isDone();
    };
    await waitForValue(isOver, true);
    // The process may have done its work but not recorded it yet.
    for (let poll = 0; poll < 3; poll += 1) await this.advance(100).catch(() => undefined);
    if (!process.isDead()) {
      await process.call('tick', { nowMs: this.#nowMs });
      return false;
    }
    this.#nowMs += LEASE_EXPIRY_MS;
    await this.#start();
    return true;
  }

  /** Advances the clock. The process still dies at its step. */
  async advance(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.#requireProcess().call('tick', { nowMs: this.#nowMs, keepsKillStep: true });
  }

  advanceDay(): Promise<void> {
    return this.advance(DAY_MS);
  }

  /** Expects that the provider has one webhook, and that its deliveries are accepted. */
  async expectOneWebhook(message: string): Promise<void> {
    const readState = async (): Promise<string> => {
      await this.advance(1000);
      const path = `/workflows/${this.#workflowId}/deployment`;
      const { latestDeploymentAttempt: attempt } = await this.#request<{
        latestDeploymentAttempt: { status: string } | null;
      }>('GET', path);
      return `${attempt?.status} ${this.#providers.hooks.length}`;
    };
    await waitForValue(readState, 'active 1', message);
    // The secret of a webhook whose record was lost is unknown until the next check.
    await waitForValue(() => this.#deliver(), '200 1', message);
  }

  /** Sends a delivery as the provider. Returns the status of the response and the number of webhooks there. */
  async #deliver(): Promise<string> {
    await this.advance(1000);
    const [hook] = this.#providers.hooks as [SimulatedHook];
    const event = { invoice: 1, action: 'create', ref: 'refs/heads/main' };
    const body = { ...event, type: this.#providerName === 'linear' ? 'Issue' : 'invoice.paid' };
    const delivery = { id: crypto.randomUUID(), nowMs: this.#nowMs, secret: hook.secret };
    const request = PROVIDERS[this.#providerName]?.createRequest(body, delivery);
    const path = new URL(hook.url).pathname;
    const { status } = await this.#requireProcess().call<{ status: number }>('deliver', {
      ...{ path, deliveryRequest: request as never },
    });
    return `${status} ${this.#providers.hooks.length}`;
  }

  /** Expects that the provider has no webhook. */
  async expectNoWebhook(message: string): Promise<void> {
    const countHooks = async (): Promise<number> => {
      await this.advance(1000);
      return this.#providers.hooks.length;
    };
    await waitForValue(countHooks, 0, message);
  }

  async #start(): Promise<TriggerProcess> {
    const webhookRegistrations = { origin: ORIGIN, services: this.#providers.services };
    this.#process = await startProcess({ ...this.#backend, nowMs: this.#nowMs, webhookRegistrations });
    return this.#process;
  }

  #requireProcess(): TriggerProcess {
    if (!this.#process) throw new Error('The process has not been started.');
    return this.#process;
  }

  #request<Data>(...request: [method: string, path: string, body?: unknown]): Promise<Data> {
    return this.#requireProcess().call<Data>('request', { key: this.#key, request });
  }
}

/**
 * Kills processes, one after the other, at steps of the creation, check and removal of a webhook at its provider.
 * Expects that the next process leaves one webhook at the provider, or none after the removal.
 */
export async function expectOneHookWhenKilled(
  backend: Backend,
  name: ProviderName,
  { firstStep, stride }: Steps,
): Promise<void> {
  const providers = await startHookProviders();
  const { hooks } = providers;
  const hookProcess = new HookProcess(backend, name, providers);
  await hookProcess.prepare();
  const lastDeathSteps: { [phase in Phase]: number } = { created: 0, checked: 0, removed: 0 };
  for (let [step, deathCount] = [firstStep, 1]; deathCount > 0; step += stride) {
    deathCount = 0;
    const killDuring = async (
      phase: Phase,
      work: () => Promise<void>,
      isDone: () => boolean,
    ): Promise<void> => {
      if (!(await hookProcess.runUntilKilled(step, work, isDone))) return;
      lastDeathSteps[phase] = step;
      deathCount += 1;
    };
    await killDuring(
      'created',
      () => hookProcess.changeDeployment('POST'),
      () => hooks.length === 1,
    );
    if (!(await hookProcess.isDeployed())) await hookProcess.changeDeployment('POST');
    await hookProcess.expectOneWebhook(`created, died at step ${step}`);
    // The check finds that the webhook was removed at the provider.
    hooks.length = 0;
    await killDuring(
      'checked',
      () => hookProcess.advanceDay(),
      () => hooks.length === 1,
    );
    await hookProcess.expectOneWebhook(`checked, died at step ${step}`);
    await killDuring(
      'removed',
      () => hookProcess.changeDeployment('DELETE'),
      () => hooks.length === 0,
    );
    if (await hookProcess.isDeployed()) await hookProcess.changeDeployment('DELETE');
    await hookProcess.expectNoWebhook(`removed, died at step ${step}`);
  }
  for (const phase of ['created', 'checked', 'removed'] as const)
    expect(lastDeathSteps[phase] + stride, `steps of a webhook that is ${phase}`).toBeGreaterThan(MIN_STEPS);
  await providers.close();
}
