import type { Area, Limits, Ports } from '@heddle/api';
import { execute, legacy, meta, runs } from '@heddle/api';
import type { TenantEnvironments } from '@heddle/engine';
import { catalog } from './catalog/area.ts';
import { chats } from './chats/area.ts';
import type { CatalogOptions } from './catalog/area.ts';
import { credentials } from './credentials/area.ts';
import type { CredentialProviders } from './credentials/providers.ts';
import { logs } from './logs/area.ts';
import { resumePages } from './resume/area.ts';
import { retention } from './retention/area.ts';
import type { RetentionLimits } from './retention/area.ts';
import type { Sandboxes } from './sandboxes/area.ts';
import type { Sealer } from './sealing.ts';
import { secrets } from './secrets/area.ts';
import type { ServiceStore } from './store/open.ts';
import { skills } from './skills/area.ts';
import { transfers } from './transfer/area.ts';
import { events } from './triggers/events/area.ts';
import { triggers } from './triggers/area.ts';
import { feeds } from './triggers/feeds/area.ts';
import type { FeedOptions } from './triggers/feeds/area.ts';
import type { RegistrationSettings } from './triggers/registrations/desired-registrations.ts';
import { Triggers } from './triggers/triggers.ts';
import type { TriggerType } from './triggers/types.ts';
import { webhooks } from './triggers/webhooks/area.ts';
import type { WebhookRegistrationOptions, WebhookOptions } from './triggers/webhooks/area.ts';
import { workflows } from './workflows/area.ts';
import type { LintSources } from './workflows/context.ts';
import { workspaces } from './workspaces/area.ts';

/** Options of the ports of a service. */
export interface ServicePortOptions {
  limits?: Limits;
  /** Returns whether the admins of a workspace may make its workflows public. Default: yes. */
  allowsPublicRuns?: (workspaceId: string) => Promise<boolean> | boolean;
}

/** Returns the ports of the API, backed by the store. */
export function servicePorts(
  store: ServiceStore,
  { limits, allowsPublicRuns = () => true }: ServicePortOptions = {},
): Ports {
  const { definitions, workspaces, reservations, audit, publicRuns: publicRunStore } = store;
  return {
    ...{ definitions, access: workspaces, reservations, audit },
    publicRuns: {
      allows: allowsPublicRuns,
      add: (engineRunId, at) => publicRunStore.add(engineRunId, at),
      addFiles: (engineRunId, keys) => publicRunStore.addFiles(engineRunId, keys),
      release: (engineRunId) => publicRunStore.release(engineRunId),
    },
    ...(limits && { limits }),
  };
}

/** Options of the areas of a service. An area is a module of API operations with its own tables. */
export interface ServiceAreaOptions {
  store: ServiceStore;
  /** Seals secrets and credentials. Absent: the areas of secrets and credentials are omitted. */
  sealer?: Sealer;
  /** The providers of credentials. Default: none are listed. */
  credentialProviders?: CredentialProviders;
  /** Absent: the area of sandboxes is omitted. */
  sandboxes?: Sandboxes;
  /** Absent: the catalog is omitted. */
  describeBlocks?: CatalogOptions['describeBlocks'];
  /** The tools of the catalog, which agents can call. If set, drafts with other tools get a warning. */
  tools?: CatalogOptions['tools'];
  /** Returns the other tools of the catalog, which only workflows run. */
  describeTools?: CatalogOptions['describeTools'];
  /**
   * The trigger types that the service fires, such as those of `@heddle/blocks/triggers`. Pass the same types to
   * the engine. Default: none.
   */
  triggers?: readonly TriggerType[];
  /** The connector types of the catalog. */
  connectorTypes?: CatalogOptions['connectorTypes'];
  /**
   * The environments of the engine: drafts get a warning for `{{NAME}}` without a value, and webhooks read their
   * secrets from them. Without `values`, webhooks have only the literal secrets in their blocks.
   */
  environments?: LintSources['environments'] & Partial<TenantEnvironments>;
  /** Options for receiving requests from other systems. */
  webhooks?: WebhookOptions;
  /** Options of the requests to the sources of feeds, and the credentials for them. */
  feeds?: FeedOptions;
  /** Options for creating the webhooks of triggers at their providers. The credentials are those of `feeds`. */
  webhookRegistrations?: WebhookRegistrationOptions;
  /**
   * Retention of runs and receipts. Default: runs are kept forever. Runs of unauthenticated callers, and receipts,
   * are kept for 30 days.
   */
  retention?: RetentionLimits;
}

/** Returns all areas of the API, as `heddle serve` serves them. */
export function serviceAreas({
  store,
  sealer,
  credentialProviders,
  sandboxes,
  describeBlocks,
  tools,
  describeTools,
  triggers: triggerTypes,
  connectorTypes,
  environments,
  webhooks: webhookOptions,
  feeds: feedOptions,
  webhookRegistrations,
  retention: retentionLimits,
}: ServiceAreaOptions) {
  const lintSources = {
    hasSandboxes: sandboxes !== undefined,
    ...(describeBlocks && { describeBlocks }),
    ...(tools && { tools }),
    ...(environments && { environments }),
  };
  const deployedTriggers = new Triggers(triggerTypes, registrationSettings(webhookRegistrations, sealer));
  return [
    meta(),
    execute(),
    runs(),
    legacy({ hasResumePage: true }),
    workspaces({ store }),
    workflows({ store, sources: lintSources, triggers: deployedTriggers }),
    ...triggerAreas(deployedTriggers, {
      ...{ environments, sealer, webhookRegistrations, webhooks: webhookOptions, feeds: feedOptions },
    }),
    events({ triggers: deployedTriggers }),
    chats({ store }),
    resumePages(),
    transfers({ store }),
    skills({ store }),
    logs({ triggers: deployedTriggers }),
    ...(sealer
      ? [secrets({ store, sealer }), credentials({ store, sealer, providers: credentialProviders })]
      : []),
    ...(describeBlocks
      ? [
          catalog({
            describeBlocks,
            ...(tools && { tools }),
            ...(describeTools && { describeTools }),
            ...(connectorTypes && { connectorTypes }),
          }),
        ]
      : []),
    ...(sandboxes ? [sandboxes.area] : []),
    retention({ store, limits: retentionLimits, triggers: deployedTriggers }),
  ] as const satisfies readonly Area[];
}

/** Returns the base URL to which providers send webhooks, or the reason why no webhooks can be created at providers. */
function registrationSettings(
  { origin }: WebhookRegistrationOptions = {},
  sealer: Sealer | undefined,
): RegistrationSettings {
  if (!sealer) return { unavailableReason: 'This server stores no credentials.' };
  if (origin !== undefined) return { origin: origin.replace(/\/+$/, '') };
  return { unavailableReason: 'The server has no public URL: start it with --origin.' };
}

/** Options of `triggerWorkerAreas`, as in `serviceAreas`. */
export type TriggerWorkerAreaOptions = Pick<ServiceAreaOptions, 'triggers' | 'environments' | 'feeds'>;

/**
 * Returns the areas that start runs of triggers, for a process that serves no requests: schedules, feeds, events, and
 * runs that wait for flow control. They claim runs in the store, like the processes that serve requests, so each run
 * starts once.
 */
export function triggerWorkerAreas({
  triggers: types,
  environments,
  feeds: feedOptions = {},
}: TriggerWorkerAreaOptions) {
  const deployedTriggers = new Triggers(types);
  return [
    // Records the ended runs as events, and counts consecutive failures.
    logs({ triggers: deployedTriggers }),
    triggers({ triggers: deployedTriggers }),
    feeds({ triggers: deployedTriggers, options: feedOptions, ...(environments && { environments }) }),
    events({ triggers: deployedTriggers }),
  ] as const satisfies readonly Area[];
}

/** Returns the areas of triggers, webhooks and feeds. */
function triggerAreas(
  deployedTriggers: Triggers,
  {
    environments,
    webhooks: webhookOptions = {},
    feeds: feedOptions = {},
    webhookRegistrations = {},
    sealer,
  }: {
    [Name in 'environments' | 'webhooks' | 'feeds' | 'webhookRegistrations' | 'sealer']:
      | ServiceAreaOptions[Name]
      | undefined;
  },
) {
  const sharedOptions = { triggers: deployedTriggers, ...(environments && { environments }) };
  return [
    triggers({ triggers: deployedTriggers }),
    webhooks({
      ...{ ...sharedOptions, sealer, webhookRegistrations, options: webhookOptions },
      credentials: feedOptions.credentials,
    }),
    feeds({ ...sharedOptions, options: feedOptions }),
  ] as const;
}

/** The areas of a service, for the type of its API: `Api<ServiceAreas>`. */
export type ServiceAreas = ReturnType<typeof serviceAreas>;
